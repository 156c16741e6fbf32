//! Lambda's Kafka event, decoded record by record: what one record holds never fails its neighbours.
//!
//! The event is split into raw slices first; each record is then read on its own. Only text that is no JSON, or has no `records`,
//! fails as a whole. Source: AWS Lambda developer guide, "Using Lambda with Amazon MSK", and what emulators were seen to send.

mod header_list;
pub(crate) mod object;
mod record;

use std::collections::HashMap;

use bytes::Bytes;
use pipeline::{Coordinates, Offset, Partition, Record, Timestamp, Topic};
use serde_json::value::RawValue;

use self::object::{Object, elements};
use self::record::Place;
use crate::check::{InvalidCheck, is_asked};

/// What an invocation's payload turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Records.
    Event(Event),
    /// `{"check":true}`: what the function can reach is asked for.
    Check,
}

/// The records of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Every record, grouped by partition; partitions and the records within them in the order of the event.
    pub entries: Vec<Entry>,
    /// How many headers could not be read, or had lost their names before they came here.
    pub headers_lost: u64,
}

/// What one record of an event turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A record.
    Record(Record),
    /// Something that cannot be read as one.
    Undecodable(Undecodable),
}

/// Something in an event that cannot be read as a record, with what is known of where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// The topic.
    pub topic: Option<Topic>,
    /// The partition.
    pub partition: Option<Partition>,
    /// The offset.
    pub offset: Option<Offset>,
    /// The record's own time; [`Timestamp::NONE`] when it is not known.
    pub timestamp: Timestamp,
    /// Its JSON exactly as it stood in the event.
    pub raw: Bytes,
    /// What is wrong with it, without any of its text.
    pub why: String,
}

/// Says why a payload is no Kafka event at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// Not JSON, or cut off.
    #[error("the event is not JSON: wrong at line {line}, column {column}")]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// JSON, but no object.
    #[error("the event is not a JSON object")]
    NotAnObject,
    /// An object without records: not from a Kafka event source.
    #[error("the event has no \"records\"")]
    NoRecords,
    /// Records that are not grouped by topic and partition.
    #[error("\"records\" of the event is not a JSON object")]
    RecordsNotAnObject,
    /// No event, and no check either, though it has a field of that name.
    #[error(transparent)]
    Check(#[from] InvalidCheck),
}

/// Decodes a payload; what cannot be read as a record stands beside the records that can.
///
/// What has records is an event, whatever else it has; a check is looked for only where there are none.
pub fn decode(payload: &str) -> Result<Payload, EventError> {
    let payload: &RawValue =
        serde_json::from_str(payload).map_err(|error| EventError::NotJson {
            line: error.line(),
            column: error.column(),
        })?;
    let event = Object::read(payload).ok_or(EventError::NotAnObject)?;
    let mut headers_lost = 0;
    let mut groups = Groups::default();
    let mut found = false;
    for records in event.all(b"records") {
        found = true;
        let by_partition = Object::read(records).ok_or(EventError::RecordsNotAnObject)?;
        for (name, list) in by_partition.iter() {
            let place = Place::of_name(name);
            match elements(list) {
                Some(records) => {
                    for raw in records {
                        groups.add(record::decode(raw, &place, &mut headers_lost));
                    }
                }
                None => groups.add(record::undecodable(
                    list,
                    &place,
                    "the records of a partition are not a JSON array",
                )),
            }
        }
    }
    if found {
        Ok(Payload::Event(Event {
            entries: groups.entries(),
            headers_lost,
        }))
    } else if is_asked(&event)? {
        Ok(Payload::Check)
    } else {
        Err(EventError::NoRecords)
    }
}

/// Entries by the order in which their partitions first came.
#[derive(Default)]
struct Groups {
    of_partition: HashMap<(Option<Topic>, Option<Partition>), usize>,
    groups: Vec<Vec<Entry>>,
}

impl Groups {
    fn add(&mut self, entry: Entry) {
        let group = *self
            .of_partition
            .entry(entry.partition())
            .or_insert(self.groups.len());
        match self.groups.get_mut(group) {
            Some(entries) => entries.push(entry),
            None => self.groups.push(vec![entry]),
        }
    }

    fn entries(self) -> Vec<Entry> {
        self.groups.into_iter().flatten().collect()
    }
}

impl Entry {
    /// Returns where the entry stands, which an answer names it by; `None` when that is not known.
    pub fn coordinates(&self) -> Option<Coordinates> {
        match self {
            Self::Record(record) => Some(record.coordinates.clone()),
            Self::Undecodable(undecodable) => Some(Coordinates {
                topic: undecodable.topic.clone()?,
                partition: undecodable.partition?,
                offset: undecodable.offset?,
            }),
        }
    }

    /// Returns the record's own time; [`Timestamp::NONE`] when it has none, or it is not known.
    pub const fn timestamp(&self) -> Timestamp {
        match self {
            Self::Record(record) => record.timestamp,
            Self::Undecodable(undecodable) => undecodable.timestamp,
        }
    }

    /// Returns the topic that the entry belongs to, when that is known.
    pub const fn topic(&self) -> Option<&Topic> {
        match self {
            Self::Record(record) => Some(&record.coordinates.topic),
            Self::Undecodable(undecodable) => undecodable.topic.as_ref(),
        }
    }

    /// Returns the topic and the partition that the entry belongs to, as far as they are known.
    pub(crate) fn partition(&self) -> (Option<Topic>, Option<Partition>) {
        match self {
            Self::Record(record) => (
                Some(record.coordinates.topic.clone()),
                Some(record.coordinates.partition),
            ),
            Self::Undecodable(undecodable) => (undecodable.topic.clone(), undecodable.partition),
        }
    }
}

#[cfg(test)]
mod tests;
