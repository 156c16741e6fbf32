//! The mapping's Kafka consumer: eager assignment, nothing committed but what the mapping says.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use pipeline::{Partition, Topic};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, StreamConsumer};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientConfig, ClientContext, Offset, TopicPartitionList};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::settings::{MappingSettings, StartingPosition};
use super::start::{Committed, Placed, place};
use super::{statistics, topic_id};

/// A member of the mapping's group.
pub(super) struct Member {
    pub(super) consumer: StreamConsumer<Changes>,
    pub(super) changes: UnboundedReceiver<Change>,
}

/// Passes on what happens to the assignment.
pub(super) struct Changes {
    topic: Topic,
    start: StartingPosition,
    /// What is known for the next assignment.
    committed: Mutex<Committed>,
    told: UnboundedSender<Change>,
}

/// What happened to the assignment; with eager assignment a revoke takes everything.
#[derive(Debug)]
pub(super) enum Change {
    /// These partitions are read.
    Assigned(Placed),
    /// None is read, since it cannot be told where to begin.
    Unplaced(anyhow::Error),
    Revoked(Vec<Partition>),
    /// The topic is another one than before.
    Recreated,
    /// The client has come to these ends.
    Ends(Vec<(Partition, i64)>),
}

impl Changes {
    /// Makes the next assignment look whether what was committed is there.
    pub(super) fn may_be_gone(&self) {
        let mut committed = self.committed();
        match *committed {
            Committed::Holds | Committed::MayBeGone => *committed = Committed::MayBeGone,
            Committed::OfAnotherTopic => {}
        }
    }

    fn committed(&self) -> MutexGuard<'_, Committed> {
        self.committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn place(
        &self,
        consumer: &BaseConsumer<Self>,
        list: &mut TopicPartitionList,
    ) -> anyhow::Result<Placed> {
        let committed = std::mem::take(&mut *self.committed());
        let placed = place(consumer, self.start, committed, list).and_then(|placed| {
            consumer.assign(list)?;
            Ok(placed)
        });
        if placed.is_err() {
            let mut now = self.committed();
            match *now {
                Committed::Holds => *now = committed,
                Committed::MayBeGone | Committed::OfAnotherTopic => {}
            }
        }
        placed
    }
}

impl ClientContext for Changes {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        if !matches!(level, RDKafkaLogLevel::Debug) {
            DefaultClientContext.log(level, facility, line);
        } else if topic_id::tells_of_another(line, self.topic.as_str()) {
            *self.committed() = Committed::OfAnotherTopic;
            self.told.send(Change::Recreated).ok();
        }
    }

    fn stats_raw(&self, statistics: &[u8]) {
        let ends = statistics::ends(statistics, self.topic.as_str());
        self.told.send(Change::Ends(ends)).ok();
    }
}

impl ConsumerContext for Changes {
    /// Assigns where to begin before anything is read, so that this is settled before the partitions can change hands again.
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        response: RDKafkaRespErr,
        list: &mut TopicPartitionList,
    ) {
        let change = if response == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
            self.place(consumer, list).map_or_else(
                |error| {
                    // The client waits for some assignment before it can join again.
                    consumer.assign(&TopicPartitionList::new()).ok();
                    Change::Unplaced(error)
                },
                Change::Assigned,
            )
        } else {
            // Before anything of it is read by others.
            self.told.send(Change::Revoked(partitions(list))).ok();
            match consumer.unassign() {
                Ok(()) => return,
                Err(error) => Change::Unplaced(error.into()),
            }
        };
        self.told.send(change).ok();
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<Partition> {
    list.elements()
        .iter()
        .filter_map(|element| Partition::new(element.partition()))
        .collect()
}

/// Returns the offsets of a list, without partitions that have none; an error when one could not be asked for.
pub(super) fn offsets_of(list: &TopicPartitionList) -> anyhow::Result<BTreeMap<Partition, i64>> {
    let mut offsets = BTreeMap::new();
    for element in list.elements() {
        let about = || format!("partition {}", element.partition());
        element.error().with_context(about)?;
        let partition = Partition::new(element.partition()).with_context(about)?;
        match element.offset() {
            Offset::Offset(offset) => {
                offsets.insert(partition, offset);
            }
            Offset::Beginning
            | Offset::End
            | Offset::Stored
            | Offset::Invalid
            | Offset::OffsetTail(_) => {}
        }
    }
    Ok(offsets)
}

impl Member {
    /// Joins the group; reads nothing before it is polled.
    pub(super) fn join(settings: &MappingSettings) -> anyhow::Result<Self> {
        let (sender, changes) = mpsc::unbounded_channel();
        let mut config = ClientConfig::new();
        let own = [
            ("bootstrap.servers", settings.brokers.as_str()),
            ("group.id", settings.group.as_str()),
            ("client.id", "brew-mapping"),
            // Where to begin is said at each assignment; that an offset is not there must be told.
            ("auto.offset.reset", "error"),
            ("debug", topic_id::LOGGED),
            ("statistics.interval.ms", statistics::EVERY_MS),
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
        config.set_log_level(RDKafkaLogLevel::Debug);
        let consumer: StreamConsumer<Changes> = config
            .create_with_context(Changes {
                topic: settings.topic.clone(),
                start: settings.start,
                committed: Mutex::default(),
                told: sender,
            })
            .with_context(|| format!("cannot make the consumer of {}", settings.name))?;
        subscribe(&consumer, &settings.topic)?;
        Ok(Self { consumer, changes })
    }
}

/// Joins the group, again when it is joined already.
pub(super) fn subscribe(consumer: &StreamConsumer<Changes>, topic: &Topic) -> anyhow::Result<()> {
    consumer.unsubscribe();
    consumer
        .subscribe(&[topic.as_str()])
        .with_context(|| format!("cannot subscribe to {topic}"))
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
