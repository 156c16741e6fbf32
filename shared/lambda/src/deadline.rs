//! How much time an invocation has, and what must not start in the rest of it.

use std::time::Duration;

use pipeline::Timestamp;

/// The moment at which Lambda ends the invocation, and when it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    at: Timestamp,
    told: Timestamp,
}

impl Deadline {
    /// A header below this many milliseconds is a duration: no Lambda ran before September 2001.
    const LEAST_TIME_MS: u64 = 1_000_000_000_000;

    /// How long before the deadline the answer is given, in milliseconds.
    pub const ANSWER_MS: i64 = 500;

    /// How long before the deadline waiting for a record to be due ends, in milliseconds.
    pub const WAIT_MS: i64 = 1_000;

    /// How long a produce may take after a call, in milliseconds.
    pub const PRODUCE_MS: i64 = 5_000;

    /// Reads the header `lambda-runtime-deadline-ms`: a time, or a duration from now as `cargo lambda watch` sends it.
    pub fn from_header(millis: u64, now: Timestamp) -> Self {
        let number = i64::try_from(millis).unwrap_or(i64::MAX);
        let at = if millis < Self::LEAST_TIME_MS {
            now.plus_millis(number)
        } else {
            Timestamp::from_millis(number)
        };
        Self { at, told: now }
    }

    /// Returns the deadline itself.
    pub const fn at(self) -> Timestamp {
        self.at
    }

    /// Returns how long the invocation had when it began, in milliseconds; negative when its time was over before it began.
    pub const fn whole_ms(self) -> i64 {
        self.at.millis_since(self.told)
    }

    /// Returns when the answer must be given.
    pub const fn answer_by(self) -> Timestamp {
        self.at.plus_millis(-Self::ANSWER_MS)
    }

    /// Returns how long there is until the answer must be given; nothing when that is past.
    pub fn left(self, now: Timestamp) -> Duration {
        let left_ms = self.answer_by().millis_since(now).max(0);
        Duration::from_millis(left_ms.unsigned_abs())
    }

    /// Returns until when waiting for a record to be due is allowed.
    pub const fn wait_until(self) -> Timestamp {
        self.at.plus_millis(-Self::WAIT_MS)
    }

    /// Returns the last moment at which a call of at most `limit_ms` may start, so that its forward can still be produced.
    pub const fn last_call(self, limit_ms: i64) -> Timestamp {
        self.at
            .plus_millis(limit_ms.saturating_neg())
            .plus_millis(-Self::PRODUCE_MS)
    }

    /// Tells whether a call of at most `limit_ms` could start at the very beginning of the invocation.
    ///
    /// When it could not, every invocation would hand everything back for ever: the function's timeout is too short.
    pub const fn admits_any_call(self, limit_ms: i64) -> bool {
        self.last_call(limit_ms).millis_since(self.told) >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);

    fn check(header: u64, expected_left_ms: i64) {
        let deadline = Deadline::from_header(header, NOW);
        assert_eq!(deadline.whole_ms(), expected_left_ms, "{header}");
        assert_eq!(deadline.at(), NOW.plus_millis(expected_left_ms));
        assert_eq!(deadline.at().millis_since(deadline.answer_by()), 500);
        assert_eq!(deadline.at().millis_since(deadline.wait_until()), 1_000);
    }

    #[test]
    fn the_header_is_a_time_as_lambda_sends_it() {
        check(1_755_933_141_855 + 30_000, 30_000);
        check(1_755_933_141_855 + 900_000, 900_000);
    }

    #[test]
    fn a_header_below_ten_to_the_twelfth_is_a_duration_from_now() {
        check(600_000, 600_000);
        check(999_999_999_999, 999_999_999_999);
        check(1_000_000_000_000, 1_000_000_000_000 - NOW.millis());
        check(0, 0);
    }

    #[test]
    fn a_deadline_that_is_over_leaves_no_time() {
        check(1_755_933_141_855 - 10_000, -10_000);
        let deadline = Deadline::from_header(1_755_933_131_855, NOW);
        assert!(!deadline.admits_any_call(0));
    }

    #[test]
    fn numbers_without_bounds_do_no_harm() {
        let deadline = Deadline::from_header(u64::MAX, Timestamp::from_millis(i64::MAX));
        assert_eq!(deadline.at(), Timestamp::from_millis(i64::MAX));
        assert!(deadline.last_call(i64::MIN) > NOW);
        let deadline = Deadline::from_header(0, Timestamp::from_millis(i64::MIN));
        assert!(deadline.last_call(i64::MAX) < NOW);
        assert!(deadline.answer_by() < NOW);
    }

    #[test]
    fn the_last_call_leaves_time_for_the_call_and_the_produce() {
        let deadline = Deadline::from_header(30_000, NOW);
        assert_eq!(deadline.last_call(10_000), NOW.plus_millis(15_000));
        assert_eq!(deadline.last_call(0), NOW.plus_millis(25_000));
    }

    #[test]
    fn a_function_admits_a_call_only_when_its_whole_time_is_long_enough() {
        let admits =
            |whole_ms, limit_ms| Deadline::from_header(whole_ms, NOW).admits_any_call(limit_ms);
        assert!(admits(15_000, 10_000));
        assert!(!admits(14_999, 10_000));
        assert!(admits(5_000, 0));
        assert!(!admits(3_000, 10_000));
    }
}
