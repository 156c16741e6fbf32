//! How a mapping reads its topic and what it makes of answers.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use pipeline::Topic;

use crate::event::EventSource;

/// One event source mapping: a topic that a function is invoked for.
#[derive(Clone, Debug)]
pub struct MappingSettings {
    /// Its name, as it is shown.
    pub name: String,
    /// The brokers, `host:port,…`.
    pub brokers: String,
    /// More settings of librdkafka's consumer, such as those that authenticate it.
    pub client: BTreeMap<String, String>,
    /// The topic.
    pub topic: Topic,
    /// The consumer group: the mapping's own.
    pub group: String,
    /// Where a group that has no offsets starts.
    pub start: StartingPosition,
    /// What the events say of their source.
    pub source: EventSource,
    /// How batches are formed.
    pub batching: Batching,
    /// What an answer means.
    pub answers: Answers,
    /// How many invocations may run at once.
    pub invocations: NonZeroUsize,
}

/// Where a group that has no offsets starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartingPosition {
    /// At the oldest record.
    #[default]
    TrimHorizon,
    /// At what arrives after the group was formed.
    Latest,
}

/// How batches are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The most records in a batch: `BatchSize`, 1 to 10,000.
    pub size: NonZeroUsize,
    /// How long a batch may wait for more records, from the first one: `MaximumBatchingWindowInSeconds`, 0.5 s when unset.
    pub window: Duration,
    /// Whether one batch may hold records of several partitions.
    pub partitions: PartitionsOfBatch,
}

/// Whether one batch may hold records of several partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionsOfBatch {
    /// Each batch is of one partition; partitions do not hold each other up.
    #[default]
    One,
    /// A batch takes from every partition that is free.
    Several,
}

/// What a function's answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// `ReportBatchItemFailures`: it lists what is not done.
    Reported(Redelivery),
    /// Without it: any answer says that all is done.
    Ignored,
}

/// What is delivered again after a partial answer: AWS's words allow both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redelivery {
    /// Everything of the partition from the lowest listed offset on, records that were done included.
    #[default]
    Resume,
    /// The listed records.
    Items,
}

impl Default for Batching {
    /// Lambda's defaults: 100 records, 0.5 s.
    fn default() -> Self {
        Self {
            size: NonZeroUsize::MIN.saturating_add(99),
            window: Duration::from_millis(500),
            partitions: PartitionsOfBatch::default(),
        }
    }
}

impl MappingSettings {
    /// Describes a mapping of a topic for a function, with Lambda's defaults, the group `<function>.<topic>` and partial answers.
    pub fn new(function: &str, topic: Topic, brokers: impl Into<String>) -> Self {
        Self {
            name: format!("{function} < {topic}"),
            brokers: brokers.into(),
            client: BTreeMap::new(),
            group: group_of(function, &topic),
            topic,
            start: StartingPosition::default(),
            source: EventSource::SelfManaged,
            batching: Batching::default(),
            answers: Answers::Reported(Redelivery::default()),
            invocations: NonZeroUsize::MIN.saturating_add(99),
        }
    }
}

/// Returns the consumer group of a function's mapping of a topic.
pub fn group_of(function: &str, topic: &Topic) -> String {
    format!("{function}.{topic}")
}
