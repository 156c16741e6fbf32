//! Cleaning up: topics, groups and objects of a pipeline, and nothing else.

use std::collections::BTreeMap;
use std::fmt;

use aws::Bucket;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use pipeline::Topic;
use serde::Serialize;

use super::cluster::Cluster;
use super::table::table;
use crate::admin::{Admin, Change};
use crate::topics::{self, Changed, Layout};

/// Under what keys the pipeline's objects lie; a bucket may hold others.
pub const PREFIXES: [&str; 3] = ["incidents/", "spill/", "replays/"];

/// How many objects are deleted at once.
const AT_ONCE: usize = 32;

/// What would be deleted, as a person is asked.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The pipelines whose topics and groups go.
    pub layouts: &'a [Layout],
    /// The brokers that have them.
    pub brokers: &'a str,
    /// The bucket whose objects go.
    pub bucket: &'a Bucket,
}

/// What was deleted; a part that could not be is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// The consumer groups.
    pub groups: Option<Vec<Changed>>,
    /// The topics.
    pub topics: Option<Vec<Changed>>,
    /// How many objects, by what their keys begin with.
    pub objects: Option<Objects>,
}

/// How many objects were deleted, by what their keys begin with.
pub type Objects = BTreeMap<&'static str, u64>;

impl Cleaned {
    /// Deletes groups, then topics, and apart from them objects; goes on where one part fails, and returns what failed.
    ///
    /// A group that still has members is an error, after which groups and topics stay: a mapping is at work.
    pub async fn clean(
        cluster: &Cluster,
        admin: &Admin,
        scope: &Scope<'_>,
    ) -> (Self, Vec<anyhow::Error>) {
        let mut cleaned = Self::default();
        let mut faults = Vec::new();
        match objects(scope.bucket).await {
            Ok(objects) => cleaned.objects = Some(objects),
            Err(error) => faults.push(error),
        }
        match groups(cluster, admin, scope.layouts).await {
            Ok(groups) => cleaned.groups = Some(groups),
            Err(error) => {
                faults.push(error);
                return (cleaned, faults);
            }
        }
        match topics(admin, scope.layouts).await {
            Ok(topics) => cleaned.topics = Some(topics),
            Err(error) => faults.push(error),
        }
        (cleaned, faults)
    }
}

async fn topics(admin: &Admin, layouts: &[Layout]) -> anyhow::Result<Vec<Changed>> {
    let mut all = Vec::new();
    for layout in layouts {
        all.extend(topics::delete(admin, layout).await?);
    }
    Ok(all)
}

/// Deletes the groups of the pipelines' mappings that are there, unless one of them has members.
async fn groups(
    cluster: &Cluster,
    admin: &Admin,
    layouts: &[Layout],
) -> anyhow::Result<Vec<Changed>> {
    let there = cluster.groups().await?;
    let ours: Vec<&String> = layouts.iter().flat_map(Layout::groups).collect();
    let busy: Vec<&str> = ours
        .iter()
        .filter(|group| there.get(**group).is_some_and(|members| *members > 0))
        .map(|group| group.as_str())
        .collect();
    anyhow::ensure!(
        busy.is_empty(),
        "groups still have members, stop their mappings first: {}",
        busy.join(", ")
    );
    let mut all = Vec::new();
    for name in ours {
        // librdkafka ends the process when a broker knows no such request: only what is there is asked for.
        let change = if there.contains_key(name) {
            admin.delete_group(name).await?
        } else {
            Change::Absent
        };
        all.push(Changed {
            name: name.clone(),
            change,
            warnings: Vec::new(),
        });
    }
    Ok(all)
}

/// Deletes a pipeline's objects and returns how many there were.
async fn objects(bucket: &Bucket) -> anyhow::Result<Objects> {
    let mut deleted = Objects::new();
    for prefix in PREFIXES {
        let listed = bucket.list(prefix).await?;
        let number = u64::try_from(listed.len()).unwrap_or(u64::MAX);
        stream::iter(listed)
            .map(|object| async move { bucket.delete(&object.key).await })
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        deleted.insert(prefix, number);
    }
    Ok(deleted)
}

impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = self.layouts.iter().flat_map(Layout::topics);
        let topics: Vec<&str> = topics.map(Topic::as_str).collect();
        let bucket = self.bucket.name();
        let endpoint = self.bucket.endpoint();
        let at = endpoint.map_or_else(|| "AWS".to_owned(), ToString::to_string);
        write!(
            f,
            "This deletes, with everything in them:\n  topics {} at {}\n  the consumer groups of their mappings\n  all objects under {} in bucket {bucket} at {at}",
            topics.join(", "),
            self.brokers,
            PREFIXES.join(", "),
        )
    }
}

impl fmt::Display for Cleaned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Vec::new();
        let changed = |kind: &str, list: &Option<Vec<Changed>>| -> Vec<Vec<String>> {
            let list = list.iter().flatten();
            list.map(|one| vec![kind.to_owned(), one.name.clone(), one.change.to_string()])
                .collect()
        };
        rows.extend(changed("group", &self.groups));
        rows.extend(changed("topic", &self.topics));
        for (prefix, number) in self.objects.iter().flatten() {
            let told = format!("{number} deleted");
            rows.push(vec!["objects".to_owned(), (*prefix).to_owned(), told]);
        }
        f.write_str(&table(&["what", "name", "state"], &[], rows))
    }
}
