//! What the brokers tell of topics and groups; nothing is read from the topics, and no group is joined.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use kafka::Connection;
use pipeline::{Offset, Partition, Topic};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::metadata::MetadataPartition;
use rdkafka::{ClientConfig, ClientContext, Offset as NativeOffset, TopicPartitionList};
use tokio::sync::oneshot;

/// How long the brokers may take over one question.
const LIMIT: Duration = Duration::from_secs(8);

/// How often a question is asked again while the brokers are sorting themselves out, and how long to wait in between.
const AGAIN: (u32, Duration) = (25, Duration::from_millis(200));

/// A cluster that is asked questions.
#[derive(Clone, Debug)]
pub struct Cluster {
    connection: Connection,
}

/// The offsets of a topic, by partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicOffsets {
    /// The first offset that each partition still has, and the one that its next record gets.
    pub partitions: BTreeMap<Partition, (Offset, Offset)>,
}

/// Remembers the last trouble with a broker: what a mere timeout does not say.
#[derive(Clone, Default)]
struct Trouble(Arc<Mutex<Option<String>>>);

impl ClientContext for Trouble {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        if facility == "FAIL" {
            let told = message.split_once("]: ").map_or(message, |(_, text)| text);
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(told.to_owned());
        }
    }

    fn error(&self, _: KafkaError, _: &str) {}
}

impl ConsumerContext for Trouble {}

impl fmt::Display for Trouble {
    /// Writes `; <trouble>`, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(text) => write!(f, "; {text}"),
            None => Ok(()),
        }
    }
}

impl Cluster {
    /// Asks the brokers of a connection.
    pub const fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// Returns every topic with its partitions; fails within 10 s when the brokers are away.
    pub async fn topics(&self) -> anyhow::Result<BTreeMap<String, Vec<Partition>>> {
        self.ask("which topics there are", None, |consumer| {
            let metadata = consumer.fetch_metadata(None, LIMIT)?;
            let topics = metadata.topics().iter();
            let topics = topics.filter(|topic| topic.error().is_none());
            let topics = topics.map(|topic| {
                let numbers = topic.partitions().iter().map(MetadataPartition::id);
                (
                    topic.name().to_owned(),
                    numbers.filter_map(Partition::new).collect(),
                )
            });
            Ok(topics.collect())
        })
        .await
    }

    /// Returns where each partition of a topic begins and ends.
    pub async fn offsets(
        &self,
        topic: &Topic,
        partitions: &[Partition],
    ) -> anyhow::Result<TopicOffsets> {
        let (name, numbers) = (topic.clone(), partitions.to_vec());
        let question = format!("for the offsets of topic {topic}");
        let (starts, ends) = self
            .ask(&question, None, move |consumer| {
                let of = |wanted| offsets_at(consumer, &name, &numbers, wanted);
                Ok((of(NativeOffset::Beginning)?, of(NativeOffset::End)?))
            })
            .await?;
        let both = ends.into_iter().filter_map(|(partition, end)| {
            let start = starts.get(&partition).copied()?;
            // Records may be deleted between two questions.
            Some((partition, (start.min(end), end)))
        });
        Ok(TopicOffsets {
            partitions: both.collect(),
        })
    }

    /// Returns the offset that a group has committed for each partition of a topic; partitions without one are absent.
    pub async fn committed(
        &self,
        group: &str,
        topic: &Topic,
        partitions: &[Partition],
    ) -> anyhow::Result<BTreeMap<Partition, Offset>> {
        let (name, numbers) = (topic.clone(), partitions.to_vec());
        let question = format!("what group {group} has committed");
        self.ask(&question, Some(group), move |consumer| {
            let list = list(&name, &numbers, NativeOffset::Invalid)?;
            numbered(&consumer.committed_offsets(list, LIMIT)?)
        })
        .await
    }

    /// Returns every consumer group with the number of its members.
    pub async fn groups(&self) -> anyhow::Result<BTreeMap<String, usize>> {
        self.ask("which groups there are", None, |consumer| {
            let list = consumer.fetch_group_list(None, LIMIT)?;
            let groups = list.groups().iter();
            let groups = groups.map(|group| (group.name().to_owned(), group.members().len()));
            Ok(groups.collect())
        })
        .await
    }

    /// Asks on a thread of its own, on which the client is closed as well: closing may wait for a host that is being looked up.
    async fn ask<T: Send + 'static>(
        &self,
        what: &str,
        group: Option<&str>,
        question: impl Fn(&BaseConsumer<Trouble>) -> KafkaResult<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let trouble = Trouble::default();
        let consumer: BaseConsumer<Trouble> = self
            .config(group)
            .create_with_context(trouble.clone())
            .context("cannot make a Kafka client")?;
        let (sender, answer) = oneshot::channel();
        std::thread::Builder::new()
            .name("kafka question".to_owned())
            .spawn(move || {
                sender.send(patiently(|| question(&consumer))).ok();
            })
            .context("cannot start a thread for a question to the brokers")?;
        let answer = answer.await.unwrap_or(Err(KafkaError::Canceled));
        answer.map_err(|error| {
            let connection = &self.connection;
            anyhow::anyhow!("no answer when asked {what}: {error}{trouble} ({connection})")
        })
    }

    fn config(&self, group: Option<&str>) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", self.connection.brokers.as_str())
            .set("client.id", "brew-operator")
            .set("allow.auto.create.topics", "false")
            .set("enable.auto.commit", "false")
            .set("socket.connection.setup.timeout.ms", "4000")
            .set("reconnect.backoff.max.ms", "500");
        if let Some(group) = group {
            config.set("group.id", group);
        }
        config
    }
}

impl TopicOffsets {
    /// Returns how many offsets lie between beginning and end: the records, and the markers of transactions.
    pub fn records(&self) -> i64 {
        self.partitions
            .values()
            .map(|(start, end)| end.get().saturating_sub(start.get()))
            .fold(0, i64::saturating_add)
    }
}

/// Asks again while the answer is that a group's coordinator is being found: on a new cluster it takes a moment.
fn patiently<T>(question: impl Fn() -> KafkaResult<T>) -> KafkaResult<T> {
    let (times, pause) = AGAIN;
    for _ in 0..times {
        match question() {
            Err(error) if is_passing(&error) => std::thread::sleep(pause),
            answer => return answer,
        }
    }
    question()
}

fn is_passing(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::NotCoordinator
                | RDKafkaErrorCode::CoordinatorNotAvailable
                | RDKafkaErrorCode::CoordinatorLoadInProgress
                | RDKafkaErrorCode::WaitingForCoordinator
                | RDKafkaErrorCode::LeaderNotAvailable
                | RDKafkaErrorCode::NotLeaderForPartition
        )
    )
}

fn list(
    topic: &Topic,
    partitions: &[Partition],
    offset: NativeOffset,
) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::with_capacity(partitions.len());
    for partition in partitions {
        list.add_partition_offset(topic.as_str(), partition.get(), offset)?;
    }
    Ok(list)
}

fn offsets_at(
    consumer: &BaseConsumer<Trouble>,
    topic: &Topic,
    partitions: &[Partition],
    wanted: NativeOffset,
) -> KafkaResult<BTreeMap<Partition, Offset>> {
    if partitions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let found = consumer.offsets_for_times(list(topic, partitions, wanted)?, LIMIT)?;
    let found = numbered(&found)?;
    if found.len() == partitions.len() {
        Ok(found)
    } else {
        Err(KafkaError::OffsetFetch(RDKafkaErrorCode::NoOffset))
    }
}

fn numbered(list: &TopicPartitionList) -> KafkaResult<BTreeMap<Partition, Offset>> {
    let mut offsets = BTreeMap::new();
    for element in list.elements() {
        element.error()?;
        let partition = Partition::new(element.partition());
        let offset = element.offset().to_raw().and_then(Offset::new);
        offsets.extend(partition.zip(offset));
    }
    Ok(offsets)
}
