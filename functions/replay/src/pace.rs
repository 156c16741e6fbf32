//! The pace at which dead letters go back.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock as Ticking;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use lambda::Clock;
use pipeline::Timestamp;
use pipeline::replay::Rate;

type Limiter<C> = RateLimiter<NotKeyed, InMemoryState, Ticks<C>, NoOpMiddleware<Duration>>;

/// Says of each dead letter when it may go.
pub(crate) struct Pace<C: Clock> {
    limiter: Option<Limiter<C>>,
    clock: C,
    /// The first moment at which one may go: an earlier invocation of the run has sent one shortly before.
    not_before: Option<Timestamp>,
    /// When the one after the last may go.
    next: Mutex<Option<Timestamp>>,
    interval_ms: i64,
}

/// Our clock as the limiter reads it: time since the pace began.
struct Ticks<C> {
    clock: C,
    began: Timestamp,
}

impl<C: Clock> Ticking for Ticks<C> {
    type Instant = Duration;

    fn now(&self) -> Duration {
        let passed = self.clock.now().millis_since(self.began);
        Duration::from_millis(u64::try_from(passed).unwrap_or_default())
    }
}

impl<C: Clock> fmt::Debug for Pace<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace")
            .field("limited", &self.limiter.is_some())
            .finish_non_exhaustive()
    }
}

impl<C: Clock> Pace<C> {
    /// Begins to keep a rate, or goes on with it where an earlier invocation says when the next may go.
    pub(crate) fn new(rate: Rate, clock: C, not_before: Option<Timestamp>) -> Self {
        let now = clock.now();
        let ticks = Ticks {
            clock: clock.clone(),
            began: now,
        };
        let interval = rate.interval();
        let quota = interval.and_then(Quota::with_period);
        let interval_ms = interval.map_or(0, whole_millis);
        // However far a clock is off, and whatever the rate was: at this rate it is never longer than that.
        let soonest = |time: Timestamp| time.min(now.plus_millis(interval_ms));
        let not_before = not_before.map(soonest);
        Self {
            limiter: quota.map(|quota| {
                RateLimiter::direct_with_clock(quota.allow_burst(rate.burst()), ticks)
            }),
            clock,
            not_before,
            next: Mutex::new(not_before),
            interval_ms,
        }
    }

    /// Lets one go now, or says when to ask again.
    pub(crate) fn admit(&self) -> Result<(), Timestamp> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        let now = self.clock.now();
        if let Some(time) = self.not_before.filter(|time| *time > now) {
            return Err(time);
        }
        limiter.check().map_err(|refused| {
            let wait = refused.wait_time_from(Ticking::now(limiter.clock()));
            now.plus_millis(whole_millis(wait))
        })?;
        let next = Some(now.plus_millis(self.interval_ms));
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    /// Returns when the next may go, for the next invocation to keep to.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rounds up, so that whoever waits does not ask too early.
fn whole_millis(wait: Duration) -> i64 {
    const NANOS: u128 = 1_000_000;
    i64::try_from(wait.as_nanos().div_ceil(NANOS)).unwrap_or(i64::MAX)
}
