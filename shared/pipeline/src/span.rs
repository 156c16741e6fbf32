//! A length of time as it is written in settings and payloads: a whole number and a unit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time above zero, in milliseconds; written `250ms`, `30s`, `5m`, `1h` or `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span(i64);

/// Says that a text is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a duration: a whole number above zero and ms, s, m, h or d, such as 250ms, 30s, 5m, 1h or 7d"
)]
pub struct SpanError(String);

const UNITS: [(&str, i64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

impl Span {
    /// Takes milliseconds above zero.
    pub const fn from_millis(millis: i64) -> Option<Self> {
        if millis > 0 { Some(Self(millis)) } else { None }
    }

    /// Returns milliseconds.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the standard library's type.
    pub fn to_duration(self) -> Duration {
        Duration::from_millis(self.0.unsigned_abs())
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let split = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .and_then(|(_, millis)| number.parse::<i64>().ok()?.checked_mul(*millis))
            .and_then(Self::from_millis)
            .ok_or_else(|| SpanError(text.to_owned()))
    }
}

impl fmt::Display for Span {
    /// Writes the largest unit that leaves a whole number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().rev().find_map(|(name, millis)| {
            let number = self.0.checked_div(*millis)?;
            (self.0.checked_rem(*millis)? == 0).then_some((number, name))
        });
        match whole {
            Some((number, unit)) => write!(f, "{number}{unit}"),
            None => write!(f, "{}ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_comes_back_from_its_text() {
        let check = |text: &str, millis: i64, shown: &str| {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.millis(), span.to_string().as_str()), (millis, shown));
        };
        check("250ms", 250, "250ms");
        check("30s", 30_000, "30s");
        check("90s", 90_000, "90s");
        check("5m", 300_000, "5m");
        check("60m", 3_600_000, "1h");
        check("7d", 604_800_000, "7d");
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in [
            "",
            "s",
            "30",
            "0s",
            "-1s",
            "+1s",
            "1.5s",
            "30 s",
            " 30s",
            "30S",
            "30sec",
            "9223372036854775807d",
            "٣s",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
    }
}
