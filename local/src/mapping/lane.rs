//! One partition of a mapping: its queue, and what is delivered again before anything else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pipeline::Offset;
use tokio::time::Instant;

use super::backlog::Limits;
use crate::event::EventRecord;

/// The pause before records are delivered again: the first, and the longest after growing.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A partition that is read by one mapping at a time; an epoch is one time of having it.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) assigned: bool,
    pub(super) at_end: bool,
    epoch: u64,
    waiting: VecDeque<Queued>,
    waiting_bytes: usize,
    /// Delivered before and not done; goes alone, before what waits.
    again: Vec<Arc<EventRecord>>,
    again_at: Instant,
    pause: Option<Duration>,
    delivery: u32,
    running: bool,
    /// The offset after the last record that was taken.
    taken_to: i64,
    committed: i64,
    /// The offset after the last record that was read.
    read_to: i64,
    fetching: Fetch,
}

/// Whether more of a partition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetch {
    On,
    Off,
}

#[derive(Debug)]
struct Queued {
    record: Arc<EventRecord>,
    arrived: Instant,
    /// The offset to go on at once the record is done.
    next: i64,
}

/// What was taken of a lane for a batch.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) records: Vec<Arc<EventRecord>>,
    pub(super) bytes: usize,
    pub(super) epoch: u64,
    pub(super) delivery: u32,
}

impl Lane {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            assigned: false,
            at_end: false,
            epoch: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            again: Vec::new(),
            again_at: now,
            pause: None,
            delivery: 1,
            running: false,
            taken_to: 0,
            committed: 0,
            read_to: 0,
            fetching: Fetch::On,
        }
    }

    pub(super) fn assign(&mut self) {
        self.revoke();
        self.assigned = true;
    }

    /// Forgets everything but that an invocation may still run: a partition has one at a time even when it comes back.
    ///
    /// Returns whether fetching had been stopped.
    pub(super) fn revoke(&mut self) -> bool {
        let stopped = self.fetching == Fetch::Off;
        self.epoch = self.epoch.wrapping_add(1);
        self.assigned = false;
        self.at_end = false;
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.again.clear();
        self.pause = None;
        self.delivery = 1;
        self.taken_to = 0;
        self.committed = 0;
        self.read_to = 0;
        self.fetching = Fetch::On;
        stopped
    }

    /// Tells whether a record is new: one that was read before, which the client may do when fetching goes on, is not queued twice.
    pub(super) fn reads(&mut self, offset: Offset) -> bool {
        let new = offset.get() >= self.read_to;
        if new {
            self.at_end = false;
            self.read_to = after(offset);
        }
        new
    }

    pub(super) fn push(&mut self, record: EventRecord, now: Instant) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(record.size());
        self.waiting.push_back(Queued {
            next: after(record.coordinates.offset),
            record: Arc::new(record),
            arrived: now,
        });
    }

    /// Passes a record over: its offset goes with the record before it, or is returned to be committed when there is none.
    pub(super) fn pass_over(&mut self, offset: Offset) -> Option<i64> {
        let next = after(offset);
        if let Some(last) = self.waiting.back_mut() {
            last.next = next;
            return None;
        }
        self.taken_to = next;
        let in_hand = self.running || !self.again.is_empty();
        (!in_hand).then(|| {
            self.committed = next;
            next
        })
    }

    /// Returns since when the lane has had something that may go in a batch; `None` when it has not.
    pub(super) fn since(&self, now: Instant) -> Option<Instant> {
        if self.running || !self.assigned {
            return None;
        }
        if self.again.is_empty() {
            self.waiting.front().map(|queued| queued.arrived)
        } else {
            (self.again_at <= now).then_some(self.again_at)
        }
    }

    pub(super) fn waiting_records(&self) -> usize {
        if self.again.is_empty() {
            self.waiting.len()
        } else {
            self.again.len()
        }
    }

    pub(super) const fn waiting_bytes(&self) -> usize {
        if self.again.is_empty() {
            self.waiting_bytes
        } else {
            0
        }
    }

    pub(super) fn is_due(&self, window: Duration, now: Instant) -> bool {
        self.due_at(window).is_some_and(|due| due <= now)
    }

    /// Returns when the lane's next batch goes even if it does not fill.
    pub(super) fn due_at(&self, window: Duration) -> Option<Instant> {
        if self.running || !self.assigned {
            None
        } else if self.again.is_empty() {
            self.waiting
                .front()
                .map(|queued| later(queued.arrived, window))
        } else {
            Some(self.again_at)
        }
    }

    /// Takes what fits; a batch that is delivered again is not topped up.
    pub(super) fn take(&mut self, room: Limits) -> Option<Taken> {
        let mut bytes: usize = 0;
        let records: Vec<Arc<EventRecord>> = if self.again.is_empty() {
            let mut records = Vec::new();
            while records.len() < room.records
                && let Some(queued) = self
                    .waiting
                    .pop_front_if(|queued| bytes.saturating_add(queued.record.size()) <= room.bytes)
            {
                bytes = bytes.saturating_add(queued.record.size());
                self.taken_to = queued.next;
                records.push(queued.record);
            }
            self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
            records
        } else {
            bytes = self.again.iter().map(|record| record.size()).sum();
            if self.again.len() > room.records || bytes > room.bytes {
                return None;
            }
            std::mem::take(&mut self.again)
        };
        if records.is_empty() {
            return None;
        }
        self.running = true;
        Some(Taken {
            records,
            bytes,
            epoch: self.epoch,
            delivery: self.delivery,
        })
    }

    /// Notes that the running invocation has ended; tells whether its answer still counts.
    pub(super) fn finish(&mut self, epoch: u64) -> bool {
        self.running = false;
        self.assigned && self.epoch == epoch
    }

    /// Keeps what is delivered again, and returns the offset to commit when it has moved.
    pub(super) fn keep(
        &mut self,
        delivered: &[Arc<EventRecord>],
        left: Vec<Arc<EventRecord>>,
        now: Instant,
    ) -> Option<i64> {
        let progressed = left.len() < delivered.len();
        let (shortest, longest) = PAUSES;
        let next = if let Some(first) = left.first() {
            let pause = match self.pause {
                Some(pause) if !progressed => pause.saturating_mul(2).min(longest),
                Some(_) | None => shortest,
            };
            self.pause = Some(pause);
            self.again_at = later(now, pause);
            first.coordinates.offset.get()
        } else {
            self.pause = None;
            self.taken_to
        };
        let same_first = delivered.first().map(|record| &record.coordinates)
            == left.first().map(|record| &record.coordinates);
        self.delivery = if same_first {
            self.delivery.saturating_add(1)
        } else if left.is_empty() {
            1
        } else {
            2
        };
        self.again = left;
        (next > self.committed && progressed).then(|| {
            self.committed = next;
            next
        })
    }

    /// Returns how many records are delivered again, and after what pause.
    pub(super) fn pausing(&self, now: Instant) -> Option<(usize, Duration)> {
        (!self.again.is_empty()).then(|| {
            (
                self.again.len(),
                self.again_at.saturating_duration_since(now),
            )
        })
    }

    /// Says what fetching must change to, once.
    pub(super) fn change_fetching(&mut self, limits: Limits) -> Option<Fetch> {
        let full = |times: usize| {
            self.waiting.len() >= limits.records.saturating_mul(times)
                || self.waiting_bytes >= limits.bytes.saturating_mul(times)
        };
        // Two batches ahead are enough; below one it goes on.
        let fetch = match self.fetching {
            Fetch::On if full(2) => Fetch::Off,
            Fetch::Off if !full(1) => Fetch::On,
            Fetch::On | Fetch::Off => return None,
        };
        self.assigned.then(|| {
            self.fetching = fetch;
            fetch
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        let nothing_left = self.waiting.is_empty() && self.again.is_empty() && !self.running;
        nothing_left && (self.at_end || !self.assigned)
    }
}

fn after(offset: Offset) -> i64 {
    offset.get().saturating_add(1)
}

fn later(instant: Instant, by: Duration) -> Instant {
    instant.checked_add(by).unwrap_or(instant)
}
