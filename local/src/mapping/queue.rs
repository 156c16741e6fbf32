//! Records of one partition that wait for their first delivery.

use std::collections::VecDeque;
use std::sync::Arc;

use pipeline::{Coordinates, Offset};
use tokio::time::Instant;

use super::rules::{Rules, is_too_old};
use crate::event::EventRecord;

/// Records in the order of their offsets.
#[derive(Debug, Default)]
pub(super) struct Queue {
    records: VecDeque<Queued>,
    bytes: usize,
}

#[derive(Debug)]
struct Queued {
    record: Arc<EventRecord>,
    arrived: Instant,
    /// The offset to go on at once the record is done.
    next: i64,
}

/// So many records and bytes: what waits, or what a batch has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) records: usize,
    pub(super) bytes: usize,
}

/// What was taken of a queue.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) records: Vec<Arc<EventRecord>>,
    /// What was too old to be taken.
    pub(super) expired: Vec<Coordinates>,
    /// The offset to go on at once all of it is done; absent when nothing was taken.
    pub(super) next: Option<i64>,
}

impl Queue {
    pub(super) fn push(&mut self, record: EventRecord, now: Instant) {
        self.bytes = self.bytes.saturating_add(record.size());
        self.records.push_back(Queued {
            next: after(record.coordinates.offset),
            record: Arc::new(record),
            arrived: now,
        });
    }

    /// Lets the offset of a record that is passed over go with the last one that waits; returns it when none does.
    pub(super) fn pass_over(&mut self, offset: Offset) -> Option<i64> {
        let next = after(offset);
        match self.records.back_mut() {
            Some(last) => {
                last.next = next;
                None
            }
            None => Some(next),
        }
    }

    /// Returns since when the first record has been waiting.
    pub(super) fn since(&self) -> Option<Instant> {
        self.records.front().map(|queued| queued.arrived)
    }

    pub(super) fn load(&self) -> Load {
        Load {
            records: self.records.len(),
            bytes: self.bytes,
        }
    }

    /// Tells whether so many batches wait.
    pub(super) fn fills(&self, batches: usize, rules: &Rules) -> bool {
        self.records.len() >= rules.records.saturating_mul(batches)
            || self.bytes >= rules.bytes.saturating_mul(batches)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Takes what there is room for, without what is older than `oldest`.
    pub(super) fn take(&mut self, room: Load, oldest: Option<i64>) -> Taken {
        let mut taken = Taken::default();
        let mut bytes: usize = 0;
        while let Some(queued) = self.records.pop_front_if(|queued| {
            let fits = taken.records.len() < room.records
                && bytes.saturating_add(queued.record.size()) <= room.bytes;
            fits || is_too_old(&queued.record, oldest)
        }) {
            let Queued { record, next, .. } = queued;
            self.bytes = self.bytes.saturating_sub(record.size());
            taken.next = Some(next);
            if is_too_old(&record, oldest) {
                taken.expired.push(record.coordinates.clone());
            } else {
                bytes = bytes.saturating_add(record.size());
                taken.records.push(record);
            }
        }
        taken
    }
}

pub(super) fn after(offset: Offset) -> i64 {
    offset.get().saturating_add(1)
}
