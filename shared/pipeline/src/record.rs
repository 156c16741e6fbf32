//! A Kafka record and the nouns that name where and when it is.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;

use crate::headers::Headers;

/// A record as it was read from a topic; key and value are exactly the bytes that Kafka holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it was read.
    pub coordinates: Coordinates,
    /// The record's own time; [`Timestamp::NONE`] when it has none.
    pub timestamp: Timestamp,
    /// The key: `None` is Kafka's null and has no order, `Some` of no bytes is a key like any other.
    pub key: Option<Bytes>,
    /// The value: `None` is a tombstone.
    pub value: Option<Bytes>,
    /// All headers in the order in which they came.
    pub headers: Headers,
}

/// Topic, partition and offset: one place in Kafka.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Coordinates {
    /// The topic.
    pub topic: Topic,
    /// The partition of the topic.
    pub partition: Partition,
    /// The offset in the partition.
    pub offset: Offset,
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.topic, self.partition, self.offset)
    }
}

/// Names what is wrong with a topic, partition, offset or coordinates given as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Kafka refuses the name.
    #[error("topic name {0:?} is not 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'")]
    Topic(String),
    /// Not a whole number from 0 to 2³¹−1.
    #[error("partition {0:?} is not a whole number from 0 to 2147483647")]
    Partition(String),
    /// Not a whole number from 0 to 2⁶³−1.
    #[error("offset {0:?} is not a whole number from 0 to 9223372036854775807")]
    Offset(String),
    /// Not of the form `topic/partition/offset`.
    #[error("{0:?} is not of the form topic/partition/offset")]
    Coordinates(String),
}

impl FromStr for Coordinates {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let mut parts = text.split('/');
        let (Some(topic), Some(partition), Some(offset), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PlaceError::Coordinates(text.to_owned()));
        };
        Ok(Self {
            topic: topic.parse()?,
            partition: partition.parse()?,
            offset: offset.parse()?,
        })
    }
}

/// A legal Kafka topic name; cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Topic(Arc<str>);

impl Topic {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Topic {
    type Err = PlaceError;

    /// Takes what Kafka's own `Topic.validate` takes: 1 to 249 letters, digits, `.`, `_`, `-`, and neither `.` nor `..`.
    fn from_str(name: &str) -> Result<Self, PlaceError> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if (1..=249).contains(&name.len()) && name.bytes().all(legal) && name != "." && name != ".."
        {
            Ok(Self(name.into()))
        } else {
            Err(PlaceError::Topic(name.to_owned()))
        }
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A partition's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(i32);

/// An offset in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset(i64);

impl Partition {
    /// The partition that every topic has.
    pub const FIRST: Self = Self(0);

    /// Takes a number from 0 on.
    pub const fn new(number: i32) -> Option<Self> {
        if number < 0 { None } else { Some(Self(number)) }
    }

    /// Returns the number.
    pub const fn get(self) -> i32 {
        self.0
    }
}

impl Offset {
    /// The offset of a partition's first record.
    pub const FIRST: Self = Self(0);

    /// Takes a number from 0 on.
    pub const fn new(number: i64) -> Option<Self> {
        if number < 0 { None } else { Some(Self(number)) }
    }

    /// Returns the number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl FromStr for Partition {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        digits(text)
            .and_then(|digits| digits.parse().ok())
            .map(Self)
            .ok_or_else(|| PlaceError::Partition(text.to_owned()))
    }
}

impl FromStr for Offset {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        digits(text)
            .and_then(|digits| digits.parse().ok())
            .map(Self)
            .ok_or_else(|| PlaceError::Offset(text.to_owned()))
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Passes text of decimal digits alone: Rust's own parser takes a plus sign too.
pub fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// A time in milliseconds since 1970-01-01T00:00:00Z, as Kafka keeps it; any number can stand in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Kafka's "no timestamp".
    pub const NONE: Self = Self(-1);

    /// How far ahead of our clock a time may be before it counts as none, in milliseconds.
    pub const TOLERATED_AHEAD_MS: i64 = 5_000;

    /// Takes milliseconds since the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Returns the time when it can be believed: above zero and at most 5 s ahead of `now`.
    pub const fn plausible(self, now: Self) -> Option<Self> {
        if self.0 > 0 && self.0 <= now.0.saturating_add(Self::TOLERATED_AHEAD_MS) {
            Some(self)
        } else {
            None
        }
    }

    /// Returns the time `millis` later, at most the largest there is.
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Returns how many milliseconds lie between `earlier` and this time; negative when `earlier` is the later one.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time as RFC 3339 in UTC with milliseconds and `Z`; `None` before year 0 and after 9999.
    pub fn to_rfc3339(self) -> Option<String> {
        jiff::Timestamp::from_millisecond(self.0)
            .ok()
            .filter(|time| time.as_millisecond() >= -62_167_219_200_000)
            .map(|time| format!("{time:.3}"))
    }

    /// Reads an RFC 3339 time with any offset, cut to milliseconds.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(|time| Self(time.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_come_back_from_their_text() {
        let coordinates: Coordinates = "some.topic-3/7/123".parse().unwrap();
        assert_eq!(coordinates.partition.get(), 7);
        assert_eq!(coordinates.offset.get(), 123);
        assert_eq!(coordinates.to_string().parse(), Ok(coordinates));
    }

    #[test]
    fn coordinates_that_are_none_are_refused() {
        for text in [
            "",
            "t/1",
            "t/1/2/3",
            "t/-1/2",
            "t/1/-2",
            "t/+1/2",
            "t/1/ 2",
            "/1/2",
            "a b/1/2",
            "../1/2",
            "t/2147483648/0",
        ] {
            assert!(text.parse::<Coordinates>().is_err(), "{text}");
        }
        assert!("x".repeat(250).parse::<Topic>().is_err());
        assert!("x".repeat(249).parse::<Topic>().is_ok());
    }

    #[test]
    fn only_a_time_that_can_be_believed_is_plausible() {
        let now = Timestamp::from_millis(1_755_933_141_855);
        let check = |millis: i64, expected: bool| {
            assert_eq!(
                Timestamp::from_millis(millis).plausible(now).is_some(),
                expected,
                "{millis}"
            );
        };
        check(i64::MIN, false);
        check(-1, false);
        check(0, false);
        check(1, true);
        check(now.millis(), true);
        check(now.millis() + 5_000, true);
        check(now.millis() + 5_001, false);
        check(1_755_933_141_855_875, false);
        check(i64::MAX, false);
    }

    #[test]
    fn a_time_comes_back_from_its_text() {
        let time = Timestamp::from_millis(1_755_933_141_805);
        assert_eq!(
            time.to_rfc3339().as_deref(),
            Some("2025-08-23T07:12:21.805Z")
        );
        assert_eq!(
            Timestamp::from_rfc3339("2025-08-23T07:12:21.805Z"),
            Some(time)
        );
        assert_eq!(
            Timestamp::from_rfc3339("2025-08-23T09:12:21.805+02:00"),
            Some(time)
        );
        assert_eq!(
            Timestamp::from_millis(0).to_rfc3339().as_deref(),
            Some("1970-01-01T00:00:00.000Z")
        );
        assert_eq!(Timestamp::from_millis(i64::MAX).to_rfc3339(), None);
        assert_eq!(Timestamp::from_millis(i64::MIN).to_rfc3339(), None);
    }
}
