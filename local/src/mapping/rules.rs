//! A mapping's settings as its backlog needs them.

use std::time::Duration;

use pipeline::{Partition, Topic};

use super::settings::{Answers, Bisect, MappingSettings, Pollers, Redelivery};
use crate::event::{self, EventRecord};

/// How many invocations a poller has under way at most.
///
/// Source: AWS Lambda developer guide, "Apache Kafka event poller scaling modes in Lambda", provisioned mode.
pub(crate) const INVOCATIONS_OF_A_POLLER: usize = 5;

/// What decides which records are delivered, and what becomes of them.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) topic: Topic,
    /// The most records of a batch.
    pub(super) records: usize,
    /// The most bytes that partitions and records may add to an event.
    pub(super) bytes: usize,
    pub(super) window: Duration,
    pub(super) pollers: Pollers,
    pub(super) redelivery: Redelivery,
    pub(super) bisect: Bisect,
    pub(super) retries: Option<u32>,
    pub(super) max_age: Option<Duration>,
}

/// A poller, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PollerNumber(i64);

impl Rules {
    pub(super) fn of(settings: &MappingSettings) -> Self {
        Self {
            topic: settings.topic.clone(),
            records: settings.batching.size.get(),
            bytes: settings.source.room(&settings.brokers),
            window: settings.batching.window,
            pollers: settings.pollers,
            redelivery: match settings.answers {
                Answers::Reported(redelivery) => redelivery,
                Answers::Ignored => Redelivery::default(),
            },
            bisect: settings.bisect,
            retries: settings.retries,
            max_age: settings.max_age,
        }
    }

    /// Returns which poller a partition belongs to.
    pub(super) fn poller_of(&self, partition: Partition) -> PollerNumber {
        let number = i64::from(partition.get());
        match self.pollers {
            Pollers::Standard => PollerNumber(number),
            Pollers::Provisioned(pollers) => {
                let pollers = i64::try_from(pollers.get()).unwrap_or(i64::MAX);
                PollerNumber(number.checked_rem(pollers).unwrap_or(0))
            }
        }
    }

    /// Returns how many bytes a partition adds to an event before its first record.
    pub(super) fn frame_size(&self, partition: Partition) -> usize {
        event::frame_size(&self.topic, partition)
    }

    /// Tells whether a record fits into an event of its own.
    pub(super) fn fits_alone(&self, record: &EventRecord) -> bool {
        let frame = self.frame_size(record.coordinates.partition);
        record.size().saturating_add(frame) <= self.bytes
    }

    /// Tells whether records that have been retried so often may not be retried again.
    pub(super) fn is_exhausted(&self, retries: u32) -> bool {
        self.retries.is_some_and(|most| retries >= most)
    }

    /// Returns the time before which records are too old at `time`, both in milliseconds since 1970.
    pub(super) fn oldest(&self, time: i64) -> Option<i64> {
        let age = i64::try_from(self.max_age?.as_millis()).ok()?;
        Some(time.saturating_sub(age))
    }
}

/// Tells whether a record is older than the oldest that is delivered; one without a time of its own never is (assumed).
pub(super) fn is_too_old(record: &EventRecord, oldest: Option<i64>) -> bool {
    oldest.is_some_and(|oldest| record.timestamp > 0 && record.timestamp < oldest)
}

#[cfg(test)]
pub(super) mod tests;
