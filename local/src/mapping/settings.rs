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
    /// How many pollers read the topic.
    pub pollers: Pollers,
    /// What an answer means.
    pub answers: Answers,
    /// What follows a function error: `BisectBatchOnFunctionError`.
    pub bisect: Bisect,
    /// How often a batch is delivered again, the first invocation not counted: `MaximumRetryAttempts`; without end when absent.
    pub retries: Option<u32>,
    /// How old a record may be that is still delivered: `MaximumRecordAgeInSeconds`; without end when absent.
    pub max_age: Option<Duration>,
}

/// Where a group that has no offsets starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartingPosition {
    /// At the oldest record.
    #[default]
    TrimHorizon,
    /// At what arrives after the group was formed.
    Latest,
    /// At the first record that is as young as this time, in milliseconds since 1970; at the end where there is none.
    AtTimestamp(i64),
}

/// How batches are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The most records in a batch: `BatchSize`, 1 to 10,000.
    pub size: NonZeroUsize,
    /// How long a batch may wait for more records, from the first one: `MaximumBatchingWindowInSeconds`, 0.5 s when unset.
    pub window: Duration,
}

/// How many pollers read the topic.
///
/// Each partition belongs to one poller (its number modulo theirs), a batch draws from the partitions of one poller that are free, and
/// a poller has at most five invocations under way.
///
/// Source: AWS Lambda developer guide, "Apache Kafka event poller scaling modes in Lambda". That partitions are spread by their
/// numbers, and that pollers stay at their minimum, is assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pollers {
    /// One for each partition, as in standard mode: a batch is of one partition, and partitions do not hold each other up.
    #[default]
    Standard,
    /// So many, as in provisioned mode with this `MinimumPollers`.
    Provisioned(NonZeroUsize),
}

/// What becomes of a partition's batch after an invocation without an answer that makes sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bisect {
    /// It is delivered again whole.
    #[default]
    Off,
    /// It is delivered again in two halves, one after the other, down to a single record.
    On,
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
        }
    }
}

impl MappingSettings {
    /// Describes a mapping of a topic for a function, with Lambda's defaults for standard mode, the group `<function>.<topic>` and partial answers.
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
            pollers: Pollers::default(),
            answers: Answers::Reported(Redelivery::default()),
            bisect: Bisect::default(),
            retries: None,
            max_age: None,
        }
    }
}

/// Returns the consumer group of a function's mapping of a topic.
pub fn group_of(function: &str, topic: &Topic) -> String {
    format!("{function}.{topic}")
}
