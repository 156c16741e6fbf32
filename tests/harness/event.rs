//! Events for invocations without a mapping.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pipeline::Topic;
use serde_json::{Value, json};

use super::now_ms;

/// A record of an event.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) topic: Topic,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) timestamp: i64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

impl Sent {
    /// Returns a record of now at partition 0, without headers.
    pub(crate) fn new(topic: &Topic, offset: i64, key: &str, value: Vec<u8>) -> Self {
        Self {
            topic: topic.clone(),
            partition: 0,
            offset,
            timestamp: now_ms(),
            key: Some(key.into()),
            value: Some(value),
            headers: Vec::new(),
        }
    }

    fn json(&self) -> Value {
        let base64 = |bytes: &Vec<u8>| STANDARD.encode(bytes);
        let headers: Vec<Value> = self
            .headers
            .iter()
            .map(|(name, value)| {
                let signed: Vec<i8> = value.iter().map(|byte| byte.cast_signed()).collect();
                json!({ name: signed })
            })
            .collect();
        json!({
            "topic": self.topic.as_str(), "partition": self.partition, "offset": self.offset,
            "timestamp": self.timestamp, "timestampType": "CREATE_TIME",
            "key": self.key.as_ref().map(base64), "value": self.value.as_ref().map(base64),
            "headers": headers,
        })
    }
}

/// Writes an event as Lambda does.
pub(crate) fn event(records: &[Sent]) -> Bytes {
    let mut partitions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for record in records {
        let name = format!("{}-{}", record.topic, record.partition);
        partitions.entry(name).or_default().push(record.json());
    }
    let event = json!({"eventSource": "SelfManagedKafka", "bootstrapServers": "b:9092", "records": partitions});
    event.to_string().into()
}

/// Returns what an answer hands back, as `partition/offset` in order.
pub(crate) fn handed_back(answer: &[u8]) -> Vec<String> {
    let answer: Value = serde_json::from_slice(answer).unwrap();
    let failures = answer["batchItemFailures"].as_array().unwrap();
    let places = failures.iter().map(|failure| {
        let at = &failure["itemIdentifier"];
        let (_, partition) = at["partition"].as_str().unwrap().rsplit_once('-').unwrap();
        format!("{partition}/{}", at["offset"])
    });
    places.collect()
}
