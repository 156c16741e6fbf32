//! The loop of a mapping.

mod membership;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lambda::{Clock, SystemClock};
use pipeline::{Offset, Partition};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;
use rdkafka::types::RDKafkaErrorCode;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::Instant;

use super::answer::Answer;
use super::backlog::{Backlog, Fetching, Moment};
use super::batch::{Batch, Resolution};
use super::commits::{Commits, Sent};
use super::consumer::{AFTER_TROUBLE, Change, Changes, Member, set_fetching};
use super::invocations::{Ended, Invocations};
use super::progress::{BatchVerdict, Discard, Portion, Progress, Report};
use super::reporter::Reporter;
use super::rules::Rules;
use super::settings::{Answers, MappingSettings};
use super::standing::Standing;
use super::watermarks::{Urgency, Watermarks};
use crate::event::EventRecord;
use crate::invoke::{Invoke, Outcome};

/// How often the assignment is looked at while nothing else happens.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How many records are taken in before anything else is looked at.
const AT_ONCE: usize = 500;

/// Reads, invokes and commits until it is told to stop.
pub(super) struct Poller<F> {
    settings: MappingSettings,
    function: Arc<F>,
    reporter: Reporter,
    standing: watch::Sender<Standing>,
    stopped: watch::Receiver<bool>,
    consumer: Arc<StreamConsumer<Changes>>,
    changes: UnboundedReceiver<Change>,
    joined: bool,
    /// When to join the group again.
    join_at: Option<Instant>,
    backlog: Backlog,
    invocations: Invocations,
    commits: Commits,
    watermarks: Watermarks,
}

impl<F: Invoke> Poller<F> {
    pub(super) fn new(
        settings: MappingSettings,
        function: Arc<F>,
        reports: UnboundedSender<Report>,
        standing: watch::Sender<Standing>,
        stopped: watch::Receiver<bool>,
    ) -> anyhow::Result<Self> {
        let Member { consumer, changes } = Member::join(&settings)?;
        Ok(Self {
            reporter: Reporter::new(settings.name.as_str().into(), reports),
            backlog: Backlog::new(Rules::of(&settings)),
            settings,
            function,
            standing,
            stopped,
            consumer: Arc::new(consumer),
            changes,
            joined: false,
            join_at: None,
            invocations: Invocations::default(),
            commits: Commits::default(),
            watermarks: Watermarks::default(),
        })
    }

    pub(super) async fn run(mut self) {
        while !*self.stopped.borrow() {
            self.follow_assignment();
            self.join_again();
            self.deliver();
            self.commits.send(&self.consumer, &self.settings.topic);
            self.adjust_fetching();
            self.tell_standing();
            self.step().await;
        }
        while let Some(ended) = self.invocations.ended().await {
            self.follow_assignment();
            self.end(ended);
        }
        self.commits.send(&self.consumer, &self.settings.topic);
        while let Some(sent) = self.commits.sent().await {
            self.committed(sent.ok());
            self.commits.send(&self.consumer, &self.settings.topic);
        }
        while self.watermarks.looked_up().await.is_some() {}
        let Self { consumer, .. } = self;
        // Closing a consumer blocks until it has left the group.
        let left = tokio::task::spawn_blocking(move || drop(consumer));
        left.await.ok();
    }

    /// Waits for the next thing to happen and takes it in.
    async fn step(&mut self) {
        let consumer = Arc::clone(&self.consumer);
        let now = Instant::now();
        let pause = self.backlog.next_due().map_or(LOOK_AGAIN, |due| {
            due.saturating_duration_since(now).min(LOOK_AGAIN)
        });
        tokio::select! {
            Some(ended) = self.invocations.ended() => {
                self.follow_assignment();
                self.end(ended);
            }
            Some(sent) = self.commits.sent() => self.committed(sent.ok()),
            Some(looked_up) = self.watermarks.looked_up() => {
                self.backlog.end_at(looked_up.ends, looked_up.asked);
            }
            read = consumer.recv() => {
                let mut next = Some(read);
                let mut more = AT_ONCE;
                // What has come with it is taken in too, before anything is delivered.
                while let Some(read) = next.take() {
                    self.follow_assignment();
                    if let Err(error) = self.take_in(read) {
                        self.reporter.trouble(error.to_string());
                        tokio::time::sleep(AFTER_TROUBLE).await;
                    } else if more > 0 {
                        more = more.saturating_sub(1);
                        next = consumer.recv().now_or_never();
                    }
                }
            }
            () = tokio::time::sleep(pause) => {}
            changed = self.stopped.changed() => {
                if changed.is_err() {
                    // The mapping is gone: this task is about to be aborted.
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    fn take_in(&mut self, read: Result<BorrowedMessage<'_>, KafkaError>) -> Result<(), KafkaError> {
        match read {
            Ok(message) => self.read(&message),
            Err(KafkaError::PartitionEOF(partition)) => {
                if let Some(partition) = Partition::new(partition) {
                    self.backlog.at_end(partition);
                }
            }
            Err(KafkaError::MessageConsumption(RDKafkaErrorCode::AutoOffsetReset)) => {
                self.consumer.context().may_be_gone();
                self.start_over();
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read(&mut self, message: &BorrowedMessage<'_>) {
        self.reporter.trouble_is_over();
        let record = match EventRecord::of(message) {
            Ok(record) => record,
            Err(error) => return self.reporter.trouble(error.to_string()),
        };
        let coordinates = record.coordinates.clone();
        if record.unreadable_headers > 0 {
            self.reporter.tell(Progress::HeadersLost {
                record: coordinates.clone(),
                headers: record.unreadable_headers,
            });
        }
        if let Err(commit) = self.backlog.push(record, Instant::now()) {
            self.reporter
                .discarded(vec![coordinates], Discard::TooLarge);
            self.commits.add(commit);
        }
    }

    /// Invokes the function with every batch that may go.
    fn deliver(&mut self) {
        loop {
            let now = Moment {
                instant: Instant::now(),
                time: SystemClock.now().millis(),
            };
            let turn = self.backlog.take(now);
            if turn.is_empty() {
                break;
            }
            self.reporter.discarded(turn.expired, Discard::TooOld);
            self.commits.add(turn.commits);
            let Some(batch) = turn.batch else { continue };
            let parts = batch.parts.iter().map(|part| Portion {
                partition: part.partition,
                first: part.first,
                last: part.last,
                records: part.records,
                delivery: part.delivery,
            });
            let parts = parts.collect();
            let records = batch.records.iter().map(AsRef::as_ref);
            let event = self.settings.source.event(&self.settings.brokers, records);
            let function = Arc::clone(&self.function);
            let invocation = self.invocations.start(function, batch, event);
            self.reporter
                .tell(Progress::Delivered { invocation, parts });
        }
    }

    /// Takes in what an invocation came to.
    fn end(&mut self, ended: Ended) {
        let Ended {
            invocation,
            batch,
            took,
            outcome,
        } = ended;
        let answer = match &outcome {
            Outcome::Answered(body) => Some(body.clone()),
            Outcome::Failed(_) => None,
        };
        let (resolution, verdict) = self.judge(outcome, &batch);
        let finished = self.backlog.finish(&batch, &resolution, Instant::now());
        let commits = finished
            .commits
            .iter()
            .filter_map(|(partition, next)| Some((*partition, Offset::new(*next)?)));
        self.reporter.tell(Progress::Answered {
            invocation,
            took,
            verdict,
            answer,
            commits: commits.collect(),
        });
        for partition in finished.lost {
            self.reporter.tell(Progress::Lost(partition));
        }
        self.reporter
            .discarded(finished.exhausted, Discard::RetriesExhausted);
        for (partition, records, pause) in finished.again {
            self.reporter.tell(Progress::Waiting {
                partition,
                records,
                pause,
            });
        }
        self.commits.add(finished.commits);
    }

    /// Says what an outcome means under the mapping's settings.
    fn judge(&self, outcome: Outcome, batch: &Batch) -> (Resolution, BatchVerdict) {
        let body = match outcome {
            Outcome::Answered(body) => body,
            Outcome::Failed(fault) => {
                let resolution = if fault.is_of_function() {
                    Resolution::Failed
                } else {
                    Resolution::NotInvoked
                };
                return (resolution, BatchVerdict::Failed(fault));
            }
        };
        match self.settings.answers {
            Answers::Ignored => (Resolution::AllDone, BatchVerdict::AllDone),
            Answers::Reported(_) => {
                match Answer::read(&body, &self.settings.topic, &batch.places()) {
                    Answer::AllDone => (Resolution::AllDone, BatchVerdict::AllDone),
                    Answer::Partial(places) => {
                        let verdict = BatchVerdict::HandedBack(places.len());
                        (Resolution::NotDone(places), verdict)
                    }
                    Answer::Malformed(problem) => {
                        (Resolution::Failed, BatchVerdict::Malformed(problem))
                    }
                }
            }
        }
    }

    fn committed(&mut self, sent: Option<Sent>) {
        let Some(sent) = sent else {
            return;
        };
        match &sent.result {
            Ok(()) => {
                for (partition, offset) in sent.offsets {
                    self.report_committed(partition, offset);
                }
            }
            Err(error) => {
                self.reporter.trouble(format!("{error:#}"));
                self.commits.try_again(sent);
            }
        }
    }

    fn adjust_fetching(&mut self) {
        let fetching = self.backlog.fetching();
        self.set_fetching(&fetching);
    }

    fn set_fetching(&mut self, fetching: &Fetching) {
        if let Err(error) = set_fetching(&self.consumer, &self.settings.topic, fetching) {
            self.reporter.trouble(error.to_string());
        }
    }

    fn tell_standing(&mut self) {
        let partitions = self.backlog.partitions();
        let (consumer, topic) = (&self.consumer, &self.settings.topic);
        let done = self.joined && self.backlog.is_done() && self.commits.are_sent();
        let as_of = self
            .backlog
            .idle_as_of(Instant::now())
            .filter(|_| done && self.join_at.is_none());
        let urgency = if done && as_of.is_none() {
            Urgency::Awaited
        } else {
            Urgency::None
        };
        self.watermarks
            .look_up(consumer, topic, &partitions, urgency);
        let lag = self.watermarks.lag(&partitions);
        let standing = Standing {
            lag: lag.filter(|_| self.joined),
            partitions,
            in_flight: self.invocations.in_flight(),
            handed_back: self.backlog.handed_back(),
            most_delivered: self.backlog.most_delivered(),
            idle: as_of.is_some(),
            idle_as_of: as_of,
        };
        self.standing.send_if_modified(|before| {
            let changed = *before != standing;
            *before = standing;
            changed
        });
    }

    fn report_committed(&mut self, partition: Partition, offset: i64) {
        self.watermarks.committed(partition, offset);
        if let Some(offset) = Offset::new(offset) {
            self.reporter
                .tell(Progress::Committed { partition, offset });
        }
    }
}
