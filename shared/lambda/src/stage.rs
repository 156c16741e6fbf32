//! One record on one stage: wait until it is due, run the handler, do what was decided.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::future::FutureExt;
use pipeline::decide::refused_by_broker;
use pipeline::headers::names;
use pipeline::mask::Masker;
use pipeline::{
    Coordinates, Decision, ErrorCode, Failure, Forward, Headers, Offset, Outgoing, Partition,
    Record, Stage, Stages, Timestamp, Verdict, decide, due_at,
};

use crate::batch::Step;
use crate::broker::{Broker, ProduceError};
use crate::clock::Clock;
use crate::event::Undecodable;
use crate::gate::Gate;
use crate::handler::{Attempt, Handler, NoTimeLeft};
use crate::incidents::{Incidents, Recorded};
use crate::markers::{Alone, Markers, Running, Standing};
use crate::objects::{Objects, StoreFault};
use crate::outcome::{Cause, Outcome};
use crate::panic::panic_message;
use crate::turn::{Turn, Waited};

/// The step of every stage of the ladder: the handler is yours, the way of a failed record is ours.
#[derive(Debug)]
pub struct StageStep<H, B, O, C> {
    /// The ladder.
    pub stages: Stages,
    /// What handles a record.
    pub handler: H,
    /// Where failed records go.
    pub broker: B,
    /// Where a record goes that no topic takes.
    pub incidents: Incidents<O>,
    /// Notes on what runs, which outlive the process.
    pub markers: Markers,
    /// How many records run at once.
    pub gate: Gate,
    /// What takes secrets out of messages.
    pub masker: Masker,
    /// The clock.
    pub clock: C,
}

/// A note that a record runs; dropped without an end, its handler did not come back in time.
struct Noted<'a, C: Clock> {
    markers: &'a Markers,
    clock: &'a C,
    running: Option<Running>,
}

impl<'a, C: Clock> Noted<'a, C> {
    fn begin(markers: &'a Markers, clock: &'a C, record: &Record, alone: Alone) -> Self {
        let running = markers.begin(&record.coordinates, record.timestamp, alone, clock.now());
        Self {
            markers,
            clock,
            running: Some(running),
        }
    }

    fn end(mut self) {
        if let Some(running) = self.running.take() {
            self.markers.end(running);
        }
    }

    /// The handler came back without a verdict: that says nothing of the record.
    fn let_go(mut self) {
        if let Some(running) = self.running.take() {
            self.markers.let_go(running);
        }
    }
}

impl<C: Clock> Drop for Noted<'_, C> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.markers.hung(running, self.clock.now());
        }
    }
}

impl<H: Handler, B: Broker, O: Objects, C: Clock> StageStep<H, B, O, C> {
    /// Runs the handler, unless the record is condemned or no time is left.
    async fn attempt(
        &self,
        record: &Record,
        stage: &Stage,
        turn: &Turn,
    ) -> Result<Verdict, NoTimeLeft> {
        let standing =
            self.markers
                .standing(&record.coordinates, record.timestamp, self.clock.now());
        let (alone, pass) = match standing {
            Standing::Clear | Standing::Touched => (Alone::No, self.gate.beside_others().await),
            Standing::Suspect => (Alone::Yes, self.gate.alone().await),
            Standing::Condemned => {
                // Behind every suspect: one that ends the process after this dead letter would have it written twice.
                tokio::task::yield_now().await;
                drop(self.gate.alone().await);
                if turn.is_closing() {
                    return Err(NoTimeLeft);
                }
                let message =
                    "it ended the process three times while it ran alone, and was not run again";
                return Ok(Verdict::Permanent(Failure::new(
                    ErrorCode::HandlerCrashed,
                    message,
                )));
            }
        };
        let last_call = turn.deadline().last_call(self.handler.call_limit_ms());
        if turn.is_closing() || self.clock.now() > last_call {
            return Err(NoTimeLeft);
        }
        let attempt = Attempt {
            on_retry_stage: stage.is_retry(),
            suspect: standing != Standing::Clear,
            last_call,
        };
        let noted = Noted::begin(&self.markers, &self.clock, record, alone);
        // Boxed, so that a handler's depth does not add to the depth of the loop's own types.
        let handling = Box::pin(self.handler.handle(record, &attempt));
        let handled = AssertUnwindSafe(handling).catch_unwind().await;
        drop(pass);
        match handled {
            Ok(Ok(verdict)) => {
                noted.end();
                Ok(verdict)
            }
            Ok(Err(NoTimeLeft)) => {
                noted.let_go();
                Err(NoTimeLeft)
            }
            Err(panic) => {
                noted.end();
                let message = panic_message(&*panic);
                Ok(Verdict::Permanent(Failure::new(
                    ErrorCode::HandlerPanic,
                    message,
                )))
            }
        }
    }

    /// Produces a failed record where it goes next; where a topic refuses the record itself, on to the next best place.
    async fn forward(&self, record: &Record, source: Source<'_>, mut forward: Forward) -> Outcome {
        loop {
            let outgoing = source.strip(forward.outgoing(record, self.clock.now(), &self.masker));
            let refused = match Box::pin(self.broker.produce(&outgoing)).await {
                Ok(_) => return self.moved(record, &forward),
                Err(ProduceError::Fault(fault)) => return Outcome::HandBack(Cause::Fault(fault)),
                Err(ProduceError::Refused(refused)) => refused,
            };
            if let Some(to_dlq) = refused_by_broker(&self.stages, &forward, &refused) {
                forward = to_dlq;
                continue;
            }
            let spilled = self.spill(record, source, &outgoing).await;
            return match spilled {
                Ok(_) => self.moved(record, &forward),
                Err(fault) => Outcome::HandBack(Cause::Fault(fault.to_string())),
            };
        }
    }

    /// Keeps in the store what no topic takes.
    async fn spill(
        &self,
        record: &Record,
        source: Source<'_>,
        outgoing: &Outgoing,
    ) -> Result<Recorded, StoreFault> {
        match source {
            Source::Record => {
                let Record {
                    coordinates,
                    timestamp,
                    ..
                } = record;
                self.incidents
                    .spill(outgoing, coordinates, *timestamp)
                    .await
            }
            // Its place may be made up, and then tells it apart from no other.
            Source::Entry(entry) => {
                let incident = self.incidents.spill_raw(entry).await?;
                self.incidents.record(&incident).await
            }
        }
    }

    /// Returns the record's key as logs write it.
    fn told_key(&self, record: &Record) -> Option<String> {
        let key = record.key.as_deref()?;
        Some(self.masker.line(&String::from_utf8_lossy(key)))
    }

    /// Logs a move, once, and tells what came of the record.
    fn moved(&self, record: &Record, forward: &Forward) -> Outcome {
        let at = &record.coordinates;
        let (decision, outcome) = match forward.dlq_reason() {
            None => ("forward", Outcome::Forwarded),
            Some(_) => ("dead-letter", Outcome::DeadLettered),
        };
        tracing::info!(
            kafka.topic = at.topic.as_str(),
            kafka.partition = at.partition.get(),
            kafka.offset = at.offset.get(),
            kafka.key = self.told_key(record),
            decision,
            reason = forward.reason().as_str(),
            to = forward.to().as_str(),
            error.class = forward.class().as_str(),
            error.code = forward.failure().code.as_str(),
            error.message = self.masker.line(&forward.failure().message),
            dlq_reason = forward.dlq_reason().map(pipeline::DlqReason::as_str),
            "record moved"
        );
        outcome
    }
}

impl<H: Handler, B: Broker, O: Objects, C: Clock> Step for StageStep<H, B, O, C> {
    fn start(&self, now: Timestamp) {
        self.markers.start_invocation(now);
    }

    async fn run(&self, record: &Record, turn: &Turn) -> Outcome {
        let at = &record.coordinates;
        let Some(stage) = self.stages.stage_of(&at.topic) else {
            return Outcome::HandBack(no_stage(at.topic.as_str()));
        };
        let due = due_at(stage, record.timestamp, self.clock.now());
        match turn.wait(&self.clock, due).await {
            Waited::Due => {}
            Waited::TooLong => return Outcome::HandBack(Cause::NotDue),
            Waited::Closing if due > self.clock.now() => return Outcome::HandBack(Cause::NotDue),
            Waited::Closing => return Outcome::HandBack(Cause::NoTime),
        }
        let late_ms = self.clock.now().millis_since(due);
        let Ok(verdict) = self.attempt(record, stage, turn).await else {
            // It is due, but this invocation is too short for it: the next one must come at once.
            turn.close();
            return Outcome::HandBack(Cause::NoTime);
        };
        match decide(&self.stages, record, verdict) {
            Decision::Done => {
                tracing::debug!(
                    kafka.topic = at.topic.as_str(),
                    kafka.partition = at.partition.get(),
                    kafka.offset = at.offset.get(),
                    kafka.key = self.told_key(record),
                    decision = "done",
                    late_ms,
                    "record done"
                );
                Outcome::Handled
            }
            Decision::Forward(forward) | Decision::DeadLetter(forward) => {
                self.forward(record, Source::Record, forward).await
            }
            Decision::HandBack => Outcome::HandBack(no_stage(at.topic.as_str())),
        }
    }

    /// Dead-letters an entry that is no record, with its raw JSON as the value.
    async fn run_undecodable(&self, entry: &Undecodable, _turn: &Turn) -> Outcome {
        let Some(topic) = &entry.topic else {
            return Outcome::HandBack(no_stage("of an entry that names none"));
        };
        let record = Record {
            coordinates: Coordinates {
                topic: topic.clone(),
                partition: entry.partition.unwrap_or(Partition::FIRST),
                offset: entry.offset.unwrap_or(Offset::FIRST),
            },
            timestamp: entry.timestamp,
            key: None,
            value: Some(Bytes::clone(&entry.raw)),
            headers: Headers::default(),
        };
        let verdict =
            Verdict::Permanent(Failure::new(ErrorCode::PayloadMalformed, entry.why.clone()));
        match decide(&self.stages, &record, verdict) {
            Decision::Forward(forward) | Decision::DeadLetter(forward) => {
                self.forward(&record, Source::Entry(entry), forward).await
            }
            Decision::Done | Decision::HandBack => Outcome::HandBack(no_stage(topic.as_str())),
        }
    }

    async fn finish(&self, _turn: &Turn) {}

    fn give_up(&self) {
        self.broker.give_up();
    }

    fn call_limit_ms(&self) -> i64 {
        self.handler.call_limit_ms()
    }
}

/// What a forwarded record was in the event.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    /// A record.
    Record,
    /// An entry that is none, of which not all coordinates may be known.
    Entry(&'a Undecodable),
}

impl Source<'_> {
    /// Takes away the headers that would claim coordinates which nobody told.
    fn strip(self, mut outgoing: Outgoing) -> Outgoing {
        if let Self::Entry(entry) = self {
            if entry.partition.is_none() {
                outgoing.headers.remove(names::ORIGINAL_PARTITION);
            }
            if entry.offset.is_none() {
                outgoing.headers.remove(names::ORIGINAL_OFFSET);
            }
        }
        outgoing
    }
}

fn no_stage(topic: &str) -> Cause {
    Cause::Broken(format!(
        "topic {topic} is no stage: check MAIN_TOPIC, RETRY_STAGES and DRAIN_STAGES against the mapping"
    ))
}

#[cfg(test)]
mod tests;
