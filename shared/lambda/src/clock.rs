//! The clock as an argument.

use std::time::{Duration, SystemTime};

use pipeline::Timestamp;

/// Tells the time and waits for one.
pub trait Clock: Clone + Send + Sync + 'static {
    /// Returns the time.
    fn now(&self) -> Timestamp;

    /// Waits until `time` is reached; returns at once when it is past.
    fn sleep_until(&self, time: Timestamp) -> impl Future<Output = ()> + Send;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is where the shell reads the clock"
    )]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    /// Sleeps in stretches of at most 10 s and looks at the clock again: a frozen process wakes with its timers late.
    async fn sleep_until(&self, time: Timestamp) {
        loop {
            let left = time.millis_since(self.now());
            if left <= 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left.min(10_000).unsigned_abs())).await;
        }
    }
}
