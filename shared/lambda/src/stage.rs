//! One record on one stage: wait until it is due, run the handler, do what was decided.

use pipeline::{Decision, Record, Stage, Stages, Timestamp, Verdict, decide, due_at};

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
use crate::turn::{Turn, Waited};

/// The step of every stage of the ladder: the handler is yours, the way of a failed record is ours.
#[derive(Debug)]
pub struct StageStep<H, B, O, C> {
    /// The ladder.
    pub stages: Stages,
    /// What runs the handler.
    pub attempts: Attempts<H, C>,
    /// Where failed records go.
    pub forwarding: Forwarding<B, O, C>,
}

impl<H: Handler, B: Broker, O: Objects, C: Clock> Step for StageStep<H, B, O, C> {
    fn start(&self, now: Timestamp) {
        self.attempts.start(now);
    }

    async fn run(&self, record: &Record, turn: &Turn) -> Outcome {
        let Some(stage) = self.stages.stage_of(&record.coordinates.topic) else {
            return Outcome::HandBack(no_stage(record.coordinates.topic.as_str()));
        };
        let clock = &self.attempts.clock;
        let due = due_at(stage, record.timestamp, clock.now());
        match turn.wait(clock, due).await {
            Waited::Due => {}
            Waited::TooLong => return Outcome::HandBack(Cause::NotDue),
            Waited::Closing if due > clock.now() => return Outcome::HandBack(Cause::NotDue),
            Waited::Closing => return Outcome::HandBack(Cause::NoTime),
        }
        let late_ms = clock.now().millis_since(due);
        let attempt = self
            .attempts
            .make(record, read_from(stage, due), turn)
            .await;
        let Ok(verdict) = attempt else {
            // It is due, but this invocation is too short for it: the next one must come at once.
            turn.close();
            return Outcome::HandBack(Cause::NoTime);
        };
        match decide(&self.stages, record, verdict) {
            Decision::Done => self.forwarding.done(record, Some(late_ms)),
            Decision::Forward(forward) | Decision::DeadLetter(forward) => {
                let dlq = self.stages.dlq();
                self.forwarding
                    .forward(record, Source::Record, dlq, forward, turn)
                    .await
            }
            Decision::HandBack => Outcome::HandBack(no_stage(record.coordinates.topic.as_str())),
        }
    }

    /// Dead-letters an entry that is no record, with its raw JSON as the value.
    async fn run_undecodable(&self, entry: &Undecodable, turn: &Turn) -> Outcome {
        let Some((record, failure)) = stand_in(entry) else {
            return Outcome::HandBack(no_stage("of an entry that names none"));
        };
        match decide(&self.stages, &record, Verdict::Permanent(failure)) {
            Decision::Forward(forward) | Decision::DeadLetter(forward) => {
                let (source, dlq) = (Source::Entry(entry), self.stages.dlq());
                self.forwarding
                    .forward(&record, source, dlq, forward, turn)
                    .await
            }
            Decision::Done | Decision::HandBack => {
                Outcome::HandBack(no_stage(record.coordinates.topic.as_str()))
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

fn read_from(stage: &Stage, due: Timestamp) -> ReadFrom {
    if stage.is_retry() {
        ReadFrom::Retry(due)
    } else {
        ReadFrom::Main
    }
}

fn no_stage(topic: &str) -> Cause {
    Cause::Broken(format!(
        "topic {topic} is no stage: check MAIN_TOPIC, RETRY_STAGES and DRAIN_STAGES against the mapping"
    ))
}

#[cfg(test)]
mod tests;
