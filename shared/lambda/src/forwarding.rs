//! Where a failed record goes: to the topic that was decided on, to the next best place where that refuses it, and into the log.

use bytes::Bytes;
use pipeline::decide::refused_by_broker;
use pipeline::headers::names;
use pipeline::mask::Masker;
use pipeline::{
    Coordinates, ErrorCode, Failure, Forward, Headers, Offset, Outgoing, Partition, Record, Topic,
};

use crate::broker::{Broker, ProduceError};
use crate::clock::Clock;
use crate::event::Undecodable;
use crate::incidents::{Incidents, Recorded};
use crate::objects::{Objects, StoreFault};
use crate::outcome::{Cause, Outcome, Outside};
use crate::turn::Turn;

/// Produces failed records to their next topic, and keeps in the store what no topic takes.
#[derive(Debug)]
pub struct Forwarding<B, O, C> {
    /// Where failed records go.
    pub broker: B,
    /// Where a record goes that no topic takes.
    pub incidents: Incidents<O>,
    /// What takes secrets out of messages.
    pub masker: Masker,
    /// The clock.
    pub clock: C,
}

/// What a forwarded record was in the event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// A record.
    Record,
    /// An entry that is none, of which not all coordinates may be known.
    Entry(&'a Undecodable),
}

impl<B: Broker, O: Objects, C: Clock> Forwarding<B, O, C> {
    /// Produces a failed record where it goes next; where a topic refuses the record itself, on to the next best place.
    pub(crate) async fn forward(
        &self,
        record: &Record,
        source: Source<'_>,
        dlq: &Topic,
        mut forward: Forward,
        turn: &Turn,
    ) -> Outcome {
        loop {
            let outgoing = source.strip(forward.outgoing(record, self.clock.now(), &self.masker));
            let refused = match Box::pin(self.broker.produce(&outgoing)).await {
                Ok(_) => return self.moved(record, &forward),
                Err(ProduceError::Fault(fault)) => {
                    return Outcome::HandBack(Cause::Fault(Outside::Broker, fault));
                }
                Err(ProduceError::Refused(refused)) => refused,
            };
            if let Some(to_dlq) = refused_by_broker(dlq, &forward, &refused) {
                forward = to_dlq;
                continue;
            }
            let spilled = self.spill(record, source, &outgoing).await;
            return match spilled {
                Ok(recorded) => {
                    recorded.tally(turn);
                    self.moved(record, &forward)
                }
                Err(fault) => Outcome::HandBack(Cause::Fault(Outside::Store, fault.to_string())),
            };
        }
    }

    /// Gives up what is still queued or in flight.
    pub(crate) fn give_up(&self) {
        self.broker.give_up();
    }

    /// Logs that a record is simply done, how late after it was due where it had to wait, and says so.
    pub(crate) fn done(&self, record: &Record, late_ms: Option<i64>) -> Outcome {
        let at = &record.coordinates;
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
            None => ("forward", Outcome::Forwarded(forward.into())),
            Some(_) => ("dead-letter", Outcome::DeadLettered(forward.into())),
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

/// Returns the record that stands for an entry which is none, its raw JSON as the value, and why it is none.
///
/// `None` when the entry names no topic: then nobody knows where it belongs.
pub(crate) fn stand_in(entry: &Undecodable) -> Option<(Record, Failure)> {
    let record = Record {
        coordinates: Coordinates {
            topic: entry.topic.clone()?,
            partition: entry.partition.unwrap_or(Partition::FIRST),
            offset: entry.offset.unwrap_or(Offset::FIRST),
        },
        timestamp: entry.timestamp,
        key: None,
        value: Some(Bytes::clone(&entry.raw)),
        headers: Headers::default(),
    };
    let failure = Failure::new(ErrorCode::PayloadMalformed, entry.why.clone());
    Some((record, failure))
}
