//! One invocation as its records see it: how long it lasts, and whether it is closing.

use pipeline::Timestamp;
use tokio::sync::watch;

use crate::clock::Clock;
use crate::deadline::Deadline;

/// How long an event of several partitions may wait, in milliseconds, so that one partition does not hold up another.
const SHARED_WAIT_MS: i64 = 60_000;

/// One invocation: its deadline, and a signal that ends it early.
#[derive(Debug)]
pub struct Turn {
    deadline: Deadline,
    wait_until: Timestamp,
    closing: watch::Sender<bool>,
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
