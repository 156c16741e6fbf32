//! Where and when a payment was first read.

use crate::headers::{Headers, names};
use crate::record::{Coordinates, Offset, Partition, Record, Timestamp, Topic, digits};

/// Where and when a payment was first read: the `original.*` headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Where.
    pub coordinates: Coordinates,
    /// When, by that record's own time.
    pub timestamp: Timestamp,
}

impl Origin {
    /// Returns the origin that the record's headers tell of, else the record's own place and time.
    pub fn of(record: &Record) -> Self {
        Self::told_by(&record.headers).unwrap_or_else(|| Self {
            coordinates: record.coordinates.clone(),
            timestamp: record.timestamp,
        })
    }

    /// Reads the four `original.*` headers; `None` unless all are present once and well formed.
    pub fn told_by(headers: &Headers) -> Option<Self> {
        let topic: Topic = headers.only_text(names::ORIGINAL_TOPIC)?.parse().ok()?;
        let partition: Partition = headers.only_text(names::ORIGINAL_PARTITION)?.parse().ok()?;
        let offset: Offset = headers.only_text(names::ORIGINAL_OFFSET)?.parse().ok()?;
        let timestamp = millis(headers.only_text(names::ORIGINAL_TIMESTAMP)?)?;
        Some(Self {
            coordinates: Coordinates {
                topic,
                partition,
                offset,
            },
            timestamp,
        })
    }
}

fn millis(text: &str) -> Option<Timestamp> {
    digits(text.strip_prefix('-').unwrap_or(text))?;
    text.parse().ok().map(Timestamp::from_millis)
}
