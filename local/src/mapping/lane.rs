//! One partition of a mapping: its queue, and what is delivered again before anything else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Coordinates, Offset};
use tokio::time::Instant;

use super::batch::Resolution;
use super::piece::Piece;
use super::queue::{Load, Queue, after};
use super::rules::{Rules, is_too_old};
use crate::event::EventRecord;

/// The pause before records are delivered again: the first, and the longest after growing.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// A partition that is read by one mapping at a time; an epoch is one time of having it.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) assigned: bool,
    at_end: bool,
    /// When something last happened to it.
    touched: Instant,
    /// Where the partition ends, and when that was asked.
    end: Option<(Instant, i64)>,
    /// The last end that the client came to, transaction markers included.
    came_to: Option<i64>,
    epoch: u64,
    waiting: Queue,
    /// Delivered before and not done; goes before what waits, one piece after the other.
    again: VecDeque<Piece>,
    again_at: Instant,
    pause: Option<Duration>,
    running: Option<Running>,
    /// The offset after the last record that was taken.
    taken_to: i64,
    committed: i64,
    /// The offset after the last record that was read; at first where reading begins.
    read_to: i64,
    fetching: Fetch,
}

/// Whether more of a partition is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fetch {
    On,
    Off,
}

/// What may go next, and with what else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Next {
    /// Records that have not been delivered yet.
    Fresh,
    /// What is left of this batch.
    Rest(u64),
    /// Records that are delivered again by themselves.
    Alone,
}

#[derive(Debug)]
struct Running {
    epoch: u64,
    piece: Piece,
}

/// What was taken of a lane for a batch.
#[derive(Debug)]
pub(super) struct Taken {
    /// Nothing when all of it was too old.
    pub(super) records: Vec<Arc<EventRecord>>,
    pub(super) epoch: u64,
    pub(super) delivery: u32,
    pub(super) expired: Vec<Coordinates>,
    /// The offset to commit when nothing is left in hand.
    pub(super) commit: Option<i64>,
}

/// What becomes of what was taken.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) commit: Option<i64>,
    pub(super) exhausted: Vec<Coordinates>,
}

impl Lane {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            assigned: false,
            at_end: false,
            touched: now,
            end: None,
            came_to: None,
            epoch: 0,
            waiting: Queue::default(),
            again: VecDeque::new(),
            again_at: now,
            pause: None,
            running: None,
            taken_to: 0,
            committed: 0,
            read_to: 0,
            fetching: Fetch::On,
        }
    }

    pub(super) fn assign(&mut self, from: i64, now: Instant) {
        self.revoke();
        self.assigned = true;
        self.read_to = from;
        self.touched = now;
    }

    /// Forgets everything but that an invocation may still run: a partition has one at a time even when it comes back.
    ///
    /// Returns whether fetching had been stopped.
    pub(super) fn revoke(&mut self) -> bool {
        let before = std::mem::replace(self, Self::new(self.again_at));
        self.epoch = before.epoch.wrapping_add(1);
        self.running = before.running;
        before.fetching == Fetch::Off
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

    /// Notes that everything there is has been read.
    pub(super) fn at_end(&mut self) {
        self.at_end = true;
    }

    /// Notes which end the client has come to.
    pub(super) fn came_to(&mut self, end: i64) {
        self.came_to = Some(end);
    }

    /// Notes where the partition ends.
    pub(super) fn ends_at(&mut self, end: i64, asked: Instant) {
        self.end = Some((asked, end));
    }

    pub(super) fn push(&mut self, record: EventRecord, now: Instant) {
        self.touched = now;
        self.waiting.push(record, now);
    }

    /// Passes a record over: its offset goes with the record before it, or is returned to be committed when there is none.
    pub(super) fn pass_over(&mut self, offset: Offset) -> Option<i64> {
        self.taken_to = self.waiting.pass_over(offset)?;
        self.commit_when_nothing_runs()
    }

    /// Returns what may go now, and since when; `None` when nothing may.
    pub(super) fn next(&self, now: Instant) -> Option<(Next, Instant)> {
        if self.is_busy() {
            return None;
        }
        match self.again.front() {
            None => Some((Next::Fresh, self.waiting.since()?)),
            Some(_) if self.again_at > now => None,
            Some(piece) => Some((piece.batch.map_or(Next::Alone, Next::Rest), self.again_at)),
        }
    }

    /// Returns what waits for its first delivery.
    pub(super) fn waiting(&self) -> Load {
        self.waiting.load()
    }

    /// Returns when the lane's next batch goes even if it does not fill.
    pub(super) fn due_at(&self, window: Duration) -> Option<Instant> {
        if self.is_busy() {
            None
        } else if self.again.is_empty() {
            Some(later(self.waiting.since()?, window))
        } else {
            Some(self.again_at)
        }
    }

    /// Takes what fits, without what is older than `oldest`; a piece that is delivered again is not topped up.
    ///
    /// Returns `None` when there is no room for the first of it.
    pub(super) fn take(&mut self, room: Load, oldest: Option<i64>) -> Option<Taken> {
        let (piece, expired) = match self.again.pop_front() {
            Some(piece) if !piece.fits(room) => {
                self.again.push_front(piece);
                return None;
            }
            Some(piece) => {
                let (expired, records) = piece
                    .records
                    .into_iter()
                    .partition(|record| is_too_old(record, oldest));
                (Piece { records, ..piece }, coordinates(&expired))
            }
            None => {
                let taken = self.waiting.take(room, oldest);
                self.taken_to = taken.next?;
                (Piece::fresh(taken.records), taken.expired)
            }
        };
        let records = piece.records.clone();
        let delivery = piece.deliveries.saturating_add(1);
        let commit = if records.is_empty() {
            self.commit_when_nothing_runs()
        } else {
            let piece = Piece {
                deliveries: delivery,
                ..piece
            };
            let epoch = self.epoch;
            self.running = Some(Running { epoch, piece });
            None
        };
        Some(Taken {
            records,
            epoch: self.epoch,
            delivery,
            expired,
            commit,
        })
    }

    /// Notes of which batch the part that runs is; what is left of it goes alone when that is none.
    pub(super) fn note_batch(&mut self, batch: Option<u64>) {
        if let Some(running) = &mut self.running {
            running.piece.batch = batch;
        }
    }

    /// Notes that the running invocation has ended; `None` when its answer does not count any more.
    pub(super) fn finish(
        &mut self,
        epoch: u64,
        resolution: &Resolution,
        rules: &Rules,
        now: Instant,
    ) -> Option<Ending> {
        let Running { piece, .. } = self.running.take()?;
        self.touched = now;
        if !self.assigned || epoch != self.epoch {
            return None;
        }
        let delivered = piece.records.len();
        let left = piece.left(resolution, rules);
        let remaining: usize = left.again.iter().map(|piece| piece.records.len()).sum();
        let progressed = remaining < delivered;
        let (shortest, longest) = PAUSES;
        self.pause = match self.pause {
            _ if remaining == 0 => None,
            Some(pause) if !progressed => Some(pause.saturating_mul(2).min(longest)),
            Some(_) | None => Some(shortest),
        };
        self.again_at = later(now, self.pause.unwrap_or_default());
        for piece in left.again.into_iter().rev() {
            self.again.push_front(piece);
        }
        Some(Ending {
            commit: if progressed { self.commit() } else { None },
            exhausted: left.exhausted,
        })
    }

    /// Returns the offset to commit when it has moved: that of the first record that is not done.
    fn commit(&mut self) -> Option<i64> {
        let first = self.again.front().and_then(|piece| piece.records.first());
        let next = first.map_or(self.taken_to, |record| record.coordinates.offset.get());
        (next > self.committed).then(|| {
            self.committed = next;
            next
        })
    }

    fn commit_when_nothing_runs(&mut self) -> Option<i64> {
        // What still runs of an earlier epoch will commit nothing.
        let running = self.running.as_ref();
        if running.is_some_and(|running| running.epoch == self.epoch) {
            None
        } else {
            self.commit()
        }
    }

    /// Returns how many records are delivered again, and when the first of them.
    pub(super) fn pausing(&self) -> Option<(usize, Instant)> {
        let records = self.again.iter().map(|piece| piece.records.len()).sum();
        (records > 0).then_some((records, self.again_at))
    }

    /// Returns the record that keeps the partition where it is, and how often it has been delivered.
    pub(super) fn head(&self) -> Option<(Offset, u32)> {
        let piece = match &self.running {
            Some(running) => &running.piece,
            None => self.again.front()?,
        };
        let first = piece.records.first().filter(|_| self.assigned)?;
        Some((first.coordinates.offset, piece.deliveries))
    }

    /// Says what fetching must change to, once.
    pub(super) fn change_fetching(&mut self, rules: &Rules) -> Option<Fetch> {
        // Two batches ahead are enough; below one it goes on.
        let fetch = match self.fetching {
            Fetch::On if self.waiting.fills(2, rules) => Fetch::Off,
            Fetch::Off if !self.waiting.fills(1, rules) => Fetch::On,
            Fetch::On | Fetch::Off => return None,
        };
        self.assigned.then(|| {
            self.fetching = fetch;
            fetch
        })
    }

    /// Tells whether nothing is left to do of what is known.
    pub(super) fn is_done(&self) -> bool {
        let nothing_waits = self.waiting.is_empty() && self.again.is_empty();
        nothing_waits && self.running.is_none() && (self.at_end || !self.assigned)
    }

    /// Returns when the end was asked for that all of it has been read to; `None` unless that was after anything happened to it.
    pub(super) fn read_as_of(&self) -> Option<Instant> {
        let (asked, end) = self.end?;
        // Behind the last record there may be transaction markers, which only the client sees.
        let there = end == self.read_to || self.came_to == Some(end);
        (there && asked > self.touched).then_some(asked)
    }

    fn is_busy(&self) -> bool {
        self.running.is_some() || !self.assigned
    }
}

fn coordinates(records: &[Arc<EventRecord>]) -> Vec<Coordinates> {
    records
        .iter()
        .map(|record| record.coordinates.clone())
        .collect()
}

fn later(instant: Instant, by: Duration) -> Instant {
    instant.checked_add(by).unwrap_or(instant)
}
