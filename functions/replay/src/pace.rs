//! The pace at which dead letters go back.

use std::fmt;
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
    /// Begins to keep a rate.
    pub(crate) fn new(rate: Rate, clock: C) -> Self {
        let ticks = Ticks {
            clock: clock.clone(),
            began: clock.now(),
        };
        let quota = rate.interval().and_then(Quota::with_period);
        Self {
            limiter: quota.map(|quota| {
                RateLimiter::direct_with_clock(quota.allow_burst(rate.burst()), ticks)
            }),
            clock,
        }
    }

    /// Lets one go now, or says when to ask again.
    pub(crate) fn admit(&self) -> Result<(), Timestamp> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        limiter.check().map_err(|refused| {
            let now = self.clock.now();
            let wait = refused.wait_time_from(Ticking::now(limiter.clock()));
            now.plus_millis(whole_millis(wait))
        })
    }
}

/// Rounds up, so that whoever waits does not ask too early.
fn whole_millis(wait: Duration) -> i64 {
    const NANOS: u128 = 1_000_000;
    i64::try_from(wait.as_nanos().div_ceil(NANOS)).unwrap_or(i64::MAX)
}
