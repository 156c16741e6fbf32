//! The value of the record that an incident tells of.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use aws::Bucket;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kafka::{Connection, Found as Place, Read, Reader};
use pipeline::spill::SpilledRecord;
use pipeline::{Coordinates, Incident, Masker, Offset, Partition, Record};
use serde::Serialize;

use super::incident_list::Found;
use super::table::harmless;

/// How long one record may take to be read.
const LIMIT: Duration = Duration::from_secs(20);

/// A value: as text when it is UTF-8, else in base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The record has a null value.
    Null,
    /// The value is this text.
    Text(String),
    /// The value is these bytes.
    Base64(String),
}

impl Payload {
    fn of(value: Option<&Bytes>) -> Self {
        match value {
            None => Self::Null,
            Some(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(_) => Self::Base64(STANDARD.encode(bytes)),
            },
        }
    }
}

impl fmt::Display for Payload {
    /// Writes text as it is but for what a terminal would obey: dead letters are written by whoever may produce.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("payload: null"),
            Self::Text(text) => write!(f, "payload: {}", harmless(text)),
            Self::Base64(text) => write!(f, "payload, no text, in base64: {text}"),
        }
    }
}

impl Found {
    /// Tells whether the record lies in the bucket: no topic has taken it.
    pub const fn is_spilled(&self) -> bool {
        self.incident.spill.is_some()
    }

    /// Fetches the value of the record from the dead-letter topic.
    ///
    /// Fails when the record is gone, or when another stands in its place: a topic that was made anew counts from 0 again.
    pub async fn payload(&self, connection: &Connection) -> anyhow::Result<Payload> {
        let at = dead_letter(&self.incident)
            .with_context(|| format!("{} names no place in a topic", self.object))?;
        let mut reader = Reader::open(connection, &at.topic).await?;
        let known = reader.ranges().iter();
        if !known.clone().any(|range| range.partition == at.partition) {
            bail!(
                "the record is gone: topic {} has no partition {}",
                at.topic,
                at.partition
            );
        }
        let places = reader
            .read_exact(std::slice::from_ref(&at), tokio::time::sleep(LIMIT))
            .await?;
        match places.into_iter().next() {
            Some(Place::Here(Read::Record(record))) => self.value_of(&record),
            Some(Place::Here(Read::Unreadable(unreadable))) => {
                bail!("the record at {at} cannot be read: {}", unreadable.why)
            }
            Some(Place::Nothing(_)) => bail!(
                "the record is gone: {at} holds nothing (retention may have deleted it, or the topic was made anew)"
            ),
            None => bail!(
                "the record at {at} was not read within {} s",
                LIMIT.as_secs()
            ),
        }
    }

    /// Fetches the value of a spilled record from the bucket; the raw entry of an event is its own value.
    pub async fn spilled_payload(&self, bucket: &Bucket) -> anyhow::Result<Payload> {
        let key = self.incident.spill.as_deref();
        let key = key.with_context(|| format!("{} names no spilled record", self.object))?;
        let object = bucket.get(key).await?;
        let object = object.with_context(|| {
            format!(
                "the record is gone: there is no {key} in bucket {}",
                bucket.name()
            )
        })?;
        Ok(match SpilledRecord::from_json(&object.body) {
            Ok(spilled) => Payload::of(spilled.outgoing.value.as_ref()),
            Err(_) => Payload::of(Some(&Bytes::from(object.body))),
        })
    }

    /// The key of an incident is a pure function of its record, the record's time included: what differs is another record.
    fn value_of(&self, record: &Record) -> anyhow::Result<Payload> {
        let there = Incident::of(record, &Masker::default());
        if there.key() != self.object {
            let told = self.incident.dlq_record_time.as_deref().unwrap_or("-");
            let time = record.timestamp.to_rfc3339();
            bail!(
                "the record is gone: {} now holds another one, of {} instead of {told} (the topic was made anew)",
                record.coordinates,
                time.as_deref().unwrap_or("no time")
            );
        }
        Ok(Payload::of(record.value.as_ref()))
    }
}

fn dead_letter(incident: &Incident) -> Option<Coordinates> {
    Some(Coordinates {
        topic: incident.dlq_topic.as_deref()?.parse().ok()?,
        partition: Partition::new(incident.dlq_partition?)?,
        offset: Offset::new(incident.dlq_offset?)?,
    })
}
