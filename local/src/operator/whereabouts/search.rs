//! One pass over the topics for one payment.

use std::collections::{BTreeMap, BTreeSet};

use aws::Bucket;
use kafka::{ChunkLimit, Connection, Read, ReadError, Reader};
use lambda::{Clock, SystemClock};
use pipeline::headers::names;
use pipeline::{
    Incident, Masker, Offset, Partition, Record, Span, Stage, Stages, Timestamp, Topic, due_at,
};
use serde::Deserialize;
use serde_json::Value;

use super::charge::Provider;
use super::sentence::sentence;
use super::{Sighting, State, Whereabouts};
use crate::mapping::group_of;
use crate::operator::cluster::Cluster;
use crate::operator::incident_list::{Filter, Found, IncidentList, Which};

/// How much is held of a topic at a time.
const CHUNK: ChunkLimit = ChunkLimit {
    records: 5_000,
    bytes: 8 << 20,
};

/// How many places are told at most: a key may be that of many payments.
const MOST: usize = 1_000;

/// What is looked for, and where.
#[derive(Debug)]
pub struct Search<'a> {
    /// The payment's id.
    pub payment: &'a str,
    /// The ladder.
    pub stages: &'a Stages,
    /// The way to the brokers.
    pub connection: &'a Connection,
    /// The bucket with the incidents.
    pub bucket: Option<&'a Bucket>,
    /// The payment provider.
    pub provider: Option<&'a Provider>,
    /// Records before this time are not read.
    pub since: Option<Timestamp>,
}

/// Finds a payment; holds no more than a part of one topic at a time.
///
/// Fails when the topics cannot be read. That the bucket or the provider is away is told beside what was found.
pub async fn find(search: &Search<'_>) -> anyhow::Result<(Whereabouts, Vec<anyhow::Error>)> {
    let mut faults = Vec::new();
    let mut found = Whereabouts {
        payment: search.payment.to_owned(),
        answer: String::new(),
        sightings: Vec::new(),
        more: false,
        missing: Vec::new(),
        held_back: Vec::new(),
        incidents: None,
        provider: None,
    };
    let topics = search.stages.all().map(Stage::topic);
    for topic in topics.chain([search.stages.dlq()]) {
        search.read(topic, &mut found).await?;
    }
    tell_what_went_on(&mut found.sightings);
    found.sightings.sort_by(|one, other| {
        (one.written, &one.stage, &one.at).cmp(&(other.written, &other.stage, &other.at))
    });
    if let Some(bucket) = search.bucket {
        let incidents = search.incidents(bucket, &found.sightings).await;
        found.incidents = incidents.map_err(|error| faults.push(error)).ok();
    }
    if let Some(provider) = search.provider {
        let said = provider.ask(search.payment).await;
        found.provider = said.map_err(|error| faults.push(error)).ok();
    }
    found.answer = sentence(&found, SystemClock.now());
    Ok((found, faults))
}

impl Search<'_> {
    async fn read(&self, topic: &Topic, found: &mut Whereabouts) -> anyhow::Result<()> {
        let mut reader = match Reader::open(self.connection, topic).await {
            Ok(reader) => reader,
            Err(ReadError::NoTopic { .. }) => {
                found.missing.push(topic.to_string());
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let held_back = reader.ranges().iter().filter(|range| range.is_held_back());
        found
            .held_back
            .extend(held_back.map(|range| format!("{topic}/{}", range.partition)));
        if let Some(since) = self.since {
            reader.start_at_time(since).await?;
        }
        let mut here = Vec::new();
        while !reader.is_at_end() {
            let chunk = reader.next_chunk(CHUNK, std::future::pending()).await?;
            for read in chunk.records {
                let Read::Record(record) = read else { continue };
                if !is_of(self.payment, &record) {
                    continue;
                }
                if found.sightings.len().saturating_add(here.len()) < MOST {
                    here.push(Record {
                        value: None,
                        ..record
                    });
                } else {
                    found.more = true;
                }
            }
        }
        // Asked after reading: what was read and is done by now is not told to wait.
        let committed = self.committed(topic, &here).await?;
        let now = SystemClock.now();
        let sightings = here
            .iter()
            .map(|record| self.sighting(record, &committed, now));
        found.sightings.extend(sightings);
        Ok(())
    }

    async fn committed(
        &self,
        topic: &Topic,
        records: &[Record],
    ) -> anyhow::Result<BTreeMap<Partition, Offset>> {
        if records.is_empty() || topic == self.stages.dlq() {
            return Ok(BTreeMap::new());
        }
        let partitions = records.iter().map(|record| record.coordinates.partition);
        let partitions: BTreeSet<Partition> = partitions.collect();
        let partitions: Vec<Partition> = partitions.into_iter().collect();
        let group = group_of("payments", topic);
        let cluster = Cluster::new(self.connection.clone());
        cluster.committed(&group, topic, &partitions).await
    }

    fn sighting(
        &self,
        record: &Record,
        committed: &BTreeMap<Partition, Offset>,
        now: Timestamp,
    ) -> Sighting {
        let at = &record.coordinates;
        let stage = self.stages.stage_of(&at.topic);
        let outcome = match (stage, committed.get(&at.partition)) {
            (None, _) => State::Dead,
            (Some(_), Some(next)) if *next > at.offset => State::Passed,
            (Some(_), Some(_)) => State::Waits,
            (Some(_), None) => State::Unknown,
        };
        let due = stage.filter(|stage| stage.is_retry());
        let due = due.map(|stage| due_at(stage, record.timestamp, now));
        let headers = record.headers.iter().filter_map(|header| {
            let name = header.name.as_str();
            let ours = names::ALL.contains(&name);
            let text = ours.then(|| record.headers.text(name))??;
            Some((name.to_owned(), Masker::default().bounded(text)))
        });
        let incident = || Incident::of(record, &Masker::default()).key().to_owned();
        Sighting {
            at: at.to_string(),
            stage: stage.map_or_else(|| "dlq".to_owned(), name_of),
            time: Some(record.timestamp)
                .filter(|time| time.millis() > 0)
                .and_then(Timestamp::to_rfc3339),
            state: outcome,
            due: due
                .filter(|_| outcome == State::Waits)
                .and_then(Timestamp::to_rfc3339),
            incident: (outcome == State::Dead).then(incident),
            headers: headers.collect(),
            written: record.timestamp,
            due_at: due,
        }
    }

    /// Reads the incidents that tell of the payment: those of its dead letters, and those with its id as their key.
    async fn incidents(
        &self,
        bucket: &Bucket,
        sightings: &[Sighting],
    ) -> anyhow::Result<Vec<Found>> {
        let filter = Filter {
            key: Some(Masker::default().text(self.payment)),
            since: self.since,
            ..Filter::default()
        };
        let mut incidents = IncidentList::find(bucket, &filter).await?.incidents;
        for key in sightings
            .iter()
            .filter_map(|sighting| sighting.incident.as_ref())
        {
            if !incidents.iter().any(|found| found.object == *key)
                && bucket.get(key).await?.is_some()
            {
                incidents.push(Found::one(bucket, &Which::Key(key.clone())).await?);
            }
        }
        Ok(incidents)
    }
}

/// Notes which dead letters went back, and which records must have left since a later one tells of them.
fn tell_what_went_on(sightings: &mut [Sighting]) {
    let header = |sighting: &Sighting, name: &str| sighting.headers.get(name).cloned();
    let replayed: BTreeSet<String> = sightings
        .iter()
        .filter_map(|sighting| header(sighting, names::REPLAY_FROM_DLQ))
        .collect();
    let left: Vec<(String, Timestamp)> = sightings
        .iter()
        .filter_map(|sighting| Some((header(sighting, names::PREVIOUS_TOPIC)?, sighting.written)))
        .collect();
    for sighting in sightings {
        match sighting.state {
            State::Dead if replayed.contains(&sighting.at) => sighting.state = State::Replayed,
            State::Unknown => {
                let topic = sighting.at.split('/').next().unwrap_or_default();
                let later =
                    |(from, time): &(String, Timestamp)| from == topic && *time >= sighting.written;
                if left.iter().any(later) {
                    sighting.state = State::Passed;
                }
            }
            State::Dead | State::Passed | State::Waits | State::Replayed => {}
        }
    }
}

fn name_of(stage: &Stage) -> String {
    match Span::from_millis(stage.delay_ms()) {
        Some(delay) => format!("retry {delay}"),
        None => "main".to_owned(),
    }
}

/// Tells whether a record is of a payment: by its key, or by the `payment_id` of its value.
fn is_of(payment: &str, record: &Record) -> bool {
    #[derive(Deserialize)]
    struct Named {
        payment_id: Option<Value>,
    }
    if record.key.as_deref() == Some(payment.as_bytes()) {
        return true;
    }
    let Some(value) = record.value.as_deref() else {
        return false;
    };
    // Most values are passed over without being parsed; an id may be written with escapes.
    let mentions = value
        .windows(payment.len().max(1))
        .any(|bytes| bytes == payment.as_bytes());
    (mentions || value.contains(&b'\\'))
        && serde_json::from_slice::<Named>(value)
            .ok()
            .and_then(|named| named.payment_id)
            .is_some_and(|id| id.as_str() == Some(payment))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use pipeline::Headers;

    use super::*;

    fn check(key: Option<&str>, value: Option<&str>, expected: bool) {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let record = Record {
            coordinates: "t/0/0".parse().unwrap(),
            timestamp: Timestamp::NONE,
            key: key.map(bytes),
            value: value.map(bytes),
            headers: Headers::default(),
        };
        assert_eq!(is_of("k-7", &record), expected, "{key:?} {value:?}");
    }

    #[test]
    fn a_record_is_of_a_payment_by_its_key_or_by_the_id_in_its_value() {
        check(Some("k-7"), None, true);
        check(Some("k-7"), Some("no JSON"), true);
        check(None, Some(r#"{"payment_id":"k-7"}"#), true);
        check(Some("shop"), Some(r#"{"a":1,"payment_id":"k-7"}"#), true);
        check(None, Some(r#"{"payment_id":"k\u002d7"}"#), true);
        check(None, Some(r#"{"payment_id":"k-77"}"#), false);
        check(None, Some(r#"{"order_id":"k-7"}"#), false);
        check(None, Some(r#"{"payment_id":7,"order_id":"k-7"}"#), false);
        check(Some("k-70"), Some("k-7"), false);
        check(None, None, false);
    }
}
