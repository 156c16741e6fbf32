//! How far a replay has come.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::record::{Coordinates, Offset, Partition};

/// What is left of one partition: from `next` on, before `end`.
///
/// The end is fixed when the run starts; what arrives later is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The first offset that is not done.
    pub next: Offset,
    /// The first offset that is not part of the run.
    pub end: Offset,
}

/// How far a run has come in every partition.
///
/// A partition is done when its position has reached its end, not when a poll came back empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    lanes: BTreeMap<Partition, Lane>,
    /// What is done beyond the first offset that is not: never more than were under way at once.
    done_ahead: BTreeSet<(Partition, Offset)>,
}

impl Progress {
    /// Starts with what there is to read in each partition.
    pub fn new(
        lanes: BTreeMap<Partition, Lane>,
        done_ahead: BTreeSet<(Partition, Offset)>,
    ) -> Self {
        Self { lanes, done_ahead }
    }

    /// Walks over the partitions that are not done.
    pub fn left(&self) -> impl Iterator<Item = (Partition, Lane)> {
        self.lanes
            .iter()
            .filter(|(_, lane)| lane.next < lane.end)
            .map(|(partition, lane)| (*partition, *lane))
    }

    /// Returns the stretch of a partition, done or not.
    pub fn lane(&self, partition: Partition) -> Option<Lane> {
        self.lanes.get(&partition).copied()
    }

    /// Keeps to what the partitions still hold: a range that has expired is passed, one that is gone ends the partition.
    pub fn keep_within(&mut self, held: &BTreeMap<Partition, Lane>) {
        for (partition, lane) in &mut self.lanes {
            let held = held.get(partition);
            lane.next = held.map_or(lane.end, |held| lane.next.max(held.next));
            lane.end = held.map_or(lane.end, |held| lane.end.min(held.end));
        }
    }

    /// Keeps to the stretches that hold these places.
    pub fn keep_to(&mut self, places: &BTreeSet<(Partition, Offset)>) {
        for (partition, lane) in &mut self.lanes {
            let of_partition = places
                .range((*partition, Offset::FIRST)..)
                .take_while(|(other, _)| other == partition)
                .map(|(_, offset)| *offset);
            let (first, last) = (of_partition.clone().next(), of_partition.last());
            let behind_last = last.map(|last| after(last).unwrap_or(lane.end));
            lane.next = first.map_or(lane.end, |first| lane.next.max(first));
            lane.end = behind_last.map_or(lane.end, |behind| lane.end.min(behind));
        }
    }

    /// Walks over what is done beyond the first offset that is not.
    pub fn done_ahead(&self) -> impl Iterator<Item = (Partition, Offset)> {
        self.done_ahead.iter().copied()
    }

    /// Walks over the stretches that a run has passed on its way from here to `after`: what it read there, what was never there, and what is
    /// there no more.
    pub fn passed_until<'a>(
        &'a self,
        after: &'a Self,
    ) -> impl Iterator<Item = (Partition, Range<Offset>)> + 'a {
        self.left().flat_map(move |(partition, lane)| {
            let now = after.lane(partition);
            let behind = now.map_or(lane.end, |now| now.next.min(lane.end));
            let cut_off = now.map_or(lane.end, |now| now.end.max(behind));
            [lane.next..behind, cut_off..lane.end].map(|stretch| (partition, stretch))
        })
    }

    /// Tells whether every partition has reached its end.
    pub fn is_complete(&self) -> bool {
        self.left().next().is_none()
    }

    /// Tells whether this place is still to be looked at.
    pub fn awaits(&self, at: &Coordinates) -> bool {
        self.awaits_place(at.partition, at.offset)
    }

    /// Tells whether this place is still to be looked at.
    pub fn awaits_place(&self, partition: Partition, offset: Offset) -> bool {
        self.lanes
            .get(&partition)
            .is_some_and(|lane| lane.next <= offset && offset < lane.end)
            && !self.done_ahead.contains(&(partition, offset))
    }

    /// Moves on to a position that reading has reached: everything before it is done, or was never there.
    pub fn reach(&mut self, partition: Partition, position: Offset) {
        if let Some(lane) = self.lanes.get_mut(&partition) {
            lane.next = lane.next.max(position);
            let next = lane.next;
            self.done_ahead
                .retain(|(other, offset)| *other != partition || *offset >= next);
        }
    }

    /// Notes of places, in the order in which they were read, which are done and which are not.
    ///
    /// A partition moves up to its first place that is not done; what is done behind that one is kept apart.
    pub fn pass<'a>(&mut self, places: impl IntoIterator<Item = (&'a Coordinates, bool)>) {
        let mut held: BTreeMap<Partition, Offset> = BTreeMap::new();
        let mut passed: BTreeMap<Partition, Offset> = BTreeMap::new();
        for (at, done) in places {
            if !done {
                held.entry(at.partition).or_insert(at.offset);
            } else if held.contains_key(&at.partition) {
                self.done_ahead.insert((at.partition, at.offset));
            } else if let Some(after) = after(at.offset) {
                passed.insert(at.partition, after);
            }
        }
        for (partition, position) in passed.into_iter().chain(held) {
            self.reach(partition, position);
        }
    }
}

/// Returns the offset after this one; `None` after the last there can be.
fn after(offset: Offset) -> Option<Offset> {
    offset.get().checked_add(1).and_then(Offset::new)
}

#[cfg(test)]
mod tests;
