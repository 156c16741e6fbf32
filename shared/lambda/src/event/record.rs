//! One record of an event.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use pipeline::{Coordinates, Offset, Partition, Record, Timestamp, Topic};
use serde_json::value::RawValue;

use super::header_list;
use super::object::{Object, is_null, text};
use super::{Entry, Undecodable};

/// Base64 as Lambda writes it; padding may be missing, as some emulators leave it out.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What is known of a topic and its partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    topic: Option<Topic>,
    partition: Option<Partition>,
}

impl Place {
    /// Reads an event's name for a partition: `<topic>-<partition>`, where the topic may hold dashes itself.
    pub(super) fn of_name(name: &[u8]) -> Self {
        let parts = std::str::from_utf8(name)
            .ok()
            .and_then(|name| name.rsplit_once('-'));
        Self {
            topic: parts.and_then(|(topic, _)| topic.parse().ok()),
            partition: parts.and_then(|(_, partition)| partition.parse().ok()),
        }
    }

    /// Returns what the record itself tells, else what its partition's name tells, else the parts of both that are known.
    ///
    /// The two are not mixed as long as one is whole: a place that stands in neither could not be answered for.
    fn of_record(record: &Object<'_>, named: &Self) -> Self {
        let own = Self {
            topic: record.last(b"topic").and_then(text).and_then(|own| {
                let same = named.topic.as_ref().filter(|topic| topic.as_str() == own);
                same.cloned().or_else(|| own.parse().ok())
            }),
            partition: record
                .last(b"partition")
                .and_then(|raw| raw.get().parse().ok()),
        };
        if own.is_whole() {
            own
        } else if named.is_whole() {
            named.clone()
        } else {
            Self {
                topic: own.topic.or_else(|| named.topic.clone()),
                partition: own.partition.or(named.partition),
            }
        }
    }

    const fn is_whole(&self) -> bool {
        self.topic.is_some() && self.partition.is_some()
    }
}

/// Decodes one record; adds the headers that could not be read to `headers_lost`.
pub(super) fn decode(raw: &RawValue, named: &Place, headers_lost: &mut u64) -> Entry {
    let Some(fields) = Object::read(raw) else {
        return undecodable(raw, named, "the record is not a JSON object");
    };
    let place = Place::of_record(&fields, named);
    let offset: Option<Offset> = fields
        .last(b"offset")
        .and_then(|raw| raw.get().parse().ok());
    let timestamp = fields
        .last(b"timestamp")
        .and_then(|raw| raw.get().parse().ok())
        .map_or(Timestamp::NONE, Timestamp::from_millis);
    let read = || -> Result<(Coordinates, Option<Bytes>, Option<Bytes>), &'static str> {
        let coordinates = Coordinates {
            topic: place.topic.clone().ok_or("the record's topic is none")?,
            partition: place.partition.ok_or("the record's partition is none")?,
            offset: offset.ok_or("the record's offset is none")?,
        };
        let key = bytes(fields.last(b"key")).ok_or("the record's key is not base64")?;
        let value = bytes(fields.last(b"value")).ok_or("the record's value is not base64")?;
        Ok((coordinates, key, value))
    };
    match read() {
        Ok((coordinates, key, value)) => Entry::Record(Record {
            coordinates,
            timestamp,
            key,
            value,
            headers: header_list::decode(fields.last(b"headers"), headers_lost),
        }),
        Err(why) => Entry::Undecodable(Undecodable {
            topic: place.topic,
            partition: place.partition,
            offset,
            timestamp,
            raw: Bytes::copy_from_slice(raw.get().as_bytes()),
            why: why.to_owned(),
        }),
    }
}

/// Keeps what cannot be read as it stood.
pub(super) fn undecodable(raw: &RawValue, named: &Place, why: &str) -> Entry {
    Entry::Undecodable(Undecodable {
        topic: named.topic.clone(),
        partition: named.partition,
        offset: None,
        timestamp: Timestamp::NONE,
        raw: Bytes::copy_from_slice(raw.get().as_bytes()),
        why: why.to_owned(),
    })
}

/// Reads a key or a value: `Some(None)` when it is null or absent, `None` when it is no base64.
#[expect(
    clippy::option_option,
    reason = "the outer level says whether reading worked, the inner one is Kafka's null"
)]
fn bytes(field: Option<&RawValue>) -> Option<Option<Bytes>> {
    match field {
        None => Some(None),
        Some(raw) if is_null(raw) => Some(None),
        Some(raw) => {
            let decoded = BASE64.decode(text(raw)?.as_bytes()).ok()?;
            Some(Some(Bytes::from(decoded)))
        }
    }
}
