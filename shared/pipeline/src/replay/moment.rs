//! A point in time as an operator writes it: a span ago, or RFC 3339.

use crate::record::Timestamp;
use crate::span::Span;

/// Reads `1h`, `24h` or `7d` as that long before `now`, and anything else as RFC 3339.
pub fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    match text.parse::<Span>() {
        Ok(ago) => Some(now.plus_millis(ago.millis().saturating_neg())),
        Err(_) => Timestamp::from_rfc3339(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);

    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(
            moment(text, NOW).map(Timestamp::millis),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn a_span_is_that_long_ago() {
        check("1h", Some(NOW.millis() - 3_600_000));
        check("24h", Some(NOW.millis() - 86_400_000));
        check("7d", Some(NOW.millis() - 604_800_000));
        check("90s", Some(NOW.millis() - 90_000));
    }

    #[test]
    fn a_time_is_itself() {
        check("2025-08-23T07:12:21.805Z", Some(1_755_933_141_805));
        check("2025-08-23T09:12:21.805+02:00", Some(1_755_933_141_805));
    }

    #[test]
    fn a_span_before_all_time_is_no_overflow() {
        check(
            "106751991167d",
            Some(NOW.millis() - 9_223_372_036_828_800_000),
        );
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "yesterday",
            "0h",
            "-1h",
            "1.5h",
            "1 h",
            "2025-08-23",
            "2025-08-23T07:12:21",
            "1755933141805",
            "99999999999999999999d",
        ] {
            check(text, None);
        }
    }
}
