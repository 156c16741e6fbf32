//! What a template says, with nothing left to resolve.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use pipeline::Topic;

use crate::mapping::StartingPosition;

/// A template's functions that Kafka mappings call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Functions with at least one enabled Kafka mapping, in the order of the file.
    pub functions: Vec<TemplateFunction>,
    /// What is allowed and yet worth a loud word, with its line: `template.yaml:41: …`.
    pub notes: Vec<String>,
}

/// A function that at least one enabled Kafka mapping calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateFunction {
    /// The logical ID.
    pub id: String,
    /// `FunctionName`.
    pub name: Option<String>,
    /// The program: `BuildProperties.Binary` of its metadata, else the last folder of `CodeUri`.
    pub binary: Option<String>,
    /// The environment, overrides included.
    pub env: BTreeMap<String, String>,
    /// `Timeout`, 3 s when unset.
    pub timeout: Duration,
    /// `MemorySize` in MB, 128 when unset.
    pub memory_mb: u32,
    /// `ReservedConcurrentExecutions`; 0 is a function that is never invoked.
    pub reserved_concurrency: Option<u32>,
    /// Its enabled Kafka mappings, in the order of the file.
    pub mappings: Vec<TemplateMapping>,
}

/// An enabled Kafka mapping of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateMapping {
    /// The event's logical ID in its function, or that of a mapping which is a resource of its own.
    pub event: String,
    /// Where its records come from.
    pub source: TemplateSource,
    /// The topic.
    pub topic: Topic,
    /// `ConsumerGroupId`.
    pub group: Option<String>,
    /// `StartingPosition`.
    pub start: StartingPosition,
    /// `BatchSize`, 100 when unset.
    pub batch_size: NonZeroUsize,
    /// `MaximumBatchingWindowInSeconds`.
    pub window: Option<Duration>,
    /// Whether `FunctionResponseTypes` has `ReportBatchItemFailures`.
    pub report_batch_item_failures: bool,
    /// `BisectBatchOnFunctionError`.
    pub bisect: bool,
    /// `MaximumRetryAttempts`; `None` is without end.
    pub retries: Option<u32>,
    /// `MaximumRecordAgeInSeconds`; `None` is without end.
    pub max_age: Option<Duration>,
    /// `ProvisionedPollerConfig`; `None` is standard mode.
    pub pollers: Option<ProvisionedPollers>,
}

/// Where a mapping's records come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateSource {
    /// An MSK cluster, whose ARN the events carry; its brokers are those of the options.
    Msk {
        /// The cluster's ARN.
        arn: String,
    },
    /// A cluster of one's own, whose events carry no ARN.
    SelfManaged {
        /// The brokers, `host:port,…`; those of the options when there are any.
        brokers: String,
    },
}

/// A mapping's `ProvisionedPollerConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvisionedPollers {
    /// `MinimumPollers`, 1 when unset.
    pub minimum: NonZeroUsize,
    /// `MaximumPollers`, 200 when unset.
    pub maximum: NonZeroUsize,
    /// `PollerGroupName`.
    pub group: Option<String>,
}
