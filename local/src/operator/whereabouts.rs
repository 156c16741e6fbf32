//! Where a payment is: the topics that it is in or passed through, its incidents, and what the provider says.

mod charge;
mod search;
mod sentence;

use std::collections::BTreeMap;
use std::fmt;

use pipeline::Timestamp;
use serde::Serialize;

pub use self::charge::{Charge, Provider};
pub use self::search::{Search, find};
use super::incident_list::Found;
use super::table::{harmless, or_dash, table};

/// Where a payment is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Whereabouts {
    /// The payment's id.
    pub payment: String,
    /// The answer as a sentence.
    pub answer: String,
    /// Every place that holds a record of it, in the order of their times.
    pub sightings: Vec<Sighting>,
    /// Whether there are more places than are told here.
    pub more: bool,
    /// Topics that do not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Partitions, as `topic/partition`, of which an open transaction hides the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Its incidents, the newest first; absent when no bucket is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incidents: Option<Vec<Found>>,
    /// What the provider says; absent when it is not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Charge>,
}

/// A record of the payment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sighting {
    /// Where it is, `topic/partition/offset`.
    pub at: String,
    /// The stage that reads it, such as `retry 5m`; `dlq` for a dead letter.
    pub stage: String,
    /// When it was written, RFC 3339; absent when it has no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// What has become of it there.
    pub state: State,
    /// When it is due, RFC 3339, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    /// The incident's key, of a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// Our headers, which tell how it came here.
    pub headers: BTreeMap<String, String>,
    #[serde(skip)]
    written: Timestamp,
    #[serde(skip)]
    due_at: Option<Timestamp>,
}

/// What has become of a record where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its stage is done with it.
    Passed,
    /// Its stage has not done it yet.
    Waits,
    /// Its stage has never committed anything, and nothing tells of a later place.
    Unknown,
    /// It is a dead letter.
    Dead,
    /// It is a dead letter that went back.
    Replayed,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Waits => "waits",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
            Self::Replayed => "replayed",
        }
    }
}

impl Sighting {
    /// Tells in a few words how the record came here.
    fn story(&self) -> String {
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        let mut parts = Vec::new();
        if let Some(code) = header("error.code") {
            let class = header("error.class").unwrap_or("-");
            parts.push(format!("{class} {code}"));
        }
        if let Some(previous) = header("previous.topic") {
            parts.push(format!("from {previous}"));
        }
        if let Some(reason) = header("dlq-reason") {
            parts.push(reason.to_owned());
        }
        if let Some(count) = header("replay.count") {
            parts.push(format!(
                "replay {count} of {}",
                header("replay.from-dlq").unwrap_or("-")
            ));
        }
        parts.join(", ")
    }

    fn row(&self) -> Vec<String> {
        vec![
            or_dash(self.time.as_ref()),
            self.stage.clone(),
            self.at.clone(),
            match &self.due {
                Some(due) => format!("{} until {due}", self.state.as_str()),
                None => self.state.as_str().to_owned(),
            },
            self.story(),
        ]
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&harmless(&self.answer))?;
        if !self.sightings.is_empty() {
            let rows = self.sightings.iter().map(Sighting::row).collect();
            let heading = ["time", "stage", "place", "state", "story"];
            write!(f, "\n\n{}", table(&heading, &[], rows))?;
        }
        if self.more {
            f.write_str("\n… and more places")?;
        }
        for incident in self.incidents.iter().flatten() {
            write!(f, "\nincident: {}", incident.object)?;
        }
        if let Some(provider) = &self.provider {
            write!(f, "\nprovider: {provider}")?;
        }
        for topic in &self.missing {
            write!(f, "\nthere is no topic {topic}")?;
        }
        for partition in &self.held_back {
            write!(f, "\nan open transaction hides the end of {partition}")?;
        }
        Ok(())
    }
}
