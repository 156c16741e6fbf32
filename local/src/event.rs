//! A Kafka record as it stands in the event of a Lambda function.
//!
//! Source: AWS Lambda developer guide, "Using Lambda with Amazon MSK" and "with self-managed Apache Kafka", example events.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pipeline::{Coordinates, Offset, Partition, Topic};
use rdkafka::Message;
use rdkafka::message::Headers;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The most that an event may be, in bytes of JSON: Lambda's 6 MB for an invocation.
pub const MAX_EVENT_BYTES: usize = 6 * 1024 * 1024;

/// Where Lambda says that the records come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSource {
    /// Amazon MSK: `aws:kafka` with the cluster's ARN.
    Msk {
        /// The cluster's ARN.
        arn: String,
    },
    /// `SelfManagedKafka`, without an ARN.
    SelfManaged,
}

/// One record, already in the JSON in which it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Where it was read.
    pub coordinates: Coordinates,
    /// Its own time in milliseconds, −1 when it has none.
    pub timestamp: i64,
    /// Its JSON.
    pub json: Bytes,
    /// How many of its headers could not be read, since their names are not UTF-8; each is delivered as `{}`.
    pub unreadable_headers: usize,
}

/// Says that a record's place is none that Kafka can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record at {topic}/{partition}/{offset} cannot be")]
pub struct NoPlace {
    topic: String,
    partition: i32,
    offset: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordJson<'a> {
    topic: &'a str,
    partition: i32,
    offset: i64,
    timestamp: i64,
    timestamp_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    headers: Vec<HeaderJson>,
}

/// A header: `{"name":[bytes]}`, the bytes signed as Java has them; `{}` when its value is null.
struct HeaderJson(Option<(String, Vec<i8>)>);

impl Serialize for HeaderJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(usize::from(self.0.is_some())))?;
        if let Some((name, value)) = &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl EventRecord {
    /// Puts a record that was read from Kafka into the JSON of an event.
    pub fn of(message: &impl Message) -> Result<Self, NoPlace> {
        let place = (
            message.topic().parse::<Topic>().ok(),
            Partition::new(message.partition()),
            Offset::new(message.offset()),
        );
        let (Some(topic), Some(partition), Some(offset)) = place else {
            return Err(NoPlace {
                topic: message.topic().to_owned(),
                partition: message.partition(),
                offset: message.offset(),
            });
        };
        let coordinates = Coordinates {
            topic,
            partition,
            offset,
        };
        let (timestamp, timestamp_type) = match message.timestamp() {
            rdkafka::Timestamp::NotAvailable => (-1, "CREATE_TIME"),
            rdkafka::Timestamp::CreateTime(millis) => (millis, "CREATE_TIME"),
            rdkafka::Timestamp::LogAppendTime(millis) => (millis, "LOG_APPEND_TIME"),
        };
        let (headers, unreadable_headers) = headers(message);
        let record = RecordJson {
            topic: message.topic(),
            partition: message.partition(),
            offset: message.offset(),
            timestamp,
            timestamp_type,
            key: message.key().map(|key| STANDARD.encode(key)),
            value: message.payload().map(|value| STANDARD.encode(value)),
            headers,
        };
        Ok(Self {
            coordinates,
            timestamp,
            json: json(&record).into(),
            unreadable_headers,
        })
    }

    /// Returns how many bytes the record adds to an event, the comma included.
    pub fn size(&self) -> usize {
        self.json.len().saturating_add(1)
    }
}

/// Reads the headers one by one, since the binding panics on a name that is not UTF-8.
fn headers(message: &impl Message) -> (Vec<HeaderJson>, usize) {
    let Some(headers) = message.headers() else {
        return (Vec::new(), 0);
    };
    let mut unreadable: usize = 0;
    let read = (0..headers.count())
        .map(|index| {
            let header = catch_unwind(AssertUnwindSafe(|| {
                let header = headers.try_get(index)?;
                let value = header.value?;
                Some((
                    header.key.to_owned(),
                    value.iter().map(|byte| byte.cast_signed()).collect(),
                ))
            }));
            HeaderJson(header.unwrap_or_else(|_| {
                unreadable = unreadable.saturating_add(1);
                None
            }))
        })
        .collect();
    (read, unreadable)
}

impl EventSource {
    /// Builds the event of a batch; the records of a partition must come in order.
    pub fn event<'a>(
        &self,
        bootstrap_servers: &str,
        records: impl IntoIterator<Item = &'a EventRecord>,
    ) -> Bytes {
        let mut partitions: BTreeMap<(&Topic, Partition), Vec<&EventRecord>> = BTreeMap::new();
        for record in records {
            let at = &record.coordinates;
            partitions
                .entry((&at.topic, at.partition))
                .or_default()
                .push(record);
        }
        let mut event = self.opening(bootstrap_servers);
        for (nth, ((topic, partition), records)) in partitions.into_iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            event.extend_from_slice(format!("{comma}\"{topic}-{partition}\":[").as_bytes());
            for (nth, record) in records.into_iter().enumerate() {
                if nth > 0 {
                    event.push(b',');
                }
                event.extend_from_slice(&record.json);
            }
            event.push(b']');
        }
        event.extend_from_slice(b"}}");
        event.into()
    }

    /// Returns how many bytes an event has for partitions ([`frame_size`]) and their records ([`EventRecord::size`]).
    pub fn room(&self, bootstrap_servers: &str) -> usize {
        // Every partition is counted with a comma behind it, and the last one has none.
        let comma = ",".len();
        MAX_EVENT_BYTES
            .saturating_add(comma)
            .saturating_sub(self.opening(bootstrap_servers).len())
            .saturating_sub("}}".len())
    }

    fn opening(&self, bootstrap_servers: &str) -> Vec<u8> {
        let source = match self {
            Self::Msk { arn } => format!(r#""aws:kafka","eventSourceArn":{}"#, text(arn)),
            Self::SelfManaged => r#""SelfManagedKafka""#.to_owned(),
        };
        let servers = text(bootstrap_servers);
        format!(r#"{{"eventSource":{source},"bootstrapServers":{servers},"records":{{"#)
            .into_bytes()
    }
}

/// Returns how many bytes a partition adds to an event before its first record.
pub fn frame_size(topic: &Topic, partition: Partition) -> usize {
    format!("\"{topic}-{partition}\":[]").len()
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Serialises what cannot fail to serialise: maps with text names, numbers and text.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
