//! How fast dead letters may go back.

use std::num::NonZeroU32;
use std::time::Duration;

/// A rate in records a second, fractions included; the default of 100 leaves live payments their room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    per_second: f64,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_second: 100.0 }
    }
}

impl Rate {
    /// The share of a second's worth that may go at once: a tenth, far below the second that is allowed.
    const BURST: Duration = Duration::from_millis(100);

    /// The longest pause between two records that is told apart from an even longer one.
    const LONGEST: Duration = Duration::from_hours(24);

    /// Takes a rate from 0 on; 0 sets no limit.
    pub fn per_second(rate: f64) -> Option<Self> {
        (rate.is_finite() && rate >= 0.0).then_some(Self { per_second: rate })
    }

    /// Returns the records a second, 0 for no limit.
    pub const fn get(self) -> f64 {
        self.per_second
    }

    /// Returns the time from one record to the next; `None` when there is no limit, or none that a clock could tell.
    pub fn interval(self) -> Option<Duration> {
        if self.per_second == 0.0 {
            return None;
        }
        let interval =
            Duration::try_from_secs_f64(self.per_second.recip()).unwrap_or(Self::LONGEST);
        (interval > Duration::ZERO).then_some(interval.min(Self::LONGEST))
    }

    /// Returns how many records may go at once after a pause: at least one, never more than a second's worth.
    pub fn burst(self) -> NonZeroU32 {
        self.interval()
            .and_then(|interval| Self::BURST.as_nanos().checked_div(interval.as_nanos()))
            .and_then(|worth| NonZeroU32::new(u32::try_from(worth).unwrap_or(u32::MAX)))
            .unwrap_or(NonZeroU32::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rate: f64, interval: Option<Duration>, burst: u32) {
        let rate = Rate::per_second(rate).unwrap();
        assert_eq!((rate.interval(), rate.burst().get()), (interval, burst));
    }

    #[test]
    fn a_rate_has_its_interval_and_at_most_a_second_s_worth_at_once() {
        check(100.0, Some(Duration::from_millis(10)), 10);
        check(1.0, Some(Duration::from_secs(1)), 1);
        check(0.5, Some(Duration::from_secs(2)), 1);
        check(2.5, Some(Duration::from_millis(400)), 1);
        check(1_000.0, Some(Duration::from_millis(1)), 100);
    }

    #[test]
    fn nought_and_what_no_clock_can_tell_is_no_limit() {
        check(0.0, None, 1);
        check(-0.0, None, 1);
        check(f64::MAX, None, 1);
    }

    #[test]
    fn a_rate_next_to_nothing_is_one_a_day() {
        check(f64::MIN_POSITIVE, Some(Rate::LONGEST), 1);
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for rate in [-1.0, -0.001, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Rate::per_second(rate), None, "{rate}");
        }
    }
}
