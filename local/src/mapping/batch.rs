//! Batches: what is delivered with one invocation, and what becomes of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Coordinates, Offset, Partition};

use super::answer::Place;
use super::rules::PollerNumber;
use crate::event::EventRecord;

/// Records that are delivered with one invocation, the partitions one after the other and each in order.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) poller: PollerNumber,
    pub(super) records: Vec<Arc<EventRecord>>,
    pub(super) parts: Vec<Part>,
}

/// What a batch holds of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) partition: Partition,
    pub(super) first: Offset,
    pub(super) last: Offset,
    pub(super) records: usize,
    pub(super) delivery: u32,
    pub(super) epoch: u64,
}

/// What comes of looking for the next batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    pub(super) batch: Option<Batch>,
    /// Records that have become too old to be delivered.
    pub(super) expired: Vec<Coordinates>,
    /// Offsets to commit for those that stood alone.
    pub(super) commits: Vec<(Partition, i64)>,
}

/// What an answer means for a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    AllDone,
    NotDone(BTreeSet<Place>),
    /// There is no answer that makes sense.
    Failed,
    /// The function was not reached.
    NotInvoked,
}

/// What becomes of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Finished {
    /// Offsets to commit: the next one to read.
    pub(super) commits: Vec<(Partition, i64)>,
    /// Partitions with records that are delivered again, and after what pause.
    pub(super) again: Vec<(Partition, usize, Duration)>,
    /// Records that are not delivered again, since they have been retried often enough.
    pub(super) exhausted: Vec<Coordinates>,
    /// Partitions that another reader has taken over meanwhile: the answer counts for nothing.
    pub(super) lost: Vec<Partition>,
}

impl Batch {
    /// Returns where its records are.
    pub(super) fn places(&self) -> BTreeSet<Place> {
        self.records.iter().map(|record| place(record)).collect()
    }
}

impl Turn {
    /// Tells whether nothing came of it.
    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_none() && self.expired.is_empty() && self.commits.is_empty()
    }
}

pub(super) fn place(record: &EventRecord) -> Place {
    (record.coordinates.partition, record.coordinates.offset)
}
