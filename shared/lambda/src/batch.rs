//! The loop that runs one batch: keys beside each other, one key in order, and an answer in time.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, OnceLock, PoisonError};

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use pipeline::lanes::lanes;
use pipeline::{BatchAnswer, Partition, Record, Timestamp, Topic};

use crate::check::Checks;
use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::event::{Entry, Event, EventError, Payload, Undecodable, decode};
use crate::handed_back::log_hand_back;
use crate::hold::Hold;
use crate::invocation::{Answer, BatchFailures, InvocationError};
use crate::memory::DoneMemory;
use crate::metrics::{Count, Measured, Metrics};
use crate::outcome::{Cause, Outcome};
use crate::panic::panic_message;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::turn::Turn;

/// What one function does with one record; the loop around it is the same for all.
pub trait Step: Send + Sync + 'static {
    /// Is told that an invocation starts.
    fn start(&self, now: Timestamp);

    /// Takes one record to its end.
    fn run(&self, record: &Record, turn: &Turn) -> impl Future<Output = Outcome> + Send;

    /// Takes an entry of the event that is no record to its end.
    fn run_undecodable(
        &self,
        entry: &Undecodable,
        turn: &Turn,
    ) -> impl Future<Output = Outcome> + Send;

    /// Is called once when all records are through, before the answer.
    fn finish(&self, turn: &Turn) -> impl Future<Output = ()> + Send;

    /// Gives up what is still under way, so that it returns soon: the invocation is about to answer.
    fn give_up(&self);

    /// Returns how long before the deadline the last call may start, in milliseconds, without the time to produce.
    fn call_limit_ms(&self) -> i64;

    /// Returns what it has counted and measured beside the outcomes since it was last asked.
    fn measured(&self) -> Measured {
        Measured::default()
    }
}

/// Runs batches, one invocation after the other, and remembers between them what is already done.
#[derive(Debug)]
pub struct BatchLoop<S, C> {
    step: S,
    clock: C,
    batch_failures: BatchFailures,
    stop: Stop,
    memory: Mutex<DoneMemory>,
    hold: Hold,
    metrics: Option<Metrics>,
    checks: Option<Checks>,
}

/// One entry of the event on its way through the loop.
struct Job<'a> {
    entry: &'a Entry,
    came: OnceLock<Outcome>,
}

impl<S: Step, C: Clock> BatchLoop<S, C> {
    /// Joins a step with the clock and the way to answer.
    pub fn new(step: S, clock: C, batch_failures: BatchFailures, switch: Stop) -> Self {
        Self {
            step,
            clock,
            batch_failures,
            stop: switch,
            memory: Mutex::new(DoneMemory::new()),
            hold: Hold::default(),
            metrics: None,
            checks: None,
        }
    }

    /// Answers `{"check":true}` too.
    pub fn with_checks(self, checks: Checks) -> Self {
        Self {
            checks: Some(checks),
            ..self
        }
    }

    /// Tells what each invocation counted and measured.
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            metrics: Some(metrics),
            ..self
        }
    }

    /// Returns the step.
    pub const fn step(&self) -> &S {
        &self.step
    }

    /// Runs one invocation: the payload as JSON, and the deadline header as it came.
    pub async fn run(&self, payload: &str, deadline_ms: u64) -> Result<Answer, InvocationError> {
        let started = self.clock.now();
        let deadline = Deadline::from_header(deadline_ms, started);
        match decode(payload).map_err(|error| self.refuse(error.into()))? {
            Payload::Event(event) => {
                let answer = self.run_event(&event, deadline, started).await?;
                Ok(Answer::Batch(answer))
            }
            Payload::Check => match &self.checks {
                Some(checks) => Ok(Answer::Check(
                    checks.run(deadline.left(self.clock.now())).await,
                )),
                None => Err(self.refuse(EventError::NoRecords.into())),
            },
        }
    }

    async fn run_event(
        &self,
        event: &Event,
        deadline: Deadline,
        started: Timestamp,
    ) -> Result<BatchAnswer, InvocationError> {
        let limit = self.step.call_limit_ms();
        if !deadline.admits_any_call(limit) {
            return Err(self.refuse(InvocationError::TimeoutTooShort {
                left_ms: deadline.whole_ms(),
                needed_ms: deadline.at().millis_since(deadline.last_call(limit)),
            }));
        }
        self.step.start(started);
        let jobs: Vec<Job<'_>> = event
            .entries
            .iter()
            .map(|entry| Job {
                entry,
                came: OnceLock::new(),
            })
            .collect();
        let turn = Turn::new(deadline, started, partitions(event));
        self.run_jobs(&jobs, &turn).await;
        self.conclude(event, &jobs, &turn, started).await
    }

    /// Runs all jobs until they are through or the answer is due.
    async fn run_jobs(&self, jobs: &[Job<'_>], turn: &Turn) {
        let mut alone = Vec::new();
        let mut of_records = Vec::new();
        for job in jobs {
            match job.entry {
                Entry::Record(record) => of_records.push((job, record)),
                Entry::Undecodable(_) => alone.push(vec![job]),
            }
        }
        let by_key = lanes(of_records, |(_, record)| *record)
            .into_iter()
            .map(|lane| lane.into_iter().map(|(job, _)| job).collect());
        let mut work: FuturesUnordered<_> = by_key
            .chain(alone)
            .map(|lane: Vec<&Job<'_>>| self.run_lane(lane, turn))
            .collect();
        let deadline = turn.deadline();
        let mut stopping = self.stop.subscribe();
        let mut given_up = false;
        loop {
            tokio::select! {
                biased;
                through = work.next() => if through.is_none() { return },
                () = self.clock.sleep_until(deadline.wait_until()), if !given_up => {
                    given_up = true;
                    turn.close();
                    self.step.give_up();
                }
                () = self.clock.sleep_until(deadline.answer_by()) => return,
                () = stopping.stopped(), if !turn.is_closing() => turn.close(),
            }
        }
    }

    /// Runs the records of one key in order; after one is handed back the later ones are not run.
    async fn run_lane(&self, lane: Vec<&Job<'_>>, turn: &Turn) {
        let mut held_back = false;
        for job in lane {
            let outcome = if held_back {
                Outcome::HandBack(Cause::KeyBefore)
            } else {
                self.run_job(job, turn).await
            };
            held_back |= matches!(outcome, Outcome::HandBack(_));
            log_hand_back(job.entry, &outcome);
            // The slot of a job is written here alone, once.
            drop(job.came.set(outcome));
        }
    }

    async fn run_job(&self, job: &Job<'_>, turn: &Turn) -> Outcome {
        let run = async {
            if self.was_done(job.entry) {
                return Outcome::DoneBefore;
            }
            match job.entry {
                Entry::Record(record) => self.step.run(record, turn).await,
                Entry::Undecodable(entry) => self.step.run_undecodable(entry, turn).await,
            }
        };
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(panic) => Outcome::HandBack(Cause::Broken(format!(
                "the function panicked: {}",
                panic_message(&*panic)
            ))),
        }
    }

    /// Tells whether an earlier invocation had done it; what has no place cannot be remembered.
    fn was_done(&self, entry: &Entry) -> bool {
        let now = self.clock.now();
        entry.coordinates().is_some_and(|at| {
            self.memory
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_done(&at, entry.timestamp(), now)
        })
    }

    /// Tallies, remembers, holds the answer when there was a fault, and answers.
    async fn conclude(
        &self,
        event: &Event,
        jobs: &[Job<'_>],
        turn: &Turn,
        started: Timestamp,
    ) -> Result<BatchAnswer, InvocationError> {
        let answer_by = turn.deadline().answer_by();
        tokio::select! {
            biased;
            () = self.step.finish(turn) => {}
            () = self.clock.sleep_until(answer_by) => {
                tracing::warn!("what ends an invocation was cut off: its answer is due");
            }
        }
        let unfinished = Outcome::HandBack(Cause::NoTime);
        let outcomes: Vec<(&Entry, &Outcome)> = jobs
            .iter()
            .map(|job| {
                let outcome = job.came.get().unwrap_or_else(|| {
                    log_hand_back(job.entry, &unfinished);
                    &unfinished
                });
                (job.entry, outcome)
            })
            .collect();
        let answer = self.answer(&outcomes);
        let tally = Tally::of(&outcomes);
        self.tell(&tally, event, turn);
        self.remember(&outcomes, &answer);
        let planned = self
            .hold
            .after(outcomes.iter().map(|(_, outcome)| *outcome));
        let held_ms = self.sleep_at_most(planned, answer_by).await;
        tracing::info!(
            records = outcomes.len(),
            handled = tally.handled,
            forwarded = tally.forwarded,
            dead_lettered = tally.dead_lettered,
            done_before = tally.done_before,
            waiting = tally.waiting,
            failed = tally.failed,
            faults = tally.faults,
            headers_lost = event.headers_lost,
            held_ms,
            took_ms = self.clock.now().millis_since(started),
            "batch"
        );
        answer
    }

    /// Counts an invocation that does nothing.
    fn refuse(&self, error: InvocationError) -> InvocationError {
        let mut measured = Measured::default();
        measured.count(Count::InvocationsRefused, 1);
        measured.note("error.type", error.error_type());
        self.write(&measured);
        error
    }

    /// Writes what the invocation counted and measured, before the answer is held: an alarm should not wait.
    fn tell(&self, tally: &Tally, event: &Event, turn: &Turn) {
        let mut measured = tally.measured();
        measured.add(turn.measured());
        measured.add(self.step.measured());
        if let Some(topic) = event.entries.first().and_then(Entry::topic) {
            measured.note("kafka.topic", topic.as_str());
        }
        self.write(&measured);
    }

    fn write(&self, measured: &Measured) {
        if let Some(metrics) = &self.metrics {
            metrics.write(measured, self.clock.now());
        }
    }

    fn answer(&self, outcomes: &[(&Entry, &Outcome)]) -> Result<BatchAnswer, InvocationError> {
        let mut handed_back = Vec::new();
        let mut first = None;
        for (entry, outcome) in outcomes {
            let Outcome::HandBack(cause) = outcome else {
                continue;
            };
            let Some(at) = entry.coordinates() else {
                return Err(InvocationError::Unnamed(cause.to_string()));
            };
            first.get_or_insert(cause);
            handed_back.push(at);
        }
        match (self.batch_failures, first) {
            (BatchFailures::Raise, Some(cause)) => Err(InvocationError::HandedBack {
                count: handed_back.len(),
                of: outcomes.len(),
                first: cause.to_string(),
            }),
            (BatchFailures::Raise | BatchFailures::Report, _) => {
                Ok(BatchAnswer::handing_back(&handed_back))
            }
        }
    }

    /// Remembers what is done where it may be delivered again, and forgets the partitions that ended clean.
    fn remember(
        &self,
        outcomes: &[(&Entry, &Outcome)],
        answer: &Result<BatchAnswer, InvocationError>,
    ) {
        let now = self.clock.now();
        let mut unclean: HashSet<(Topic, Partition)> = HashSet::new();
        for (entry, outcome) in outcomes {
            let at = entry.coordinates();
            if answer.is_err() || matches!(outcome, Outcome::HandBack(_)) {
                unclean.extend(at.map(|at| (at.topic, at.partition)));
            }
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for (entry, outcome) in outcomes {
            let Some(at) = entry.coordinates() else {
                continue;
            };
            if !unclean.contains(&(at.topic.clone(), at.partition)) {
                memory.forget_partition(&at.topic, at.partition);
            } else if !matches!(outcome, Outcome::HandBack(_)) {
                memory.remember(&at, entry.timestamp(), now);
            }
        }
    }

    /// Holds the answer, unless the process is told to stop; returns for how long, in milliseconds.
    async fn sleep_at_most(&self, hold_ms: i64, answer_by: Timestamp) -> i64 {
        if hold_ms == 0 {
            return 0;
        }
        let from = self.clock.now();
        let mut stopping = self.stop.subscribe();
        tokio::select! {
            () = self.clock.sleep_until(from.plus_millis(hold_ms).min(answer_by)) => {}
            () = stopping.stopped() => {}
        }
        self.clock.now().millis_since(from)
    }
}

fn partitions(event: &Event) -> usize {
    let distinct: HashSet<_> = event.entries.iter().map(Entry::partition).collect();
    distinct.len()
}
