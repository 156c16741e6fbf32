//! One invocation as its records see it: how long it lasts, and whether it is closing.

use std::sync::{Mutex, PoisonError};

use pipeline::Timestamp;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::deadline::Deadline;
use crate::metrics::{Count, Measured, Time};

/// How long an event of several partitions may wait, in milliseconds, so that one partition does not hold up another.
const SHARED_WAIT_MS: i64 = 60_000;

/// One invocation: its deadline, and a signal that ends it early.
#[derive(Debug)]
pub struct Turn {
    deadline: Deadline,
    wait_until: Timestamp,
    closing: watch::Sender<bool>,
    measured: Mutex<Measured>,
}

/// How a wait for a time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The time has come.
    Due,
    /// The invocation may wait no longer.
    TooLong,
    /// The invocation is closing.
    Closing,
}

impl Turn {
    /// Starts an invocation whose event holds so many partitions.
    pub fn new(deadline: Deadline, now: Timestamp, partitions: usize) -> Self {
        let wait_until = if partitions > 1 {
            deadline.wait_until().min(now.plus_millis(SHARED_WAIT_MS))
        } else {
            deadline.wait_until()
        };
        Self {
            deadline,
            wait_until,
            closing: watch::Sender::new(false),
            measured: Mutex::default(),
        }
    }

    /// Returns the deadline.
    pub const fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    /// Ends the invocation early: what has not started is handed back.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Tells whether the invocation is closing.
    pub fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Counts one more.
    pub fn count(&self, what: Count) {
        self.measuring(|measured| measured.count(what, 1));
    }

    /// Measures how long something took, in milliseconds.
    pub fn time(&self, what: Time, ms: i64) {
        self.measuring(|measured| measured.time(what, ms));
    }

    /// Measures how late a record's turn comes that was due at `due`, which is its own time where nothing delays it; a time that
    /// cannot be believed says nothing.
    pub fn late(&self, due: Timestamp, now: Timestamp) {
        if let Some(due) = due.plausible(now) {
            self.time(Time::Lateness, now.millis_since(due).max(0));
        }
    }

    /// Returns what was counted and measured since it was last asked.
    pub(crate) fn measured(&self) -> Measured {
        self.measuring(std::mem::take)
    }

    fn measuring<T>(&self, measure: impl FnOnce(&mut Measured) -> T) -> T {
        measure(&mut self.measured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `time`, as far as this invocation may wait.
    pub async fn wait<C: Clock>(&self, clock: &C, time: Timestamp) -> Waited {
        if self.is_closing() {
            return Waited::Closing;
        }
        if time <= clock.now() {
            return Waited::Due;
        }
        let mut closing = self.closing.subscribe();
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => Waited::Closing,
            () = clock.sleep_until(time.min(self.wait_until)) => {
                if time <= self.wait_until { Waited::Due } else { Waited::TooLong }
            }
        }
    }
}
