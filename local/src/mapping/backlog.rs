//! The records that a mapping has read and not finished: what may be delivered now, and what an answer means for offsets.
//!
//! Pure: no broker, no function, and time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Offset, Partition};
use tokio::time::Instant;

use super::answer::Place;
use super::lane::{Fetch, Lane, Taken};
use super::settings::{Batching, Pollers, Redelivery};
use crate::event::EventRecord;

/// Every partition that the mapping reads, each with its own queue.
#[derive(Debug)]
pub(super) struct Backlog {
    lanes: BTreeMap<Partition, Lane>,
    limits: Limits,
    redelivery: Redelivery,
}

/// What a batch may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) window: Duration,
    pub(super) pollers: Pollers,
}

/// Records that are delivered with one invocation, the partitions one after the other and each in order.
#[derive(Clone, Debug)]
pub(super) struct Batch {
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
    epoch: u64,
}

/// What becomes of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    AllDone,
    NotDone(BTreeSet<Place>),
    Again,
}

/// What becomes of one partition's part of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Finished {
    /// Offsets to commit: the next one to read.
    pub(super) commits: Vec<(Partition, i64)>,
    /// Partitions with records that are delivered again, and when.
    pub(super) again: Vec<(Partition, usize, Duration)>,
    /// Partitions that another reader has taken over meanwhile: the answer counts for nothing.
    pub(super) lost: Vec<Partition>,
}

/// Partitions whose fetching must stop or go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetching {
    pub(super) pause: Vec<Partition>,
    pub(super) resume: Vec<Partition>,
}

impl Limits {
    pub(super) fn new(batching: Batching, pollers: Pollers, bytes: usize) -> Self {
        Self {
            records: batching.size.get(),
            bytes,
            window: batching.window,
            pollers,
        }
    }
}

impl Batch {
    /// Returns where its records are.
    pub(super) fn places(&self) -> BTreeSet<Place> {
        self.records
            .iter()
            .map(|record| (record.coordinates.partition, record.coordinates.offset))
            .collect()
    }
}

impl Backlog {
    pub(super) fn new(limits: Limits, redelivery: Redelivery) -> Self {
        Self {
            lanes: BTreeMap::new(),
            limits,
            redelivery,
        }
    }

    /// Takes over partitions; their reading starts at the committed offset.
    pub(super) fn assign(&mut self, partitions: impl IntoIterator<Item = Partition>, now: Instant) {
        for partition in partitions {
            self.lanes
                .entry(partition)
                .or_insert_with(|| Lane::new(now))
                .assign();
        }
    }

    /// Gives partitions up: what was read of them is forgotten, and what still runs counts for nothing.
    ///
    /// Returns those whose fetching had been stopped: the client would keep that when they come back.
    pub(super) fn revoke(&mut self, partitions: impl IntoIterator<Item = Partition>) -> Fetching {
        let mut fetching = Fetching::default();
        for partition in partitions {
            let lane = self.lanes.get_mut(&partition);
            if lane.is_some_and(Lane::revoke) {
                fetching.resume.push(partition);
            }
        }
        fetching
    }

    /// Tells whether the mapping reads a partition now.
    pub(super) fn reads(&self, partition: Partition) -> bool {
        self.lanes.get(&partition).is_some_and(|lane| lane.assigned)
    }

    /// Queues a record that was read; one that is too large for any event is passed over, and `Err` returns what to commit for it.
    pub(super) fn push(
        &mut self,
        record: EventRecord,
        now: Instant,
    ) -> Result<(), Option<(Partition, i64)>> {
        let partition = record.coordinates.partition;
        let fits = record.size() <= self.limits.bytes;
        let Some(lane) = self.lanes.get_mut(&partition).filter(|lane| lane.assigned) else {
            return Ok(());
        };
        if !lane.reads(record.coordinates.offset) {
            return Ok(());
        }
        if fits {
            lane.push(record, now);
            Ok(())
        } else {
            Err(lane
                .pass_over(record.coordinates.offset)
                .map(|next| (partition, next)))
        }
    }

    /// Notes that everything there is of a partition has been read.
    pub(super) fn at_end(&mut self, partition: Partition) {
        if let Some(lane) = self.lanes.get_mut(&partition) {
            lane.at_end = true;
        }
    }

    /// Takes the next batch that may be delivered now, the longest-waiting partition first.
    pub(super) fn take(&mut self, now: Instant) -> Option<Batch> {
        let mut free: Vec<(Instant, Partition)> = self
            .lanes
            .iter()
            .filter_map(|(partition, lane)| Some((lane.since(now)?, *partition)))
            .collect();
        free.sort_unstable();
        let chosen: Vec<Partition> = match self.limits.pollers {
            Pollers::Standard => free
                .iter()
                .map(|(_, partition)| *partition)
                .find(|partition| self.is_ripe(&[*partition], now))
                .into_iter()
                .collect(),
            Pollers::Provisioned(_) => {
                let all: Vec<Partition> = free.iter().map(|(_, partition)| *partition).collect();
                if self.is_ripe(&all, now) {
                    all
                } else {
                    Vec::new()
                }
            }
        };
        let mut batch = Batch {
            records: Vec::new(),
            parts: Vec::new(),
        };
        let mut bytes = 0;
        for partition in chosen {
            let room = Limits {
                records: self.limits.records.saturating_sub(batch.records.len()),
                bytes: self.limits.bytes.saturating_sub(bytes),
                ..self.limits
            };
            let Some(lane) = self.lanes.get_mut(&partition) else {
                continue;
            };
            let Some(taken) = lane.take(room) else {
                continue;
            };
            bytes = bytes.saturating_add(taken.bytes);
            let Taken {
                records,
                epoch,
                delivery,
                ..
            } = taken;
            if let (Some(first), Some(last)) = (records.first(), records.last()) {
                batch.parts.push(Part {
                    partition,
                    first: first.coordinates.offset,
                    last: last.coordinates.offset,
                    records: records.len(),
                    delivery,
                    epoch,
                });
            }
            batch.records.extend(records);
        }
        (!batch.records.is_empty()).then_some(batch)
    }

    /// Tells whether a batch of these partitions should go: it is full, the window of one is over, or one is delivered again.
    fn is_ripe(&self, partitions: &[Partition], now: Instant) -> bool {
        let lanes = || partitions.iter().filter_map(|at| self.lanes.get(at));
        let records: usize = lanes().map(Lane::waiting_records).sum();
        let bytes: usize = lanes().map(Lane::waiting_bytes).sum();
        records >= self.limits.records
            || bytes >= self.limits.bytes
            || lanes().any(|lane| lane.is_due(self.limits.window, now))
    }

    /// Returns when the next batch may become ripe by time alone.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.lanes
            .values()
            .filter_map(|lane| lane.due_at(self.limits.window))
            .min()
    }

    /// Applies what becomes of a batch.
    pub(super) fn finish(
        &mut self,
        batch: &Batch,
        resolution: &Resolution,
        now: Instant,
    ) -> Finished {
        let mut finished = Finished::default();
        for part in &batch.parts {
            let Some(lane) = self.lanes.get_mut(&part.partition) else {
                continue;
            };
            if !lane.finish(part.epoch) {
                finished.lost.push(part.partition);
                continue;
            }
            let records: Vec<Arc<EventRecord>> = batch
                .records
                .iter()
                .filter(|record| record.coordinates.partition == part.partition)
                .cloned()
                .collect();
            let left = match resolution {
                Resolution::AllDone => Vec::new(),
                Resolution::Again => records.clone(),
                Resolution::NotDone(places) => not_done(&records, places, self.redelivery),
            };
            if let Some(next) = lane.keep(&records, left, now) {
                finished.commits.push((part.partition, next));
            }
            if let Some((records, pause)) = lane.pausing(now) {
                finished.again.push((part.partition, records, pause));
            }
        }
        finished
    }

    /// Says where fetching must stop, since enough is waiting, and where it may go on; each is said once.
    pub(super) fn fetching(&mut self) -> Fetching {
        let mut fetching = Fetching::default();
        for (partition, lane) in &mut self.lanes {
            match lane.change_fetching(self.limits) {
                Some(Fetch::On) => fetching.resume.push(*partition),
                Some(Fetch::Off) => fetching.pause.push(*partition),
                None => {}
            }
        }
        fetching
    }

    /// Tells whether everything that was there has been read and is done.
    pub(super) fn is_idle(&self) -> bool {
        self.lanes.values().all(Lane::is_idle)
    }
}

/// Returns the records of a partition that are delivered again.
fn not_done(
    records: &[Arc<EventRecord>],
    places: &BTreeSet<Place>,
    redelivery: Redelivery,
) -> Vec<Arc<EventRecord>> {
    let listed = |record: &&Arc<EventRecord>| {
        places.contains(&(record.coordinates.partition, record.coordinates.offset))
    };
    match redelivery {
        Redelivery::Items => records.iter().filter(listed).cloned().collect(),
        Redelivery::Resume => records
            .iter()
            .skip_while(|record| !listed(record))
            .cloned()
            .collect(),
    }
}

#[cfg(test)]
mod tests;
