//! Whether the provider is asked before a payment is charged.

use std::str::FromStr;

use lambda::Attempt;
use pipeline::headers::names;
use pipeline::{Record, Span, Timestamp, digits};

/// When to ask before charging: `ASK_FIRST`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskFirst {
    /// Whenever an earlier charge is possible and its key may be forgotten.
    #[default]
    Unsure,
    /// For every record: the first deployment on a topic with history.
    Always,
}

impl FromStr for AskFirst {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "unsure" => Ok(Self::Unsure),
            "always" => Ok(Self::Always),
            _ => Err("neither `unsure` nor `always`"),
        }
    }
}

/// The rule by which the provider is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The configured choice.
    pub first: AskFirst,
    /// How long the provider is sure to remember an idempotency key.
    pub key_lifetime: Span,
}

impl Asking {
    /// Tells whether this record may have been charged under a key that the provider no longer knows, so that asking comes first.
    pub fn is_needed(&self, record: &Record, attempt: &Attempt, now: Timestamp) -> bool {
        match self.first {
            AskFirst::Always => true,
            AskFirst::Unsure => {
                attempt.on_retry_stage
                    || attempt.suspect
                    || is_replayed(record)
                    || self.is_old(record, now)
            }
        }
    }

    /// Tells whether the older of the record's own time and its origin's is past the key's lifetime; what cannot be read is old.
    fn is_old(&self, record: &Record, now: Timestamp) -> bool {
        let old = |time: Option<Timestamp>| {
            time.and_then(|time| time.plausible(now))
                .is_none_or(|time| now.millis_since(time) > self.key_lifetime.millis())
        };
        old(Some(record.timestamp))
            || (record.headers.last(names::ORIGINAL_TIMESTAMP).is_some() && old(original(record)))
    }
}

fn is_replayed(record: &Record) -> bool {
    record
        .headers
        .iter()
        .any(|header| header.name.starts_with("replay."))
}

fn original(record: &Record) -> Option<Timestamp> {
    let text = record.headers.only_text(names::ORIGINAL_TIMESTAMP)?;
    digits(text)?.parse().ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use pipeline::{Coordinates, Headers, Offset, Partition};

    use super::*;

    const NOW: i64 = 1_755_933_141_855;
    const HOUR: i64 = 3_600_000;

    const FIRST_TRY: Attempt = Attempt {
        on_retry_stage: false,
        suspect: false,
        last_call: Timestamp::from_millis(i64::MAX),
    };

    fn record(timestamp: i64, headers: &[(&str, Option<&str>)]) -> Record {
        let mut list = Headers::default();
        for (name, value) in headers {
            list.push(
                name,
                value.map(|value| Bytes::copy_from_slice(value.as_bytes())),
            );
        }
        Record {
            coordinates: Coordinates {
                topic: "main".parse().unwrap(),
                partition: Partition::new(0).unwrap(),
                offset: Offset::new(0).unwrap(),
            },
            timestamp: Timestamp::from_millis(timestamp),
            key: None,
            value: None,
            headers: list,
        }
    }

    fn is_needed(first: AskFirst, record: &Record, attempt: Attempt) -> bool {
        let asking = Asking {
            first,
            key_lifetime: "23h".parse().unwrap(),
        };
        asking.is_needed(record, &attempt, Timestamp::from_millis(NOW))
    }

    #[track_caller]
    fn check(timestamp: i64, headers: &[(&str, Option<&str>)], expected: bool) {
        let needed = is_needed(AskFirst::Unsure, &record(timestamp, headers), FIRST_TRY);
        assert_eq!(needed, expected, "{timestamp} {headers:?}");
    }

    #[test]
    fn a_young_record_on_its_first_try_is_charged_without_asking() {
        check(NOW, &[], false);
        check(
            NOW,
            &[("traceparent", None), ("retry.count", Some("9"))],
            false,
        );
        assert!(is_needed(AskFirst::Always, &record(NOW, &[]), FIRST_TRY));
    }

    #[test]
    fn every_retry_stage_and_every_suspect_asks_first() {
        for (on_retry_stage, suspect) in [(true, false), (false, true), (true, true)] {
            let attempt = Attempt {
                on_retry_stage,
                suspect,
                ..FIRST_TRY
            };
            assert!(is_needed(AskFirst::Unsure, &record(NOW, &[]), attempt));
        }
    }

    #[test]
    fn a_replayed_record_asks_first_whatever_its_headers_hold() {
        for name in names::REPLAY {
            for value in [None, Some(""), Some("1"), Some("x")] {
                check(NOW, &[(name, value)], true);
            }
        }
    }

    #[test]
    fn a_record_past_the_lifetime_of_its_key_asks_first() {
        check(NOW - 23 * HOUR, &[], false);
        check(NOW - 23 * HOUR - 1, &[], true);
        check(NOW + 5_000, &[], false);
        for unreadable in [-1, 0, i64::MIN, i64::MAX, NOW + 5_001, NOW * 1_000] {
            check(unreadable, &[], true);
        }
    }

    #[test]
    fn the_older_of_own_time_and_original_time_counts() {
        let check = |own: i64, original: &str, expected: bool| {
            check(
                own,
                &[(names::ORIGINAL_TIMESTAMP, Some(original))],
                expected,
            );
        };
        let (young, old) = (NOW - HOUR, NOW - 24 * HOUR);
        check(young, &young.to_string(), false);
        check(young, &old.to_string(), true);
        check(old, &young.to_string(), true);
        check(-1, &young.to_string(), true);
        for unreadable in [
            "",
            "x",
            "-1",
            "0",
            " 1",
            "1.5",
            "1e3",
            "٣",
            "99999999999999999999",
            "2025-08-23T07:12:21.805Z",
        ] {
            check(young, unreadable, true);
        }
        check(young, &(NOW + 5_001).to_string(), true);
    }

    #[test]
    fn an_original_time_that_is_null_or_stands_twice_is_old() {
        let time = (NOW - HOUR).to_string();
        check(NOW, &[(names::ORIGINAL_TIMESTAMP, None)], true);
        let twice = [(names::ORIGINAL_TIMESTAMP, Some(time.as_str())); 2];
        check(NOW, &twice, true);
    }
}
