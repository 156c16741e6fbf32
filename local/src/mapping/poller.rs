//! The loop of a mapping.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lambda::{Clock, SystemClock};
use pipeline::{Coordinates, Offset, Partition};
use rdkafka::consumer::StreamConsumer;
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::Answer;
use super::backlog::{Backlog, Fetching, Moment};
use super::batch::{Batch, Resolution};
use super::commits::{Commits, Sent};
use super::consumer::{AFTER_TROUBLE, Change, Changes, Member, set_fetching, subscribe};
use super::progress::{BatchVerdict, Discard, Portion, Progress, Report};
use super::rules::Rules;
use super::settings::{Answers, MappingSettings};
use super::standing::{InFlight, Standing};
use super::watermarks::Watermarks;
use crate::event::EventRecord;
use crate::invoke::{Fault, Invoke, Outcome};

/// How often the assignment is looked at while nothing else happens.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How many records are taken in before anything else is looked at.
const AT_ONCE: usize = 500;

/// Reads, invokes and commits until it is told to stop.
pub(super) struct Poller<F> {
    settings: Arc<MappingSettings>,
    name: Arc<str>,
    function: Arc<F>,
    reports: UnboundedSender<Report>,
    standing: watch::Sender<Standing>,
    stopped: watch::Receiver<bool>,
    consumer: Arc<StreamConsumer<Changes>>,
    changes: UnboundedReceiver<Change>,
    joined: bool,
    /// When to join the group again.
    join_at: Option<Instant>,
    backlog: Backlog,
    invocations: JoinSet<Ended>,
    invoked: u64,
    /// For each invocation that runs, when it started, and its records.
    in_flight: BTreeMap<u64, (Instant, usize)>,
    commits: Commits,
    watermarks: Watermarks,
    trouble: Option<String>,
}

/// An invocation that ended.
struct Ended {
    invocation: u64,
    batch: Batch,
    took: Duration,
    outcome: Outcome,
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
            name: settings.name.as_str().into(),
            backlog: Backlog::new(Rules::of(&settings)),
            settings: Arc::new(settings),
            function,
            reports,
            standing,
            stopped,
            consumer: Arc::new(consumer),
            changes,
            joined: false,
            join_at: None,
            invocations: JoinSet::new(),
            invoked: 0,
            in_flight: BTreeMap::new(),
            commits: Commits::default(),
            watermarks: Watermarks::default(),
            trouble: None,
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
        while let Some(ended) = self.invocations.join_next().await {
            if let Ok(ended) = ended {
                self.follow_assignment();
                self.end(ended);
            }
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
            Some(ended) = self.invocations.join_next() => {
                if let Ok(ended) = ended {
                    self.follow_assignment();
                    self.end(ended);
                }
            }
            Some(sent) = self.commits.sent() => self.committed(sent.ok()),
            Some(()) = self.watermarks.looked_up() => {}
            read = consumer.recv() => {
                let mut next = Some(read);
                let mut more = AT_ONCE;
                // What has come with it is taken in too, before anything is delivered.
                while let Some(read) = next.take() {
                    self.follow_assignment();
                    if let Err(error) = self.take_in(read) {
                        self.report_trouble(error.to_string());
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

    /// Takes in what happened to the assignment, before anything that was read afterwards.
    fn follow_assignment(&mut self) {
        while let Ok(change) = self.changes.try_recv() {
            match change {
                Change::Assigned(partitions, pins) => {
                    self.joined = true;
                    self.backlog
                        .assign(partitions.iter().copied(), Instant::now());
                    self.report(Progress::Assigned(partitions));
                    for (partition, offset) in pins {
                        self.report_committed(partition, offset);
                    }
                }
                Change::Unplaced(error) => {
                    self.joined = false;
                    self.join_at = Instant::now().checked_add(AFTER_TROUBLE);
                    self.report_trouble(format!("{error:#}"));
                }
                Change::Revoked(partitions) => {
                    self.joined = false;
                    self.commits.forget(&partitions);
                    let fetching = self.backlog.revoke(partitions);
                    self.set_fetching(&fetching);
                    self.report(Progress::Assigned(Vec::new()));
                }
            }
        }
    }

    /// Joins the group again after it could not be told where to begin.
    fn join_again(&mut self) {
        if self.join_at.is_some_and(|at| at <= Instant::now()) {
            self.join_at = None;
            if let Err(error) = subscribe(&self.consumer, &self.settings.topic) {
                self.report_trouble(format!("{error:#}"));
                self.join_at = Instant::now().checked_add(AFTER_TROUBLE);
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
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn read(&mut self, message: &BorrowedMessage<'_>) {
        self.trouble = None;
        let record = match EventRecord::of(message) {
            Ok(record) => record,
            Err(error) => return self.report_trouble(error.to_string()),
        };
        let coordinates = record.coordinates.clone();
        if record.unreadable_headers > 0 {
            self.report(Progress::HeadersLost {
                record: coordinates.clone(),
                headers: record.unreadable_headers,
            });
        }
        if let Err(commit) = self.backlog.push(record, Instant::now()) {
            self.report_discarded([coordinates], Discard::TooLarge);
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
            self.report_discarded(turn.expired, Discard::TooOld);
            self.commits.add(turn.commits);
            let Some(batch) = turn.batch else { continue };
            self.invoked = self.invoked.saturating_add(1);
            let invocation = self.invoked;
            let parts = batch.parts.iter().map(|part| Portion {
                partition: part.partition,
                first: part.first,
                last: part.last,
                records: part.records,
                delivery: part.delivery,
            });
            self.report(Progress::Delivered {
                invocation,
                parts: parts.collect(),
            });
            let event = self.settings.source.event(
                &self.settings.brokers,
                batch.records.iter().map(AsRef::as_ref),
            );
            let function = Arc::clone(&self.function);
            let started = Instant::now();
            let in_flight = (started, batch.records.len());
            self.in_flight.insert(invocation, in_flight);
            self.invocations.spawn(async move {
                let invoked = AssertUnwindSafe(function.invoke(event)).catch_unwind();
                let outcome = invoked.await.unwrap_or_else(|_| {
                    Outcome::Failed(Fault::Endpoint("invoking it panicked".to_owned()))
                });
                Ended {
                    invocation,
                    batch,
                    took: started.elapsed(),
                    outcome,
                }
            });
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
        self.in_flight.remove(&invocation);
        let finished = self.backlog.finish(&batch, &resolution, Instant::now());
        let commits = finished
            .commits
            .iter()
            .filter_map(|(partition, next)| Some((*partition, Offset::new(*next)?)));
        self.report(Progress::Answered {
            invocation,
            took,
            verdict,
            answer,
            commits: commits.collect(),
        });
        for partition in finished.lost {
            self.report(Progress::Lost(partition));
        }
        self.report_discarded(finished.exhausted, Discard::RetriesExhausted);
        for (partition, records, pause) in finished.again {
            self.report(Progress::Waiting {
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
            Outcome::Failed(fault) => return (Resolution::Failed, BatchVerdict::Failed(fault)),
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
        let Some(Sent { offsets, result }) = sent else {
            return;
        };
        match result {
            Ok(()) => {
                for (partition, offset) in offsets {
                    self.report_committed(partition, offset);
                }
            }
            Err(error) => {
                self.report_trouble(format!("{error:#}"));
                // A partition that went away is its new reader's business.
                let reads = |partition| self.backlog.reads(partition);
                self.commits.try_again(offsets, reads);
            }
        }
    }

    fn adjust_fetching(&mut self) {
        let fetching = self.backlog.fetching();
        self.set_fetching(&fetching);
    }

    fn set_fetching(&mut self, fetching: &Fetching) {
        if let Err(error) = set_fetching(&self.consumer, &self.settings.topic, fetching) {
            self.report_trouble(error.to_string());
        }
    }

    fn tell_standing(&mut self) {
        let partitions = self.backlog.partitions();
        let (consumer, topic) = (&self.consumer, &self.settings.topic);
        self.watermarks.look_up(consumer, topic, &partitions);
        let running = self.in_flight.values();
        let since = running.clone().map(|(started, _)| *started).min();
        let standing = Standing {
            lag: self.watermarks.lag(&partitions),
            partitions,
            in_flight: since.map(|since| InFlight {
                invocations: running.len(),
                records: running.map(|(_, records)| records).sum(),
                since,
            }),
            handed_back: self.backlog.handed_back(),
            most_delivered: self.backlog.most_delivered(),
            idle: self.joined && self.backlog.is_idle() && self.commits.are_sent(),
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
            self.report(Progress::Committed { partition, offset });
        }
    }

    fn report_discarded(&self, records: impl IntoIterator<Item = Coordinates>, reason: Discard) {
        for record in records {
            self.report(Progress::Discarded { record, reason });
        }
    }

    /// Reports trouble once, until something is read again or it changes.
    fn report_trouble(&mut self, text: String) {
        if self.trouble.as_ref() != Some(&text) {
            self.report(Progress::Trouble(text.clone()));
            self.trouble = Some(text);
        }
    }

    fn report(&self, progress: Progress) {
        let mapping = Arc::clone(&self.name);
        // Nobody has to listen.
        self.reports.send(Report { mapping, progress }).ok();
    }
}
