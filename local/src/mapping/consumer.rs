//! The mapping's Kafka consumer: eager assignment, nothing committed but what the mapping says.

use std::time::Duration;

use anyhow::Context;
use pipeline::{Partition, Topic};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::{ClientConfig, ClientContext, TopicPartitionList};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::settings::{MappingSettings, StartingPosition};

/// A member of the mapping's group.
pub(super) struct Member {
    pub(super) consumer: StreamConsumer<Changes>,
    pub(super) changes: UnboundedReceiver<Change>,
}

/// Passes on what happens to the assignment.
pub(super) struct Changes(UnboundedSender<Change>);

/// What happened to the assignment; with eager assignment a revoke takes everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Assigned(Vec<Partition>),
    Revoked(Vec<Partition>),
}

impl ClientContext for Changes {}

impl ConsumerContext for Changes {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(list) = rebalance {
            self.0.send(Change::Revoked(partitions(list))).ok();
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(list) = rebalance {
            self.0.send(Change::Assigned(partitions(list))).ok();
        }
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    list.elements()
        .iter()
        .filter_map(|element| Partition::new(element.partition()))
        .collect()
}

impl Member {
    /// Joins the group; reads nothing before it is polled.
    pub(super) fn join(settings: &MappingSettings) -> anyhow::Result<Self> {
        let (sender, changes) = mpsc::unbounded_channel();
        let start = match settings.start {
            StartingPosition::TrimHorizon => "earliest",
            StartingPosition::Latest => "latest",
            StartingPosition::AtTimestamp(_) => "error",
        };
        let mut config = ClientConfig::new();
        let own = [
            ("bootstrap.servers", settings.brokers.as_str()),
            ("group.id", settings.group.as_str()),
            ("client.id", "brew-mapping"),
            ("auto.offset.reset", start),
            // Cooperative assignment was seen to drop records at a revoke.
            ("partition.assignment.strategy", "range"),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("enable.partition.eof", "true"),
            ("allow.auto.create.topics", "false"),
            ("session.timeout.ms", "10000"),
            ("heartbeat.interval.ms", "1000"),
            ("topic.metadata.refresh.interval.ms", "5000"),
            ("fetch.wait.max.ms", "100"),
            ("fetch.error.backoff.ms", "100"),
            ("reconnect.backoff.max.ms", "1000"),
            ("queued.max.messages.kbytes", "16384"),
        ];
        for (name, value) in own {
            config.set(name, value);
        }
        for (name, value) in &settings.client {
            config.set(name, value);
        }
        let consumer: StreamConsumer<Changes> = config
            .create_with_context(Changes(sender))
            .with_context(|| format!("cannot make the consumer of {}", settings.name))?;
        consumer
            .subscribe(&[settings.topic.as_str()])
            .with_context(|| format!("cannot subscribe to {}", settings.topic))?;
        Ok(Self { consumer, changes })
    }
}

/// Stops or goes on with fetching of partitions.
pub(super) fn set_fetching(
    consumer: &StreamConsumer<Changes>,
    topic: &Topic,
    fetching: &super::backlog::Fetching,
) -> anyhow::Result<()> {
    let list = |partitions: &[Partition]| {
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition(topic.as_str(), partition.get());
        }
        list
    };
    if !fetching.pause.is_empty() {
        consumer.pause(&list(&fetching.pause))?;
    }
    if !fetching.resume.is_empty() {
        consumer.resume(&list(&fetching.resume))?;
    }
    Ok(())
}

/// How long to wait after an error of the consumer before reading on.
pub(super) const AFTER_TROUBLE: Duration = Duration::from_millis(200);
