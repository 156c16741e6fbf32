//! The broker that a demo runs on: one in this process, or one that is there.

use kafka::Connection;
use uuid::Uuid;

use crate::admin::Admin;
use crate::broker::EmbeddedBroker;
use crate::operator::Cluster;
use crate::topics::{self, Layout};

/// How many partitions each topic has.
const PARTITIONS: i32 = 2;

/// The topics of a demo.
pub(super) trait Topics: Sized {
    /// Names them; a prefix keeps them apart from all others.
    fn named(prefix: &str) -> anyhow::Result<Self>;

    /// Lays them out.
    fn layout(&self) -> Layout;
}

/// A broker with the topics of one demo.
#[derive(Debug)]
pub(super) struct DemoBroker<T> {
    pub(super) topics: T,
    pub(super) bootstrap_servers: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Here { _broker: EmbeddedBroker },
    There { admin: Admin },
}

impl<T: Topics> DemoBroker<T> {
    /// Takes the brokers that are there, else starts one.
    pub(super) async fn on(brokers: Option<&kafka::Brokers>) -> anyhow::Result<Self> {
        match brokers {
            Some(brokers) => Self::external(brokers).await,
            None => Self::embedded(),
        }
    }

    /// Starts a broker in this process with topics of the names that they have in production.
    fn embedded() -> anyhow::Result<Self> {
        let topics = T::named("")?;
        let broker = EmbeddedBroker::start(1)?;
        broker.create_topics(topics.layout().topics(), PARTITIONS)?;
        Ok(Self {
            topics,
            bootstrap_servers: broker.bootstrap_servers().to_owned(),
            place: Place::Here { _broker: broker },
        })
    }

    /// Creates topics on brokers that are there, under names that are this demo's alone.
    async fn external(brokers: &kafka::Brokers) -> anyhow::Result<Self> {
        let run = Uuid::new_v4().simple().to_string();
        let run: String = run.chars().take(8).collect();
        let topics = T::named(&format!("demo-{run}."))?;
        // Brokers that are away are told of before anything is made that would have to be taken back.
        let connection = Connection::without_auth(brokers.clone());
        Cluster::new(connection).topics().await?;
        let admin = Admin::new(brokers.as_str(), &[].into())?;
        let created = topics::create(&admin, &topics.layout(), PARTITIONS).await;
        let broker = Self {
            topics,
            bootstrap_servers: brokers.as_str().to_owned(),
            place: Place::There { admin },
        };
        match created {
            Ok(_) => Ok(broker),
            Err(error) => {
                broker.remove().await.ok();
                Err(error)
            }
        }
    }

    /// Returns how a client of ours gets there.
    pub(super) fn connection(&self) -> anyhow::Result<Connection> {
        Ok(Connection::without_auth(self.bootstrap_servers.parse()?))
    }

    /// Says where it is.
    pub(super) fn told(&self) -> String {
        match &self.place {
            Place::Here { .. } => {
                format!("an embedded broker on {}", self.bootstrap_servers)
            }
            Place::There { .. } => {
                let layout = self.topics.layout();
                let main = layout.topics().next().map_or("-", pipeline::Topic::as_str);
                format!(
                    "Kafka on {}, topics of this demo alone ({main}, …)",
                    self.bootstrap_servers
                )
            }
        }
    }

    /// Deletes the topics and groups where they would outlive the demo.
    pub(super) async fn remove(&self) -> anyhow::Result<()> {
        let Place::There { admin } = &self.place else {
            return Ok(());
        };
        let layout = self.topics.layout();
        let topics = topics::delete(admin, &layout).await.map(drop);
        let groups = topics::delete_groups(admin, &layout).await.map(drop);
        topics.and(groups)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::demo::ladder::Ladder;

    #[tokio::test]
    async fn brokers_that_are_away_are_told_of_once_they_did_not_answer_one_question() {
        let away = "127.0.0.1:1".parse().unwrap();
        let started = DemoBroker::<Ladder>::on(Some(&away));
        let started = tokio::time::timeout(Duration::from_secs(14), started).await;
        let error = started.unwrap().unwrap_err();
        assert!(error.to_string().contains("no answer"), "{error:#}");
    }
}
