//! The broker's administration: topics and groups, and what they are set to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use pipeline::Topic;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaErrorCode;
use tokio::time::Instant;

/// How long the broker may take over one request, and until everyone sees what it did.
const LIMIT: Duration = Duration::from_secs(15);

/// A connection that creates and deletes topics and groups.
pub struct Admin {
    client: Arc<AdminClient<DefaultClientContext>>,
    brokers: String,
}

/// A topic to create; the broker's own default is the number of replicas.
#[derive(Clone, Debug)]
pub(crate) struct NewTopicPlan {
    pub(crate) topic: Topic,
    pub(crate) partitions: i32,
    pub(crate) config: BTreeMap<&'static str, String>,
}

/// What became of something that was to be created or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It was created.
    Created,
    /// It was there already and stays as it is.
    Existed,
    /// It was deleted.
    Deleted,
    /// It was not there.
    Absent,
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin")
            .field("brokers", &self.brokers)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Existed => "exists already",
            Self::Deleted => "deleted",
            Self::Absent => "not there",
        })
    }
}

impl Admin {
    /// Prepares a connection to brokers, with more settings of librdkafka's client such as those that authenticate it.
    pub fn new(brokers: &str, client: &BTreeMap<String, String>) -> anyhow::Result<Self> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", brokers);
        for (name, value) in client {
            config.set(name, value);
        }
        Ok(Self {
            client: Arc::new(config.create().context("cannot make a Kafka client")?),
            brokers: brokers.to_owned(),
        })
    }

    /// Creates a topic and waits until it can be used.
    pub(crate) async fn create(&self, plan: &NewTopicPlan) -> anyhow::Result<Change> {
        let name = plan.topic.as_str();
        let mut topic = NewTopic::new(name, plan.partitions, TopicReplication::Fixed(-1));
        for (key, value) in &plan.config {
            topic = topic.set(key, value);
        }
        let created = self
            .client
            .create_topics([&topic], &options())
            .await
            .with_context(|| self.refuses(&format!("to create topic {name}")))?;
        match outcome(created) {
            Ok(()) => {
                self.until(name, |partitions| {
                    partitions == usize::try_from(plan.partitions).ok()
                })
                .await?;
                Ok(Change::Created)
            }
            Err(RDKafkaErrorCode::TopicAlreadyExists) => Ok(Change::Existed),
            Err(code) => bail!("cannot create topic {name}: {code}"),
        }
    }

    /// Deletes a topic and waits until it is gone.
    pub async fn delete(&self, topic: &Topic) -> anyhow::Result<Change> {
        let name = topic.as_str();
        let deleted = self
            .client
            .delete_topics(&[name], &options())
            .await
            .with_context(|| self.refuses(&format!("to delete topic {name}")))?;
        match outcome(deleted) {
            Ok(()) => {
                self.until(name, |partitions| partitions.is_none()).await?;
                Ok(Change::Deleted)
            }
            Err(RDKafkaErrorCode::UnknownTopicOrPartition) => Ok(Change::Absent),
            Err(code) => bail!("cannot delete topic {name}: {code}"),
        }
    }

    /// Deletes a consumer group with its offsets; one that has members is an error.
    pub async fn delete_group(&self, group: &str) -> anyhow::Result<Change> {
        let deleted = self
            .client
            .delete_groups(&[group], &options())
            .await
            .with_context(|| self.refuses(&format!("to delete group {group}")))?;
        match outcome(deleted) {
            Ok(()) => Ok(Change::Deleted),
            Err(RDKafkaErrorCode::GroupIdNotFound) => Ok(Change::Absent),
            Err(RDKafkaErrorCode::NonEmptyGroup) => {
                bail!("group {group} still has members: stop its mapping first")
            }
            Err(code) => bail!("cannot delete group {group}: {code}"),
        }
    }

    /// Returns what a topic is set to, by name, the broker's defaults included.
    pub async fn config(&self, topic: &Topic) -> anyhow::Result<BTreeMap<String, String>> {
        let resource = ResourceSpecifier::Topic(topic.as_str());
        let described = self
            .client
            .describe_configs([&resource], &options())
            .await
            .with_context(|| self.refuses(&format!("to describe topic {topic}")))?;
        let mut entries = BTreeMap::new();
        for resource in described {
            let resource = resource
                .map_err(|code| anyhow::anyhow!("cannot describe topic {topic}: {code}"))?;
            let values = resource.entries.into_iter();
            entries.extend(values.filter_map(|entry| Some((entry.name, entry.value?))));
        }
        Ok(entries)
    }

    /// Returns how many partitions a topic has; `None` when it does not exist, or has a partition without a leader.
    pub async fn partitions(&self, topic: &str) -> anyhow::Result<Option<usize>> {
        let client = Arc::clone(&self.client);
        let name = topic.to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            let metadata = client.inner().fetch_metadata(Some(&name), LIMIT)?;
            let mut found = metadata.topics().iter();
            let partitions = found
                .find(|found| found.name() == name && found.error().is_none())
                .filter(|found| found.partitions().iter().all(|at| at.leader() >= 0))
                .map(|found| found.partitions().len());
            Ok::<_, KafkaError>(partitions.filter(|partitions| *partitions > 0))
        });
        asked
            .await
            .context("the question was broken off")?
            .with_context(|| self.refuses(&format!("to tell about topic {topic}")))
    }

    async fn until(
        &self,
        topic: &str,
        right: impl Fn(Option<usize>) -> bool,
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        while !right(self.partitions(topic).await?) {
            if started.elapsed() > LIMIT {
                bail!(
                    "the brokers at {} do not agree on topic {topic}",
                    self.brokers
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    fn refuses(&self, what: &str) -> String {
        format!(
            "the brokers at {} do not answer when asked {what}",
            self.brokers
        )
    }
}

fn options() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(LIMIT))
        .operation_timeout(Some(LIMIT))
}

fn outcome(
    results: Vec<Result<String, (String, RDKafkaErrorCode)>>,
) -> Result<(), RDKafkaErrorCode> {
    results
        .into_iter()
        .try_for_each(|result| result.map(drop).map_err(|(_, code)| code))
}
