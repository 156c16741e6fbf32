//! One record of a pipeline without retry topics: run the handler, count failures, dead-letter at the last.

mod failures;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pipeline::{CountedDecision, Counting, FailedAttempt, Forward, Record, Timestamp};

use self::failures::Failures;
use crate::attempts::{Attempts, ReadFrom};
use crate::batch::Step;
use crate::broker::Broker;
use crate::clock::Clock;
use crate::event::Undecodable;
use crate::forwarding::{Forwarding, Source, stand_in};
use crate::handler::Handler;
use crate::metrics::Measured;
use crate::objects::Objects;
use crate::outcome::{Cause, Outcome};
use crate::turn::Turn;

/// The step of a pipeline that counts: the handler is yours, the way of a failed record is ours.
///
/// The count is kept in this process alone. Where another process goes on with a partition it starts from zero, and a record is
/// tried a few times more; it is dead-lettered all the same, since each process comes to the end of its own count.
#[derive(Debug)]
pub struct CountingStep<H, B, O, C> {
    counting: Counting,
    attempts: Attempts<H, C>,
    forwarding: Forwarding<B, O, C>,
    failures: Mutex<Failures>,
}

impl<H: Handler, B: Broker, O: Objects, C: Clock> CountingStep<H, B, O, C> {
    /// Joins what is read with what handles it and where failed records go.
    pub fn new(
        counting: Counting,
        attempts: Attempts<H, C>,
        forwarding: Forwarding<B, O, C>,
    ) -> Self {
        Self {
            counting,
            attempts,
            forwarding,
            failures: Mutex::default(),
        }
    }

    /// Hands a record back to be tried again, and counts that.
    fn try_again(&self, record: &Record, mut failed: FailedAttempt) -> Outcome {
        let now = self.attempts.clock.now();
        self.failures().note(record, failed.failures, now);
        let masker = &self.forwarding.masker;
        failed.failure.message = masker.line(&failed.failure.message);
        Outcome::HandBack(Cause::Failed(failed))
    }

    /// Dead-letters a record. Where that cannot be done its count stays as it is, so that the next failure dead-letters it again.
    async fn dead_letter(&self, record: &Record, forward: Forward, turn: &Turn) -> Outcome {
        let dlq = self.counting.dlq();
        let forwarding = &self.forwarding;
        let outcome = forwarding
            .forward(record, Source::Record, dlq, forward, turn)
            .await;
        if matches!(outcome, Outcome::HandBack(_)) {
            let now = self.attempts.clock.now();
            self.failures().keep(record, now);
        } else {
            self.failures().forget(record);
        }
        outcome
    }

    fn no_stage(&self, topic: &str) -> Cause {
        Cause::Broken(format!(
            "topic {topic} is no stage of this function, which reads {}: check its settings against the mapping",
            self.counting.topic()
        ))
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Handler, B: Broker, O: Objects, C: Clock> Step for CountingStep<H, B, O, C> {
    fn start(&self, now: Timestamp) {
        self.attempts.start(now);
        self.failures().forget_expired(now);
    }

    async fn run(&self, record: &Record, turn: &Turn) -> Outcome {
        let topic = &record.coordinates.topic;
        if topic != self.counting.topic() {
            return Outcome::HandBack(self.no_stage(topic.as_str()));
        }
        let Ok(verdict) = self.attempts.make(record, ReadFrom::Main, turn).await else {
            turn.close();
            return Outcome::HandBack(Cause::NoTime);
        };
        let before = self.failures().of(record);
        match pipeline::decide_counted(&self.counting, record, verdict, before) {
            CountedDecision::Done => {
                self.failures().forget(record);
                self.forwarding.done(record, None)
            }
            CountedDecision::TryAgain(failed) => self.try_again(record, failed),
            CountedDecision::DeadLetter(forward) => self.dead_letter(record, forward, turn).await,
            CountedDecision::HandBack => Outcome::HandBack(self.no_stage(topic.as_str())),
        }
    }

    /// Dead-letters an entry that is no record at once, with its raw JSON as the value.
    async fn run_undecodable(&self, entry: &Undecodable, turn: &Turn) -> Outcome {
        let Some((record, failure)) = stand_in(entry) else {
            return Outcome::HandBack(self.no_stage("of an entry that names none"));
        };
        let topic = &record.coordinates.topic;
        match self.counting.give_up(topic, failure) {
            CountedDecision::DeadLetter(forward) => {
                let (source, dlq) = (Source::Entry(entry), self.counting.dlq());
                self.forwarding
                    .forward(&record, source, dlq, forward, turn)
                    .await
            }
            CountedDecision::Done | CountedDecision::TryAgain(_) | CountedDecision::HandBack => {
                Outcome::HandBack(self.no_stage(topic.as_str()))
            }
        }
    }

    async fn finish(&self, _turn: &Turn) {}

    fn give_up(&self) {
        self.forwarding.give_up();
    }

    fn call_limit_ms(&self) -> i64 {
        self.attempts.handler.call_limit_ms()
    }

    fn measured(&self) -> Measured {
        self.attempts.handler.measured()
    }
}

#[cfg(test)]
mod tests;
