//! What a reader returns: records, and how far it has come.

use pipeline::{Coordinates, Offset, Partition, Record, Timestamp};

/// The offsets of a partition between which a reader reads, fixed when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The partition.
    pub partition: Partition,
    /// The first offset that the partition still had.
    pub start: Offset,
    /// The offset before which reading ends: the last stable offset.
    pub end: Offset,
    /// The offset that the next record would have got.
    pub high_watermark: Offset,
}

impl Range {
    /// Tells whether an open transaction holds the end back: what lies behind its first record is not read.
    pub const fn is_held_back(&self) -> bool {
        self.end.get() < self.high_watermark.get()
    }
}

/// Where reading of a partition goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The partition.
    pub partition: Partition,
    /// The offset that comes next.
    pub next: Offset,
}

/// How much a chunk may hold; it is full when it has reached either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimit {
    /// How many records.
    pub records: usize,
    /// How many bytes of keys, values and headers; the record that exceeds it is still in.
    pub bytes: usize,
}

/// Some of the records, each partition's in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The records.
    pub records: Vec<Read>,
    /// Where each partition goes on after them: what to resume at.
    pub positions: Vec<Position>,
}

/// A place in the topic that holds a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The record.
    Record(Record),
    /// A record that cannot be read whole and so cannot be passed on unchanged.
    Unreadable(Unreadable),
}

/// What is known of a record that cannot be read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it is.
    pub coordinates: Coordinates,
    /// The record's own time.
    pub timestamp: Timestamp,
    /// What is wrong with it.
    pub why: &'static str,
}

/// What there is at coordinates that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A record.
    Here(Read),
    /// Nothing: never written, not yet committed, aborted, deleted or compacted away.
    Nothing(Coordinates),
}

impl Found {
    /// Returns the coordinates that were asked for.
    pub const fn coordinates(&self) -> &Coordinates {
        match self {
            Self::Here(read) => read.coordinates(),
            Self::Nothing(coordinates) => coordinates,
        }
    }
}

impl Read {
    /// Returns where the record is.
    pub const fn coordinates(&self) -> &Coordinates {
        match self {
            Self::Record(record) => &record.coordinates,
            Self::Unreadable(unreadable) => &unreadable.coordinates,
        }
    }

    /// Returns how many bytes its key, value and headers have.
    pub(crate) fn bytes(&self) -> usize {
        let Self::Record(record) = self else {
            return 0;
        };
        let length = |bytes: &Option<bytes::Bytes>| bytes.as_ref().map_or(0, bytes::Bytes::len);
        let headers = record.headers.iter();
        headers
            .map(|header| header.name.len().saturating_add(length(&header.value)))
            .fold(length(&record.key), usize::saturating_add)
            .saturating_add(length(&record.value))
    }
}
