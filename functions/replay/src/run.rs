//! A replay from its payload to its answer.

use std::fmt;

use lambda::{Broker, Clock, Deadline, Stop};
use pipeline::replay::{Answer, Progress, Request, Stopped, Tally, Terms};
use pipeline::{Masker, Timestamp};
use uuid::Uuid;

use crate::chunk::Bench;
use crate::dead_letters::{DeadLetters, Reading, SourceError};
use crate::error::ReplayError;
use crate::pace::Pace;
use crate::settings::Settings;

/// Sends dead letters back; broker, source and clock are arguments, so that a simulation can drive it.
pub struct Replay<B, D, C> {
    settings: Settings,
    broker: B,
    dead_letters: D,
    clock: C,
    stop: Stop,
    masker: Masker,
}

impl<B, D, C> fmt::Debug for Replay<B, D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl<B: Broker, D: DeadLetters, C: Clock> Replay<B, D, C> {
    /// How long before the deadline the last produce may start: it takes at most 5 s, and the answer goes 500 ms before.
    const SEND_MS: i64 = Deadline::PRODUCE_MS.saturating_add(Deadline::ANSWER_MS);

    /// How long before the deadline reading ends in a dry run.
    const READ_MS: i64 = Deadline::WAIT_MS.saturating_add(Deadline::ANSWER_MS);

    /// Joins what a replay works with.
    pub fn new(settings: Settings, broker: B, dead_letters: D, clock: C, stop: Stop) -> Self {
        Self {
            settings,
            broker,
            dead_letters,
            clock,
            stop,
            masker: Masker::default(),
        }
    }

    /// Returns the time by the clock that the replay goes by.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Does what a payload asks for, as far as the time allows.
    ///
    /// Fails before anything is published; once it has begun, whatever stops it stands in the answer.
    pub async fn run(&self, payload: &str, deadline: Deadline) -> Result<Answer, ReplayError> {
        let began = self.clock.now();
        let result = self.try_run(payload, deadline).await;
        let duration_ms = self.clock.now().millis_since(began);
        match &result {
            Ok(answer) => self.tell_end(answer, duration_ms),
            Err(error) => self.tell_failure(error, duration_ms),
        }
        result
    }

    async fn try_run(&self, payload: &str, deadline: Deadline) -> Result<Answer, ReplayError> {
        let request = Request::read(
            payload,
            &Terms {
                from: &self.settings.from,
                to: &self.settings.to,
                targets: &self.settings.targets,
                new_id: &Uuid::new_v4().to_string(),
                now: self.clock.now(),
            },
        )?;
        self.tell_start(&request, payload);
        let begin = self.begin(&request);
        let (mut reading, mut progress) = self.in_time(deadline.wait_until(), begin).await?;
        let mut tally = Tally::default();
        let end = self.work(&request, deadline, &mut reading, &mut progress, &mut tally);
        let stopped = end.await;
        Ok(Answer::of(&request, &tally, &progress, stopped.as_ref()))
    }

    /// Opens the topic, fixes the ends and goes to the first place that may matter.
    async fn begin(&self, request: &Request) -> Result<(D::Reading, Progress), SourceError> {
        let mut reading = self.dead_letters.open(&request.from).await?;
        let held = reading.held();
        let mut progress = match &request.progress {
            Some(progress) => {
                let mut progress = progress.clone();
                progress.keep_within(&held);
                progress
            }
            None => Progress::new(held, [].into()),
        };
        if let Some(records) = &request.selection.records {
            progress.keep_to(records);
        }
        if let (Some(since), None) = (request.selection.window.since, &request.progress) {
            for (partition, first) in reading.first_since(since).await? {
                progress.reach(partition, first);
            }
        }
        reading.start_at(&progress).await?;
        Ok((reading, progress))
    }

    /// Reads and works off chunk after chunk until every position has reached its end, or something stops it.
    async fn work(
        &self,
        request: &Request,
        deadline: Deadline,
        reading: &mut D::Reading,
        progress: &mut Progress,
        tally: &mut Tally,
    ) -> Option<Stopped> {
        let margin_ms = if request.dry_run {
            Self::READ_MS
        } else {
            Self::SEND_MS
        };
        let last_start = deadline.at().plus_millis(margin_ms.saturating_neg());
        let bench = Bench {
            broker: &self.broker,
            clock: &self.clock,
            masker: &self.masker,
            request,
            stop: &self.stop,
            pace: Pace::new(request.rate, self.clock.clone()),
            deadline,
            last_start,
            concurrency: self.settings.concurrency.get().into(),
        };
        while !progress.is_complete() {
            if let Some(stopped) = bench.must_stop() {
                return Some(stopped);
            }
            let chunk = match reading.next_chunk(bench.until_must_stop()).await {
                Ok(chunk) => chunk,
                Err(error) => return Some(Stopped::Broker(error.to_string())),
            };
            let stopped = bench.work_off(&chunk.entries, progress, tally).await;
            if stopped.is_some() {
                return stopped;
            }
            for (partition, position) in chunk.positions {
                progress.reach(partition, position);
            }
        }
        None
    }

    async fn in_time<T>(
        &self,
        time: Timestamp,
        work: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, SourceError> {
        tokio::select! {
            biased;
            result = work => result,
            () = self.clock.sleep_until(time) => Err(SourceError::Fault(
                "the brokers did not say in time what the topic holds".to_owned(),
            )),
        }
    }

    fn tell_start(&self, request: &Request, payload: &str) {
        // A token holds what may have to be masked in a form in which it is not seen.
        let asked = match request.progress {
            Some(_) => "(token)".to_owned(),
            None => self.masker.line(payload),
        };
        tracing::info!(
            replay.id = request.replay_id,
            replay.from = request.from.as_str(),
            replay.to = request.to.as_str(),
            replay.dry_run = request.dry_run,
            replay.resumed = request.progress.is_some(),
            replay.asked = asked,
            "replay starts"
        );
    }

    fn tell_failure(&self, error: &ReplayError, duration_ms: i64) {
        let (kind, text) = (error.error_type(), self.masker.line(&error.to_string()));
        match error {
            ReplayError::Invalid(_) | ReplayError::Source(SourceError::NoSuchTopic(_)) => {
                tracing::warn!(
                    error.r#type = kind,
                    duration_ms,
                    "replay is refused: {text}"
                );
            }
            ReplayError::Source(SourceError::Fault(_)) => {
                tracing::error!(
                    error.r#type = kind,
                    duration_ms,
                    "replay cannot begin: {text}"
                );
            }
        }
    }

    fn tell_end(&self, answer: &Answer, duration_ms: i64) {
        let skipped: u64 = answer
            .skipped
            .values()
            .fold(0, |all, n| all.saturating_add(*n));
        tracing::info!(
            replay.id = answer.replay_id,
            replay.dry_run = answer.dry_run,
            replay.matched = answer.matched,
            replay.published = answer.published,
            replay.to_publish = answer.to_publish,
            replay.failed = answer.failed,
            replay.skipped = skipped,
            replay.bytes = answer.bytes,
            replay.complete = answer.complete,
            replay.stopped = answer.stopped,
            error.message = answer.fault.as_deref().map(|fault| self.masker.line(fault)),
            duration_ms,
            "replay ends"
        );
    }
}
