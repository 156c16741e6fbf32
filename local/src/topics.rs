//! The topics of a pipeline: created, checked and deleted.

use std::collections::BTreeMap;

use anyhow::Context;
use pipeline::{Counting, Stages, Topic};
use serde::Serialize;

use crate::admin::{Admin, Change, NewTopicPlan};
use crate::mapping::group_of;

/// How much larger than on main a record may be on the other topics: the room that our headers need.
pub const HEADROOM_BYTES: u64 = 64 * 1024;

/// The topics of one pipeline, and the consumer groups of the mappings that read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    main: Topic,
    ours: Vec<Topic>,
    groups: Vec<String>,
}

/// What became of one topic or group, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub change: Change,
    /// What a person should see to; empty when all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Layout {
    /// Lays out a ladder.
    pub fn of_ladder(stages: &Stages) -> Self {
        let main = stages.main().topic();
        let retries = stages.all().map(pipeline::Stage::topic);
        let retries = retries.filter(|topic| *topic != main);
        let groups = stages
            .all()
            .map(|stage| group_of("payments", stage.topic()));
        Self {
            main: main.clone(),
            ours: retries.chain([stages.dlq()]).cloned().collect(),
            groups: groups.chain([group_of("dlq", stages.dlq())]).collect(),
        }
    }

    /// Lays out the orders pipeline.
    pub fn of_orders(counting: &Counting) -> Self {
        Self {
            main: counting.topic().clone(),
            ours: vec![counting.dlq().clone()],
            groups: vec![
                group_of("orders", counting.topic()),
                group_of("dlq", counting.dlq()),
            ],
        }
    }

    /// Returns every topic, the one that producers write to first.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        [&self.main].into_iter().chain(&self.ours)
    }

    /// Returns the consumer group of each mapping.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }
}

/// Creates the topics of a pipeline where they are missing, and checks those that exist.
///
/// Retry topics and the dead-letter topic take records 64 KiB larger than main does. A retry or dead-letter topic that is compacted
/// is an error: of two failures with one key it would keep one, and refuse a record without a key for ever.
pub async fn create(
    admin: &Admin,
    layout: &Layout,
    partitions: i32,
) -> anyhow::Result<Vec<Changed>> {
    let main = &layout.main;
    let mut all = vec![create_one(admin, plan(main, partitions, None)).await?];
    let main_bytes = max_message_bytes(&admin.config(main).await?)
        .with_context(|| format!("topic {main} does not tell its max.message.bytes"))?;
    let bytes = main_bytes.saturating_add(HEADROOM_BYTES);
    for topic in &layout.ours {
        let mut changed = create_one(admin, plan(topic, partitions, Some(bytes))).await?;
        let config = admin.config(topic).await?;
        anyhow::ensure!(
            !is_compacted(&config),
            "topic {topic} is compacted, so that it would lose dead letters: set its cleanup.policy to delete"
        );
        changed.warnings.extend(too_small(&config, bytes, main));
        all.push(changed);
    }
    Ok(all)
}

/// Deletes the topics of a pipeline with everything in them.
pub async fn delete(admin: &Admin, layout: &Layout) -> anyhow::Result<Vec<Changed>> {
    let mut all = Vec::new();
    for topic in layout.topics() {
        all.push(Changed {
            name: topic.to_string(),
            change: admin.delete(topic).await?,
            warnings: Vec::new(),
        });
    }
    Ok(all)
}

/// Deletes the consumer groups of a pipeline's mappings with their offsets.
pub async fn delete_groups(admin: &Admin, layout: &Layout) -> anyhow::Result<Vec<Changed>> {
    let mut all = Vec::new();
    for name in layout.groups() {
        all.push(Changed {
            name: name.clone(),
            change: admin.delete_group(name).await?,
            warnings: Vec::new(),
        });
    }
    Ok(all)
}

fn plan(topic: &Topic, partitions: i32, max_bytes: Option<u64>) -> NewTopicPlan {
    let mut config = BTreeMap::from([("cleanup.policy", "delete".to_owned())]);
    config.extend(max_bytes.map(|bytes| ("max.message.bytes", bytes.to_string())));
    NewTopicPlan {
        topic: topic.clone(),
        partitions,
        config,
    }
}

async fn create_one(admin: &Admin, plan: NewTopicPlan) -> anyhow::Result<Changed> {
    let change = admin.create(&plan).await?;
    let name = plan.topic.to_string();
    let found = admin.partitions(&name).await?;
    let wanted = usize::try_from(plan.partitions).ok();
    let warnings = match found {
        Some(number) if found != wanted => {
            vec![format!(
                "it has {number} partitions, not {}",
                plan.partitions
            )]
        }
        Some(_) | None => Vec::new(),
    };
    Ok(Changed {
        name,
        change,
        warnings,
    })
}

fn max_message_bytes(config: &BTreeMap<String, String>) -> Option<u64> {
    config.get("max.message.bytes")?.parse().ok()
}

fn is_compacted(config: &BTreeMap<String, String>) -> bool {
    config
        .get("cleanup.policy")
        .is_some_and(|policy| policy.split(',').any(|word| word.trim() == "compact"))
}

fn too_small(config: &BTreeMap<String, String>, bytes: u64, main: &Topic) -> Option<String> {
    let has = max_message_bytes(config)?;
    (has < bytes).then(|| {
        format!(
            "its max.message.bytes is {has}: the largest records of {main} may not fit with our headers, which takes {bytes}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        entries.iter().map(owned).collect()
    }

    #[test]
    fn any_policy_that_compacts_is_seen() {
        let check = |policy: &str, expected: bool| {
            let config = config(&[("cleanup.policy", policy)]);
            assert_eq!(is_compacted(&config), expected, "{policy}");
        };
        check("delete", false);
        check("compact", true);
        check("compact,delete", true);
        check("delete, compact", true);
        assert!(!is_compacted(&config(&[])));
    }

    #[test]
    fn a_topic_without_room_for_our_headers_is_warned_about() {
        let main = "main".parse().unwrap();
        let check = |has: &str, warned: bool| {
            let config = config(&[("max.message.bytes", has)]);
            assert_eq!(
                too_small(&config, 1_114_124, &main).is_some(),
                warned,
                "{has}"
            );
        };
        check("1048588", true);
        check("1114123", true);
        check("1114124", false);
    }
}
