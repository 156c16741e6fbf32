//! Incidents counted by what they have in common.

use std::collections::BTreeMap;
use std::fmt;

use aws::Bucket;
use pipeline::{Incident, Timestamp};
use serde::Serialize;

use super::incident_list::{Filter, IncidentList, time_of};
use super::table::{or_dash, table};

/// What incidents are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// Their error class.
    Class,
    /// Their error code.
    Code,
    /// The topic from which they were first read.
    Topic,
}

/// Groups of incidents, the largest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IncidentGroups {
    /// What they are grouped by.
    pub group: GroupBy,
    /// The groups.
    pub groups: Vec<Group>,
    /// Objects that are no incidents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// Incidents that have something in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// What they have in common; absent when it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many there are.
    pub incidents: u64,
    /// When the first of them died, RFC 3339.
    pub first: Option<String>,
    /// When the last of them died, RFC 3339.
    pub last: Option<String>,
}

/// What is counted of one group.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    incidents: u64,
    ends: Option<(Timestamp, Timestamp)>,
}

impl GroupBy {
    fn of(self, incident: &Incident) -> Option<String> {
        match self {
            Self::Class => incident.error_class.clone(),
            Self::Code => incident.error_code.clone(),
            Self::Topic => incident.original_topic.clone(),
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Code => "code",
            Self::Topic => "original topic",
        }
    }
}

impl Count {
    fn add(&mut self, time: Option<Timestamp>) {
        self.incidents = self.incidents.saturating_add(1);
        if let Some(time) = time {
            let (first, last) = self.ends.unwrap_or((time, time));
            self.ends = Some((first.min(time), last.max(time)));
        }
    }
}

impl IncidentGroups {
    /// Counts the incidents that a filter wants, and holds none of them.
    pub async fn count(bucket: &Bucket, filter: &Filter, group: GroupBy) -> anyhow::Result<Self> {
        let mut counts: BTreeMap<Option<String>, Count> = BTreeMap::new();
        let list = IncidentList::walk(bucket, filter, |found| {
            let count = counts.entry(group.of(&found.incident)).or_default();
            count.add(time_of(&found.incident));
        })
        .await?;
        let mut groups: Vec<Group> = counts
            .into_iter()
            .map(|(name, count)| Group {
                name,
                incidents: count.incidents,
                first: count.ends.and_then(|(first, _)| first.to_rfc3339()),
                last: count.ends.and_then(|(_, last)| last.to_rfc3339()),
            })
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.incidents));
        Ok(Self {
            group,
            groups,
            unreadable: list.unreadable,
        })
    }
}

impl fmt::Display for IncidentGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.groups.is_empty() {
            return f.write_str("no incidents");
        }
        let rows = self.groups.iter().map(|group| {
            vec![
                or_dash(group.name.as_ref()),
                group.incidents.to_string(),
                or_dash(group.first.as_ref()),
                or_dash(group.last.as_ref()),
            ]
        });
        let heading = [self.group.heading(), "incidents", "first", "last"];
        f.write_str(&table(&heading, &[1], rows.collect()))
    }
}
