//! What a batch holds of one partition, and what is left of it after the invocation.
//!
//! Sources: AWS Lambda developer guide, "Configuring error handling controls for Kafka event sources"; for what it leaves open,
//! "Configuring partial batch response with Kinesis Data Streams and Lambda" (bisecting) and "Retain discarded batch records for a
//! Kinesis Data Streams event source in Lambda": "Splitting batches doesn't consume the retry quota."

use std::sync::Arc;

use pipeline::Coordinates;

use super::batch::{Resolution, place};
use super::queue::Load;
use super::rules::Rules;
use super::settings::{Bisect, Redelivery};
use crate::event::EventRecord;

/// Records of one partition that are delivered together, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) records: Vec<Arc<EventRecord>>,
    /// How often they have been delivered.
    pub(super) deliveries: u32,
    /// How many of those were retries; a delivery that follows a split is none.
    pub(super) retries: u32,
    /// The batch that it was part of: what is left of that is delivered again together. Absent when it goes alone.
    pub(super) batch: Option<u64>,
}

/// What is left of a piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// What is delivered again, one after the other.
    pub(super) again: Vec<Piece>,
    /// What is not done and not delivered again either.
    pub(super) exhausted: Vec<Coordinates>,
}

impl Piece {
    /// Makes a piece of records that have not been delivered yet.
    pub(super) fn fresh(records: Vec<Arc<EventRecord>>) -> Self {
        Self {
            records,
            deliveries: 0,
            retries: 0,
            batch: None,
        }
    }

    pub(super) fn fits(&self, room: Load) -> bool {
        self.records.len() <= room.records && self.bytes() <= room.bytes
    }

    pub(super) fn bytes(&self) -> usize {
        self.records.iter().map(|record| record.size()).sum()
    }

    /// Says what is left after an invocation that came to this.
    pub(super) fn left(self, resolution: &Resolution, rules: &Rules) -> Left {
        let places = match resolution {
            Resolution::AllDone => return Left::default(),
            Resolution::Failed => return self.left_whole(rules),
            // Neither a function's error nor a try.
            Resolution::NotInvoked => return Left::again([self]),
            Resolution::NotDone(places) => places,
        };
        let listed = |record: &&Arc<EventRecord>| places.contains(&place(record));
        let Some(first) = self.records.iter().position(|record| listed(&record)) else {
            return Left::default();
        };
        if rules.is_exhausted(self.retries) {
            return Left::exhausted(self.records.iter().filter(listed));
        }
        let again = match rules.redelivery {
            Redelivery::Items => self.records.iter().filter(listed).cloned().collect(),
            Redelivery::Resume => self.records.iter().skip(first).cloned().collect(),
        };
        Left::again([self.with(again).retried()])
    }

    fn left_whole(self, rules: &Rules) -> Left {
        let splits = match rules.bisect {
            Bisect::On => self.records.len() > 1,
            Bisect::Off => false,
        };
        if splits {
            let mut first = self.records.clone();
            let second = first.split_off(first.len() / 2);
            Left::again([self.with(first), self.with(second)])
        } else if rules.is_exhausted(self.retries) {
            Left::exhausted(&self.records)
        } else {
            Left::again([self.retried()])
        }
    }

    fn with(&self, records: Vec<Arc<EventRecord>>) -> Self {
        Self { records, ..*self }
    }

    fn retried(self) -> Self {
        Self {
            retries: self.retries.saturating_add(1),
            ..self
        }
    }
}

impl Left {
    fn again(again: impl Into<Vec<Piece>>) -> Self {
        Self {
            again: again.into(),
            exhausted: Vec::new(),
        }
    }

    fn exhausted<'a>(records: impl IntoIterator<Item = &'a Arc<EventRecord>>) -> Self {
        let coordinates = records.into_iter().map(|record| record.coordinates.clone());
        Self {
            again: Vec::new(),
            exhausted: coordinates.collect(),
        }
    }
}

#[cfg(test)]
mod tests;
