//! The incident: what is kept in the object store of each dead letter, never its payload.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::SignedDuration;
use jiff::civil::date;
use serde::{Deserialize, Serialize};

use crate::failure::{DlqReason, ErrorClass, ErrorCode};
use crate::headers::{Headers, names};
use crate::mask::Masker;
use crate::outgoing::Outgoing;
use crate::record::{Coordinates, Offset, Partition, Record, Timestamp};
use crate::spill::RawSpill;

/// One dead letter, told without its payload; a pure function of the record in the dead-letter topic.
///
/// The fields stand in the object in this order and are left out when they are not known. All text is masked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Where the object lies; not part of it.
    #[serde(skip)]
    pub(crate) object_key: String,
    /// The dead-letter topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_topic: Option<String>,
    /// The partition there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_partition: Option<i32>,
    /// The offset there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_offset: Option<i64>,
    /// The object that holds the whole record, when the dead-letter topic could not take it or the event did not hold one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill: Option<String>,
    /// The record's key, when it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The record's key in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_base64: Option<String>,
    /// The header `original.topic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_topic: Option<String>,
    /// The header `original.partition`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_partition: Option<String>,
    /// The header `original.offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_offset: Option<String>,
    /// The header `previous.topic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_topic: Option<String>,
    /// The header `retry.count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<String>,
    /// The header `error.class`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    /// The header `error.code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The header `error.message`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The header `error.timestamp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_timestamp: Option<String>,
    /// The header `dlq-reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_reason: Option<String>,
    /// The header `replay.from-dlq`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_from_dlq: Option<String>,
    /// The header `replay.count`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_count: Option<String>,
    /// The header `replay.id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_id: Option<String>,
    /// The time of the record in the dead-letter topic, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dlq_record_time: Option<String>,
    /// How many bytes the value has; 0 when it is null.
    pub payload_bytes: u64,
}

/// Says that an object is no incident.
#[derive(Debug, thiserror::Error)]
#[error("{object_key} is no incident: {cause}")]
pub struct NoIncident {
    object_key: String,
    #[source]
    cause: serde_json::Error,
}

impl Incident {
    /// Tells of a record in the dead-letter topic.
    pub fn of(record: &Record, masker: &Masker) -> Self {
        Self {
            object_key: object_key(
                &Place::of(&record.coordinates, record.timestamp),
                &record.headers,
            ),
            dlq_topic: Some(record.coordinates.topic.as_str().to_owned()),
            dlq_partition: Some(record.coordinates.partition.get()),
            dlq_offset: Some(record.coordinates.offset.get()),
            dlq_record_time: utc(record.timestamp),
            ..Self::told_by(
                record.key.as_ref(),
                &record.headers,
                record.value.as_ref(),
                masker,
            )
        }
    }

    /// Tells of a record that not even the dead-letter topic took, with the headers it would have had there.
    ///
    /// Its object lies where an incident of a record at `source`, where it was read from, would lie: `dt` is the time of that record.
    pub fn of_spilled(
        outgoing: &Outgoing,
        source: &Coordinates,
        timestamp: Timestamp,
        spill_key: &str,
        masker: &Masker,
    ) -> Self {
        Self {
            object_key: object_key(&Place::of(source, timestamp), &outgoing.headers),
            spill: Some(spill_key.to_owned()),
            ..Self::told_by(
                outgoing.key.as_ref(),
                &outgoing.headers,
                outgoing.value.as_ref(),
                masker,
            )
        }
    }

    /// Tells of an entry of an event that is no record: it is `payload.malformed`, and its raw JSON lies in the store.
    pub fn of_raw(spill: &RawSpill<'_>, why: &str, masker: &Masker) -> Self {
        Self {
            object_key: format!(
                "incidents/dt={}/error_class={}/{}",
                day(spill.timestamp),
                ErrorClass::Permanent,
                spill.file_name()
            ),
            dlq_topic: spill.topic.map(|topic| topic.as_str().to_owned()),
            dlq_partition: spill.partition.map(Partition::get),
            dlq_offset: spill.offset.map(Offset::get),
            spill: Some(spill.key()),
            error_class: Some(ErrorClass::Permanent.as_str().to_owned()),
            error_code: Some(ErrorCode::PayloadMalformed.as_str().to_owned()),
            error_message: Some(masker.line(why)),
            dlq_reason: Some(DlqReason::Json.as_str().to_owned()),
            dlq_record_time: utc(spill.timestamp),
            payload_bytes: length(spill.raw),
            ..Self::default()
        }
    }

    fn told_by(
        key: Option<&Bytes>,
        headers: &Headers,
        value: Option<&Bytes>,
        masker: &Masker,
    ) -> Self {
        let text = |name| headers.text(name).map(|text| masker.bounded(text));
        let (key, key_base64) = told_key(key, masker);
        Self {
            key,
            key_base64,
            original_topic: text(names::ORIGINAL_TOPIC),
            original_partition: text(names::ORIGINAL_PARTITION),
            original_offset: text(names::ORIGINAL_OFFSET),
            previous_topic: text(names::PREVIOUS_TOPIC),
            retry_count: text(names::RETRY_COUNT),
            error_class: text(names::ERROR_CLASS),
            error_code: text(names::ERROR_CODE),
            error_message: headers
                .text(names::ERROR_MESSAGE)
                .map(|text| masker.line(text)),
            error_timestamp: text(names::ERROR_TIMESTAMP),
            dlq_reason: text(names::DLQ_REASON),
            replay_from_dlq: text(names::REPLAY_FROM_DLQ),
            replay_count: text(names::REPLAY_COUNT),
            replay_id: text(names::REPLAY_ID),
            payload_bytes: value.map_or(0, |value| length(value)),
            ..Self::default()
        }
    }

    /// Returns where the object lies: `incidents/dt=…/error_class=…/…json`. Nothing of it was written by a producer.
    pub fn key(&self) -> &str {
        &self.object_key
    }

    /// Returns the object: JSON on one line.
    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads an object that was written by this type; fields that it does not know are ignored.
    pub fn from_json(object_key: &str, json: &[u8]) -> Result<Self, NoIncident> {
        let object_key = object_key.to_owned();
        match serde_json::from_slice::<Self>(json) {
            Ok(incident) => Ok(Self {
                object_key,
                ..incident
            }),
            Err(cause) => Err(NoIncident { object_key, cause }),
        }
    }

    /// Returns the class, when it is one of the set.
    pub fn class(&self) -> Option<ErrorClass> {
        self.error_class.as_deref().and_then(ErrorClass::from_text)
    }

    /// Returns the code, when it is one of the set.
    pub fn code(&self) -> Option<ErrorCode> {
        self.error_code.as_deref().and_then(ErrorCode::from_text)
    }
}

/// A place in Kafka and the time of the record there: what names an object.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    at: &'a Coordinates,
    timestamp: Timestamp,
}

impl<'a> Place<'a> {
    pub(crate) const fn of(at: &'a Coordinates, timestamp: Timestamp) -> Self {
        Self { at, timestamp }
    }

    /// The offset has 20 digits, so that names sort as offsets do; the time tells a topic from one of its name that was there before.
    pub(crate) fn file_name(&self) -> String {
        let Coordinates {
            topic,
            partition,
            offset,
        } = self.at;
        let (offset, millis) = (offset.get(), self.timestamp.millis());
        format!("{topic}-{partition}-{offset:020}-{millis}.json")
    }
}

fn object_key(place: &Place<'_>, headers: &Headers) -> String {
    let class = headers
        .text(names::ERROR_CLASS)
        .and_then(ErrorClass::from_text)
        .map_or("unknown", ErrorClass::as_str);
    let (day, file) = (day(place.timestamp), place.file_name());
    format!("incidents/dt={day}/error_class={class}/{file}")
}

fn day(timestamp: Timestamp) -> String {
    utc(timestamp)
        .and_then(|time| time.split_once('T').map(|(day, _)| day.to_owned()))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Writes a time above zero and within year 9999 as RFC 3339.
fn utc(timestamp: Timestamp) -> Option<String> {
    if timestamp.millis() <= 0 {
        return None;
    }
    let since_epoch = SignedDuration::from_millis(timestamp.millis());
    let time = date(1970, 1, 1)
        .at(0, 0, 0, 0)
        .checked_add(since_epoch)
        .ok()?;
    Some(format!("{time:.3}Z"))
}

fn told_key(key: Option<&Bytes>, masker: &Masker) -> (Option<String>, Option<String>) {
    let Some(key) = key else {
        return (None, None);
    };
    if let Ok(text) = std::str::from_utf8(key) {
        return (Some(masker.text(text)), None);
    }
    // Base64 would carry a secret past everyone who looks for one: such a key is told as text with its odd bytes replaced.
    let lossy = String::from_utf8_lossy(key);
    let told = masker.text(&lossy);
    if told == lossy {
        (None, Some(STANDARD.encode(key)))
    } else {
        (Some(told), None)
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
