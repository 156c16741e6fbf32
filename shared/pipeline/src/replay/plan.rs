//! A plan: exactly the dead letters that a dry run saw, so that a real run sends back those and no others.
//!
//! A short plan is one object. A long one is written in parts, and the object `plan.json` names them with their hashes, so that its own
//! hash stands for all.

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::record::{Coordinates, Offset, Partition, Record, Timestamp, Topic};
use crate::replay::fingerprint::{Fingerprint, is_sha256};
use crate::replay::progress::{Lane, Progress};
use crate::replay::token::is_id;

pub use file::{PlanFile, PlanFileError, PlanHead, PlanPart, read_part, write_part};

/// What a dry run answers for its plan: the run's id and the SHA-256 of `plan.json`, written `<id>@<sha256>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanName {
    replay_id: String,
    sha256: String,
}

/// A dead letter as the dry run saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its partition.
    pub partition: Partition,
    /// Its offset.
    pub offset: Offset,
    /// When it died.
    pub time: Timestamp,
    /// The bytes of its value.
    pub bytes: u64,
    /// What it holds.
    pub fingerprint: Fingerprint,
}

/// The dead letters of a plan, in memory: some 50 bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In the order of partitions and offsets.
    planned: Vec<Planned>,
}

impl PlanName {
    /// Names the plan of a run by the hash of its object.
    pub fn new(replay_id: &str, sha256: &str) -> Option<Self> {
        (is_id(replay_id) && is_sha256(sha256)).then(|| Self {
            replay_id: replay_id.to_owned(),
            sha256: sha256.to_owned(),
        })
    }

    /// Returns the id of the dry run.
    pub fn replay_id(&self) -> &str {
        &self.replay_id
    }

    /// Returns the SHA-256 of the object `plan.json`.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl fmt::Display for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.replay_id, self.sha256)
    }
}

/// Says that a text is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a plan is <replay_id>@<sha256>, as a dry run answers it")]
pub struct PlanNameError;

impl FromStr for PlanName {
    type Err = PlanNameError;

    fn from_str(text: &str) -> Result<Self, PlanNameError> {
        let (replay_id, sha256) = text.split_once('@').ok_or(PlanNameError)?;
        Self::new(replay_id, sha256).ok_or(PlanNameError)
    }
}

impl Planned {
    /// Takes down a dead letter.
    pub fn of(record: &Record) -> Self {
        let bytes = record.value.as_ref().map_or(0, bytes::Bytes::len);
        Self {
            partition: record.coordinates.partition,
            offset: record.coordinates.offset,
            time: record.timestamp,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            fingerprint: Fingerprint::of(record),
        }
    }

    /// Tells whether a record at its place is still the one that was seen.
    pub fn is(&self, record: &Record) -> bool {
        self.time == record.timestamp && self.fingerprint == Fingerprint::of(record)
    }

    /// Returns where it is in this topic.
    pub fn at(&self, topic: &Topic) -> Coordinates {
        Coordinates {
            topic: topic.clone(),
            partition: self.partition,
            offset: self.offset,
        }
    }

    const fn place(&self) -> (Partition, Offset) {
        (self.partition, self.offset)
    }
}

impl Plan {
    /// Takes the dead letters of a plan.
    pub fn new(mut planned: Vec<Planned>) -> Self {
        planned.sort_unstable_by_key(Planned::place);
        planned.dedup_by_key(|planned| planned.place());
        Self { planned }
    }

    /// Returns what was planned for a place.
    pub fn get(&self, partition: Partition, offset: Offset) -> Option<&Planned> {
        let found = self
            .planned
            .binary_search_by_key(&(partition, offset), Planned::place);
        self.planned.get(found.ok()?)
    }

    /// Returns the stretch of each partition that holds the plan.
    pub fn lanes(&self) -> BTreeMap<Partition, Lane> {
        let mut lanes: BTreeMap<Partition, Lane> = BTreeMap::new();
        for planned in &self.planned {
            let end = planned.offset.get().checked_add(1).and_then(Offset::new);
            let end = end.unwrap_or(planned.offset);
            lanes
                .entry(planned.partition)
                .and_modify(|lane| lane.end = end)
                .or_insert(Lane {
                    next: planned.offset,
                    end,
                });
        }
        lanes
    }

    /// Walks over what was planned and lies where a run has come from `before` to `after`, unless it was done ahead.
    ///
    /// What of it was not read is there no more.
    pub fn passed<'a>(
        &'a self,
        before: &'a Progress,
        after: &'a Progress,
    ) -> impl Iterator<Item = &'a Planned> {
        let passed = before.passed_until(after);
        let planned = passed.flat_map(move |(partition, stretch)| {
            self.stretch(partition, stretch.start, stretch.end)
        });
        planned.filter(move |planned| before.awaits_place(planned.partition, planned.offset))
    }

    /// Returns what is planned of a partition from one offset on, before another.
    fn stretch(&self, partition: Partition, from: Offset, to: Offset) -> &[Planned] {
        let place = |offset| {
            self.planned
                .partition_point(|planned| planned.place() < (partition, offset))
        };
        let (first, behind) = (place(from), place(to));
        self.planned.get(first..behind).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
