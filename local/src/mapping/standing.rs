//! Where a mapping stands at a moment.

use std::time::Duration;

use pipeline::{Offset, Partition};
use tokio::time::Instant;

/// Where a mapping stands at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The partitions that it reads.
    pub partitions: Vec<Partition>,
    /// How many offsets of them lie between what is committed and the end, looked up about once a second; absent until it is known.
    pub lag: Option<u64>,
    /// What its function works on; absent while nothing runs.
    pub in_flight: Option<InFlight>,
    /// What is delivered again after a pause; absent while nothing waits for that.
    pub handed_back: Option<HandedBack>,
    /// The record at the head of a partition's queue that has been delivered most often; absent when none has been.
    pub most_delivered: Option<MostDelivered>,
    /// Whether every record of its partitions has been read and is done, and their ends, looked up since then, are where it has read to.
    pub idle: bool,
    /// When the ends that it rests on were asked for; absent while it is not idle.
    pub idle_as_of: Option<Instant>,
}

/// What a mapping's function works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// How many invocations run.
    pub invocations: usize,
    /// How many records they hold.
    pub records: usize,
    /// When the oldest of them started.
    pub since: Instant,
}

/// Records that are delivered again after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedBack {
    /// How many.
    pub records: usize,
    /// When the first of them are delivered again.
    pub until: Instant,
}

/// A record at the head of a partition's queue: its partition does not move before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostDelivered {
    /// Its partition.
    pub partition: Partition,
    /// Its offset.
    pub offset: Offset,
    /// How often it has been delivered by this mapping in a row.
    pub deliveries: u32,
}

impl InFlight {
    /// Returns for how long the oldest invocation has been running.
    pub fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}
