//! How far a mapping's group has come in its topic.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pipeline::{Partition, Topic};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

/// How long the brokers may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Asks the brokers for the end of a topic and for what a group has committed; joins nothing.
#[derive(Clone)]
pub(super) struct Offsets {
    consumer: Arc<BaseConsumer>,
    topic: Topic,
}

/// The offsets of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartitionOffsets {
    /// The offset of the first record that is not done.
    pub(super) next: i64,
    /// The offset that the next record gets.
    pub(super) end: i64,
}

impl fmt::Debug for Offsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offsets")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

impl Offsets {
    pub(super) fn of(brokers: &str, topic: &Topic, group: &str) -> anyhow::Result<Self> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", brokers)
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("allow.auto.create.topics", "false");
        let consumer = config
            .create()
            .with_context(|| format!("cannot make a consumer for {topic}"))?;
        Ok(Self {
            consumer: Arc::new(consumer),
            topic: topic.clone(),
        })
    }

    /// Returns the offsets of each partition.
    pub(super) async fn read(&self) -> anyhow::Result<BTreeMap<Partition, PartitionOffsets>> {
        let asking = self.clone();
        tokio::task::spawn_blocking(move || asking.ask())
            .await
            .context("the question was broken off")?
            .with_context(|| format!("the brokers do not tell the offsets of {}", self.topic))
    }

    /// Returns how many records are not done.
    pub(super) async fn left(&self) -> anyhow::Result<u64> {
        let offsets = self.read().await?;
        let left = offsets.values().map(|at| at.end.saturating_sub(at.next));
        Ok(u64::try_from(left.sum::<i64>()).unwrap_or(0))
    }

    /// Asks; blocks. What was committed is asked for first: what is left is never told too small.
    fn ask(&self) -> anyhow::Result<BTreeMap<Partition, PartitionOffsets>> {
        let topic = self.topic.as_str();
        let metadata = self.consumer.fetch_metadata(Some(topic), LIMIT)?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        let mut list = TopicPartitionList::new();
        for partition in found.map_or(&[][..], |found| found.partitions()) {
            list.add_partition(topic, partition.id());
        }
        let committed = self.consumer.committed_offsets(list, LIMIT)?;
        let mut offsets = BTreeMap::new();
        for element in committed.elements() {
            let (start, end) = self
                .consumer
                .fetch_watermarks(topic, element.partition(), LIMIT)?;
            let next = match element.offset() {
                Offset::Offset(next) => next,
                // The group has committed nothing here: it begins at the oldest record.
                Offset::Invalid
                | Offset::Beginning
                | Offset::End
                | Offset::Stored
                | Offset::OffsetTail(_) => start,
            };
            let partition = Partition::new(element.partition()).context("no such partition")?;
            offsets.insert(partition, PartitionOffsets { next, end });
        }
        anyhow::ensure!(!offsets.is_empty(), "the topic is not there");
        Ok(offsets)
    }
}
