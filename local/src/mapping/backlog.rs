//! The records that a mapping has read and not finished: what may be delivered now, and what an answer means for offsets.
//!
//! Pure: no broker, no function, and time is an argument.

use std::collections::BTreeMap;

use pipeline::Partition;
use tokio::time::Instant;

use super::batch::{Batch, Finished, Part, Resolution, Turn};
use super::lane::{Fetch, Lane, Next};
use super::queue::Load;
use super::rules::{INVOCATIONS_OF_A_POLLER, PollerNumber, Rules};
use super::settings::Bisect;
use super::standing::{HandedBack, MostDelivered};
use crate::event::EventRecord;

/// Every partition that the mapping reads, each with its own queue.
#[derive(Debug)]
pub(super) struct Backlog {
    rules: Rules,
    lanes: BTreeMap<Partition, Lane>,
    /// How many invocations each poller has under way.
    under_way: BTreeMap<PollerNumber, usize>,
    batches: u64,
}

/// The time, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) instant: Instant,
    /// Milliseconds since 1970, for the age of records.
    pub(super) time: i64,
}

/// Partitions whose fetching must stop or go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetching {
    pub(super) pause: Vec<Partition>,
    pub(super) resume: Vec<Partition>,
}

/// Partitions of one poller that may go in one batch.
#[derive(Debug)]
struct Candidate {
    poller: PollerNumber,
    next: Next,
    /// The longest-waiting first.
    partitions: Vec<(Instant, Partition)>,
}

impl Backlog {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            lanes: BTreeMap::new(),
            under_way: BTreeMap::new(),
            batches: 0,
        }
    }

    /// Takes over partitions, and from which offset each is read.
    pub(super) fn assign(
        &mut self,
        partitions: impl IntoIterator<Item = (Partition, i64)>,
        now: Instant,
    ) {
        for (partition, from) in partitions {
            self.lanes
                .entry(partition)
                .or_insert_with(|| Lane::new(now))
                .assign(from, now);
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

    /// Returns the partitions that the mapping reads now.
    pub(super) fn partitions(&self) -> Vec<Partition> {
        let assigned = self.lanes.iter().filter(|(_, lane)| lane.assigned);
        assigned.map(|(partition, _)| *partition).collect()
    }

    /// Queues a record that was read; one that is too large for any event is passed over, and `Err` returns what to commit for it.
    pub(super) fn push(
        &mut self,
        record: EventRecord,
        now: Instant,
    ) -> Result<(), Option<(Partition, i64)>> {
        let partition = record.coordinates.partition;
        let fits = self.rules.fits_alone(&record);
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
            let next = lane.pass_over(record.coordinates.offset);
            Err(next.map(|next| (partition, next)))
        }
    }

    /// Notes that everything there is of a partition has been read.
    pub(super) fn at_end(&mut self, partition: Partition) {
        if let Some(lane) = self.lanes.get_mut(&partition) {
            lane.at_end();
        }
    }

    /// Notes which ends the client has come to, transaction markers included.
    pub(super) fn came_to(&mut self, ends: impl IntoIterator<Item = (Partition, i64)>) {
        for (partition, end) in ends {
            if let Some(lane) = self.lanes.get_mut(&partition) {
                lane.came_to(end);
            }
        }
    }

    /// Notes where partitions end, and when that was asked.
    pub(super) fn end_at(
        &mut self,
        ends: impl IntoIterator<Item = (Partition, i64)>,
        asked: Instant,
    ) {
        for (partition, end) in ends {
            if let Some(lane) = self.lanes.get_mut(&partition) {
                lane.ends_at(end, asked);
            }
        }
    }

    /// Takes the next batch that may be delivered now, that with the longest-waiting partition first; records that are too old
    /// are passed over.
    pub(super) fn take(&mut self, now: Moment) -> Turn {
        let mut turn = Turn::default();
        let ripe = self.candidates(now.instant).into_iter();
        let ripe = ripe.filter(|candidate| self.is_ripe(candidate, now.instant));
        let since = |candidate: &Candidate| candidate.partitions.first().copied();
        let Some(chosen) = ripe.min_by_key(since) else {
            return turn;
        };
        self.batches = self.batches.wrapping_add(1);
        let together = match self.rules.bisect {
            Bisect::Off => Some(self.batches),
            // What is split is of one partition.
            Bisect::On => None,
        };
        let oldest = self.rules.oldest(now.time);
        let mut room = Load {
            records: self.rules.records,
            bytes: self.rules.bytes,
        };
        let (mut records, mut parts) = (Vec::new(), Vec::new());
        for (_, partition) in chosen.partitions {
            let frame = self.rules.frame_size(partition);
            let Some(bytes) = room.bytes.checked_sub(frame) else {
                break;
            };
            let Some(lane) = self.lanes.get_mut(&partition) else {
                continue;
            };
            let Some(taken) = lane.take(Load { bytes, ..room }, oldest) else {
                continue;
            };
            turn.expired.extend(taken.expired);
            turn.commits
                .extend(taken.commit.map(|next| (partition, next)));
            if let (Some(first), Some(last)) = (taken.records.first(), taken.records.last()) {
                lane.note_batch(together);
                parts.push(Part {
                    partition,
                    first: first.coordinates.offset,
                    last: last.coordinates.offset,
                    records: taken.records.len(),
                    delivery: taken.delivery,
                    epoch: taken.epoch,
                });
                let size: usize = taken.records.iter().map(|record| record.size()).sum();
                room.bytes = bytes.saturating_sub(size);
                room.records = room.records.saturating_sub(taken.records.len());
                records.extend(taken.records);
            }
        }
        parts.sort_unstable_by_key(|part| part.partition);
        if !parts.is_empty() {
            let under_way = self.under_way.entry(chosen.poller).or_default();
            *under_way = under_way.saturating_add(1);
            turn.batch = Some(Batch {
                poller: chosen.poller,
                records,
                parts,
            });
        }
        turn
    }

    /// Returns what may go together, for each poller that may invoke.
    fn candidates(&self, now: Instant) -> Vec<Candidate> {
        // A partition that is delivered again by itself is its own candidate.
        let mut groups: BTreeMap<_, Vec<(Instant, Partition)>> = BTreeMap::new();
        for (partition, lane) in &self.lanes {
            let poller = self.rules.poller_of(*partition);
            if let Some((next, since)) = lane.next(now)
                && self.may_invoke(poller)
            {
                let own = match next {
                    Next::Fresh | Next::Rest(_) => None,
                    Next::Alone => Some(*partition),
                };
                let group = groups.entry((poller, next, own)).or_default();
                group.push((since, *partition));
            }
        }
        let candidate = |((poller, next, _), mut partitions): (_, Vec<_>)| {
            partitions.sort_unstable();
            Candidate {
                poller,
                next,
                partitions,
            }
        };
        groups.into_iter().map(candidate).collect()
    }

    fn may_invoke(&self, poller: PollerNumber) -> bool {
        let under_way = self.under_way.get(&poller).copied().unwrap_or_default();
        under_way < INVOCATIONS_OF_A_POLLER
    }

    /// Tells whether a batch should go: it is full, the window of a partition is over, or it is delivered again.
    fn is_ripe(&self, candidate: &Candidate, now: Instant) -> bool {
        match candidate.next {
            Next::Rest(_) | Next::Alone => return true,
            Next::Fresh => {}
        }
        let (mut records, mut bytes): (usize, usize) = (0, 0);
        for (since, partition) in &candidate.partitions {
            if now.saturating_duration_since(*since) >= self.rules.window {
                return true;
            }
            let waiting = self.lanes.get(partition).map(Lane::waiting);
            let waiting = waiting.unwrap_or_default();
            records = records.saturating_add(waiting.records);
            bytes = bytes
                .saturating_add(waiting.bytes)
                .saturating_add(self.rules.frame_size(*partition));
        }
        records >= self.rules.records || bytes >= self.rules.bytes
    }

    /// Returns when the next batch may become ripe by time alone.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let may_go = self
            .lanes
            .iter()
            .filter(|(partition, _)| self.may_invoke(self.rules.poller_of(**partition)));
        let due = may_go.filter_map(|(_, lane)| lane.due_at(self.rules.window));
        due.min()
    }

    /// Applies what becomes of a batch.
    pub(super) fn finish(
        &mut self,
        batch: &Batch,
        resolution: &Resolution,
        now: Instant,
    ) -> Finished {
        if let Some(under_way) = self.under_way.get_mut(&batch.poller) {
            *under_way = under_way.saturating_sub(1);
        }
        let mut finished = Finished::default();
        for part in &batch.parts {
            let partition = part.partition;
            let Some(lane) = self.lanes.get_mut(&partition) else {
                continue;
            };
            let Some(ending) = lane.finish(part.epoch, resolution, &self.rules, now) else {
                finished.lost.push(partition);
                continue;
            };
            let commit = ending.commit.map(|next| (partition, next));
            finished.commits.extend(commit);
            finished.exhausted.extend(ending.exhausted);
            if let Some((records, until)) = lane.pausing() {
                let pause = until.saturating_duration_since(now);
                finished.again.push((partition, records, pause));
            }
        }
        finished
    }

    /// Says where fetching must stop, since enough is waiting, and where it may go on; each is said once.
    pub(super) fn fetching(&mut self) -> Fetching {
        let mut fetching = Fetching::default();
        for (partition, lane) in &mut self.lanes {
            match lane.change_fetching(&self.rules) {
                Some(Fetch::On) => fetching.resume.push(*partition),
                Some(Fetch::Off) => fetching.pause.push(*partition),
                None => {}
            }
        }
        fetching
    }

    /// Tells whether everything that is known to be there has been read and is done.
    pub(super) fn is_done(&self) -> bool {
        self.lanes.values().all(Lane::is_done)
    }

    /// Returns since when it is known that everything there is has been read and is done; `None` while that is not known.
    pub(super) fn idle_as_of(&self, now: Instant) -> Option<Instant> {
        let assigned = self.lanes.values().filter(|lane| lane.assigned);
        let mut as_of = now;
        for lane in assigned {
            as_of = as_of.min(lane.read_as_of()?);
        }
        self.is_done().then_some(as_of)
    }

    /// Returns what is delivered again after a pause.
    pub(super) fn handed_back(&self) -> Option<HandedBack> {
        let pausing = self.lanes.values().filter_map(Lane::pausing);
        pausing
            .map(|(records, until)| HandedBack { records, until })
            .reduce(|one, other| HandedBack {
                records: one.records.saturating_add(other.records),
                until: one.until.min(other.until),
            })
    }

    /// Returns the head of a partition's queue that has been delivered most often.
    pub(super) fn most_delivered(&self) -> Option<MostDelivered> {
        let heads = self.lanes.iter().filter_map(|(partition, lane)| {
            let (offset, deliveries) = lane.head()?;
            Some(MostDelivered {
                partition: *partition,
                offset,
                deliveries,
            })
        });
        heads.max_by_key(|head| head.deliveries)
    }
}

#[cfg(test)]
mod tests;
