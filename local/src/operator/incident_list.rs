//! Incidents as they lie in the bucket, the newest first.

use std::cmp::Reverse;
use std::fmt;
use std::pin::pin;

use anyhow::{Context, bail};
use aws::Bucket;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use pipeline::replay::selection::Told;
use pipeline::{Coordinates, ErrorClass, ErrorCode, Incident, Timestamp, Topic};
use serde::Serialize;

use super::table::{or_dash, table};

/// What every incident's key begins with, as people know it.
pub const PREFIX: &str = "incidents/";

/// What every incident's key begins with, to the letter; a check of a function leaves an object beside them.
pub const DAYS: &str = "incidents/dt=";

/// How many objects are read at once.
const AT_ONCE: usize = 32;

/// Which incidents are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this class.
    pub class: Option<Told<ErrorClass>>,
    /// Of this code.
    pub code: Option<Told<ErrorCode>>,
    /// First read from this topic.
    pub original_topic: Option<Topic>,
    /// Dead in this topic.
    pub dlq_topic: Option<Topic>,
    /// With this key, as the incident tells it: as text, or in base64.
    pub key: Option<String>,
    /// Dead since this time.
    pub since: Option<Timestamp>,
    /// Dead before this time.
    pub until: Option<Timestamp>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// Incidents that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IncidentList {
    /// The incidents, the newest first.
    pub incidents: Vec<Found>,
    /// Whether the limit has left some out.
    pub more: bool,
    /// Objects that are no incidents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// One incident and where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The object's key.
    pub object: String,
    /// What it holds.
    #[serde(flatten)]
    pub incident: Incident,
}

/// What an object turned out to be.
enum Read {
    Incident(Box<Found>),
    Unreadable(String),
    Gone,
}

impl IncidentList {
    /// Finds incidents; reads no more objects than it needs.
    pub async fn find(bucket: &Bucket, filter: &Filter) -> anyhow::Result<Self> {
        let mut incidents = Vec::new();
        let list = Self::walk(bucket, filter, |found| incidents.push(found)).await?;
        Ok(Self { incidents, ..list })
    }

    /// Hands over incidents one by one, the newest first, and keeps none of them.
    pub(super) async fn walk(
        bucket: &Bucket,
        filter: &Filter,
        mut take: impl FnMut(Found),
    ) -> anyhow::Result<Self> {
        let mut taken = 0;
        let listed = bucket.list(DAYS).await?;
        let mut keys: Vec<String> = listed.into_iter().map(|object| object.key).collect();
        keys.retain(|key| filter.may_want(key));
        keys.sort_by_cached_key(|key| Reverse((millis_of(key), key.clone())));
        let reads = stream::iter(keys).map(|key| async move { read(bucket, key).await });
        let mut reads = pin!(reads.buffered(AT_ONCE));
        let mut list = Self::default();
        while let Some(read) = reads.try_next().await? {
            match read {
                Read::Incident(found) if !filter.wants(&found.incident) => {}
                Read::Incident(_) if Some(taken) == filter.limit => {
                    list.more = true;
                    break;
                }
                Read::Incident(found) => {
                    taken = taken.saturating_add(1);
                    take(*found);
                }
                Read::Unreadable(key) => list.unreadable.push(key),
                Read::Gone => {}
            }
        }
        Ok(list)
    }
}

impl Found {
    /// Reads one incident: by its key, or by the coordinates of its dead letter.
    pub async fn one(bucket: &Bucket, which: &Which) -> anyhow::Result<Self> {
        let key = match which {
            Which::Key(key) => key.clone(),
            Which::DeadLetter(at) => key_of(bucket, at).await?,
        };
        match read(bucket, key.clone()).await? {
            Read::Incident(found) => Ok(*found),
            Read::Unreadable(key) => bail!("{key} is no incident"),
            Read::Gone => bail!("there is no incident {key} in bucket {}", bucket.name()),
        }
    }
}

/// Names one incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By the key of its object.
    Key(String),
    /// By the place of its dead letter; of several the newest, since a topic may have been deleted and created again.
    DeadLetter(Coordinates),
}

impl Which {
    /// Reads a key or `topic/partition/offset`; nothing but incidents can be named, since a spilled record holds its payload.
    pub fn from_text(text: &str) -> Result<Self, String> {
        if text.starts_with(PREFIX) {
            return Ok(Self::Key(text.to_owned()));
        }
        text.parse().map(Self::DeadLetter).map_err(|_| {
            format!("{text:?} is neither a key that begins with {PREFIX} nor topic/partition/offset of a dead letter")
        })
    }
}

impl Filter {
    /// Tells whether an object of this key may be wanted; its class and day stand in it.
    fn may_want(&self, key: &str) -> bool {
        let of_class = self
            .class
            .is_none_or(|class| class_of(key).is_none_or(|named| named == class.as_str()));
        let day_of = |time: Timestamp| time.to_rfc3339()?.get(..10).map(str::to_owned);
        let day = part_of(key, "dt=").filter(|day| *day != "unknown");
        let of_time = day.is_none_or(|day| {
            let since = self.since.and_then(day_of);
            let until = self.until.and_then(day_of);
            since.is_none_or(|since| day >= since.as_str())
                && until.is_none_or(|until| day <= until.as_str())
        });
        // A spilled record's object is named after another topic.
        let of_topic = self.dlq_topic.as_ref().is_none_or(|topic| {
            let name = key.rsplit('/').next().unwrap_or_default();
            name.starts_with(&format!("{topic}-"))
        });
        of_class && of_time && of_topic
    }

    fn wants(&self, incident: &Incident) -> bool {
        let class = Told::class_of(incident.error_class.as_deref().unwrap_or_default());
        let code = Told::code_of(incident.error_code.as_deref().unwrap_or_default());
        self.class.is_none_or(|wanted| wanted == class)
            && self.code.is_none_or(|wanted| wanted == code)
            && is(
                self.original_topic.as_ref(),
                incident.original_topic.as_ref(),
            )
            && is(self.dlq_topic.as_ref(), incident.dlq_topic.as_ref())
            && self.key.as_ref().is_none_or(|wanted| {
                incident.key.as_ref() == Some(wanted)
                    || incident.key_base64.as_ref() == Some(wanted)
            })
            && self
                .since
                .is_none_or(|since| time_of(incident).is_some_and(|time| time >= since))
            && self
                .until
                .is_none_or(|until| time_of(incident).is_some_and(|time| time < until))
    }
}

fn is(wanted: Option<&Topic>, told: Option<&String>) -> bool {
    wanted.is_none_or(|wanted| told.is_some_and(|told| told == wanted.as_str()))
}

/// Returns the class that a key names.
pub(super) fn class_of(key: &str) -> Option<&str> {
    part_of(key, "error_class=")
}

fn part_of<'a>(key: &'a str, name: &str) -> Option<&'a str> {
    key.split('/').find_map(|part| part.strip_prefix(name))
}

/// Returns the time at the end of a key, by which the newest are found without reading any.
fn millis_of(key: &str) -> Option<i64> {
    let name = key.strip_suffix(".json")?;
    name.rsplit('-').next()?.parse().ok()
}

/// Returns when the record died; a spilled one has no time in the dead-letter topic.
pub(super) fn time_of(incident: &Incident) -> Option<Timestamp> {
    let text = incident.dlq_record_time.as_deref();
    Timestamp::from_rfc3339(text.or(incident.error_timestamp.as_deref())?)
}

async fn read(bucket: &Bucket, key: String) -> anyhow::Result<Read> {
    let Some(object) = bucket.get(&key).await? else {
        return Ok(Read::Gone);
    };
    Ok(match Incident::from_json(&key, &object.body) {
        Ok(incident) => Read::Incident(Box::new(Found {
            object: key,
            incident,
        })),
        Err(_) => Read::Unreadable(key),
    })
}

async fn key_of(bucket: &Bucket, at: &Coordinates) -> anyhow::Result<String> {
    let Coordinates {
        topic,
        partition,
        offset,
    } = at;
    let name = format!("/{topic}-{partition}-{:020}-", offset.get());
    let listed = bucket.list(DAYS).await?;
    let of_it = listed
        .into_iter()
        .filter(|object| object.key.contains(&name));
    of_it
        .map(|object| object.key)
        .max_by_key(|key| millis_of(key))
        .with_context(|| format!("there is no incident of {at} in bucket {}", bucket.name()))
}

impl fmt::Display for IncidentList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.incidents.is_empty() {
            return f.write_str("no incidents");
        }
        let heading = [
            "time", "class", "code", "reason", "original", "key", "dlq", "retries",
        ];
        let rows = self.incidents.iter().map(Found::row).collect();
        f.write_str(&table(&heading, &[7], rows))
    }
}

impl Found {
    fn row(&self) -> Vec<String> {
        let incident = &self.incident;
        let place = |parts: [Option<String>; 3]| {
            let parts: Option<Vec<String>> = parts.into_iter().collect();
            or_dash(parts.map(|parts| parts.join("/")))
        };
        let dlq = place([
            incident.dlq_topic.clone(),
            incident.dlq_partition.map(|number| number.to_string()),
            incident.dlq_offset.map(|number| number.to_string()),
        ]);
        vec![
            or_dash(time_of(incident).and_then(Timestamp::to_rfc3339)),
            or_dash(incident.error_class.as_ref()),
            or_dash(incident.error_code.as_ref()),
            or_dash(incident.dlq_reason.as_ref()),
            place([
                incident.original_topic.clone(),
                incident.original_partition.clone(),
                incident.original_offset.clone(),
            ]),
            or_dash(incident.key.as_ref().or(incident.key_base64.as_ref())),
            if incident.spill.is_some() {
                "spilled".to_owned()
            } else {
                dlq
            },
            or_dash(incident.retry_count.as_ref()),
        ]
    }
}

impl fmt::Display for Found {
    /// Writes the whole incident, one field a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pretty = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        f.write_str(&pretty)
    }
}
