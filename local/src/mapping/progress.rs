//! What a mapping does, told as it happens.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pipeline::{Coordinates, Offset, Partition};

use crate::invoke::Fault;

/// Something that a mapping did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The mapping's name.
    pub mapping: Arc<str>,
    /// What it did.
    pub progress: Progress,
}

/// The steps of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It reads these partitions now, and no others.
    Assigned(Vec<Partition>),
    /// It invoked the function with a batch.
    Delivered {
        /// Counts the mapping's invocations, from 1.
        invocation: u64,
        /// What the batch holds.
        parts: Vec<Portion>,
    },
    /// The invocation ended.
    Answered {
        /// The invocation.
        invocation: u64,
        /// How long it took.
        took: Duration,
        /// What it came to.
        verdict: BatchVerdict,
        /// The answer as the function gave it, when it gave one that is not too large.
        answer: Option<Bytes>,
        /// For each partition whose offset moves because of it, the next offset to read; told as committed once the broker has it.
        commits: Vec<(Partition, Offset)>,
    },
    /// The broker has the group's new offset.
    Committed {
        /// The partition.
        partition: Partition,
        /// The next offset to read.
        offset: Offset,
    },
    /// Records are delivered again after a pause; their partition waits for them.
    Waiting {
        /// The partition.
        partition: Partition,
        /// How many records.
        records: usize,
        /// The pause.
        pause: Duration,
    },
    /// The partition was taken away during the invocation, so that its answer counts for nothing.
    Lost(Partition),
    /// The topic was deleted and created again: what was read of the old one is dropped, and the new one is read from its first record.
    Recreated,
    /// The offset to go on at is not there any more: the partition is read from its oldest record.
    Gone {
        /// The partition.
        partition: Partition,
        /// The offset that the group had committed.
        committed: Offset,
        /// The offset of the oldest record.
        oldest: Offset,
    },
    /// A record is passed over for good: **it is gone**, since there is no on-failure destination.
    Discarded {
        /// The record.
        record: Coordinates,
        /// Why.
        reason: Discard,
    },
    /// Headers of a record cannot be read and were delivered without name and value.
    HeadersLost {
        /// The record.
        record: Coordinates,
        /// How many.
        headers: usize,
    },
    /// The broker cannot be read from, or does not take offsets; it is tried again.
    Trouble(String),
}

/// What a batch holds of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The partition.
    pub partition: Partition,
    /// The first offset.
    pub first: Offset,
    /// The last offset.
    pub last: Offset,
    /// How many records.
    pub records: usize,
    /// How often the first of them has been delivered by this mapping in a row, this time included.
    pub delivery: u32,
}

/// What an invocation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchVerdict {
    /// Every record is done.
    AllDone,
    /// So many records were listed as not done.
    HandedBack(usize),
    /// The answer makes no sense: the whole batch again.
    Malformed(String),
    /// There is no answer: the whole batch again.
    Failed(Fault),
}

/// Why a record is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// It alone is larger than an event may be.
    TooLarge,
    /// It was not done after the first delivery and every retry that the mapping allows.
    RetriesExhausted,
    /// It is older than the mapping allows.
    TooOld,
}
