//! The spill: records that not even the dead-letter topic took, kept whole in the object store.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::headers::{Header, Headers};
use crate::incident::Place;
use crate::outgoing::Outgoing;
use crate::record::{Coordinates, Offset, Partition, Timestamp, Topic};

/// A whole record that no topic took, with the headers it was to be produced with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpilledRecord {
    /// Where it was read from.
    pub source: Coordinates,
    /// The time of the record there.
    pub timestamp: Timestamp,
    /// What was to be produced.
    pub outgoing: Outgoing,
}

/// An entry of an event that is no record, with what is known of where it stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawSpill<'a> {
    /// The topic.
    pub topic: Option<&'a Topic>,
    /// The partition.
    pub partition: Option<Partition>,
    /// The offset.
    pub offset: Option<Offset>,
    /// The time of the record.
    pub timestamp: Timestamp,
    /// Its JSON as it stood in the event: the object's body.
    pub raw: &'a [u8],
}

/// Says that an object is no spilled record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no spilled record: {0}")]
pub struct NoSpill(String);

impl SpilledRecord {
    /// Returns where the object lies: `spill/<topic>-<partition>-<offset, 20 digits>-<timestamp ms>.json`.
    pub fn key(&self) -> String {
        let file = Place::of(&self.source, self.timestamp).file_name();
        format!("spill/{file}")
    }

    /// Returns the object: JSON on one line; key, header values and value in base64, null where they are null.
    pub fn json(&self) -> Vec<u8> {
        let headers = self.outgoing.headers.iter().map(|header| WireHeader {
            name: header.name.clone(),
            value: encoded(header.value.as_ref()),
        });
        let wire = Wire {
            source: self.source.to_string(),
            timestamp: self.timestamp.millis(),
            topic: self.outgoing.topic.as_str().to_owned(),
            key: encoded(self.outgoing.key.as_ref()),
            headers: headers.collect(),
            value: encoded(self.outgoing.value.as_ref()),
        };
        serde_json::to_vec(&wire).unwrap_or_default()
    }

    /// Reads an object that was written by this type.
    pub fn from_json(json: &[u8]) -> Result<Self, NoSpill> {
        let wire: Wire =
            serde_json::from_slice(json).map_err(|error| NoSpill(error.to_string()))?;
        let headers: Result<Headers, NoSpill> = wire
            .headers
            .into_iter()
            .map(|WireHeader { name, value }| decoded(value).map(|value| Header { name, value }))
            .collect();
        Ok(Self {
            source: wire
                .source
                .parse()
                .map_err(|error| NoSpill(format!("{error}")))?,
            timestamp: Timestamp::from_millis(wire.timestamp),
            outgoing: Outgoing {
                topic: wire
                    .topic
                    .parse()
                    .map_err(|error| NoSpill(format!("{error}")))?,
                key: decoded(wire.key)?,
                value: decoded(wire.value)?,
                headers: headers?,
            },
        })
    }
}

impl RawSpill<'_> {
    /// Returns where the object lies, as that of a spilled record; what is not known is `unknown`, and a sum of the bytes tells such objects apart.
    pub fn key(&self) -> String {
        format!("spill/{}", self.file_name())
    }

    pub(crate) fn file_name(&self) -> String {
        let millis = self.timestamp.millis();
        if let (Some(topic), Some(partition), Some(offset)) =
            (self.topic, self.partition, self.offset)
        {
            let at = Coordinates {
                topic: topic.clone(),
                partition,
                offset,
            };
            return Place::of(&at, self.timestamp).file_name();
        }
        let topic = self.topic.map_or("unknown", Topic::as_str);
        let partition = or_unknown(self.partition.map(Partition::get));
        let offset = or_unknown(self.offset.map(Offset::get));
        let sum = fnv1a(self.raw);
        format!("{topic}-{partition}-{offset}-{millis}-{sum:016x}.json")
    }
}

#[derive(Serialize, Deserialize)]
struct Wire {
    source: String,
    timestamp: i64,
    topic: String,
    key: Option<String>,
    headers: Vec<WireHeader>,
    value: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WireHeader {
    name: String,
    value: Option<String>,
}

fn encoded(bytes: Option<&Bytes>) -> Option<String> {
    bytes.map(|bytes| STANDARD.encode(bytes))
}

fn decoded(text: Option<String>) -> Result<Option<Bytes>, NoSpill> {
    text.map(|text| STANDARD.decode(text).map(Bytes::from))
        .transpose()
        .map_err(|error| NoSpill(error.to_string()))
}

fn or_unknown(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

/// The 64-bit FNV-1a sum: the same for the same bytes in every release, unlike the standard library's hasher.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
