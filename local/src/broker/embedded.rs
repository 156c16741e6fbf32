//! A Kafka broker in this process: librdkafka's mock cluster.

use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use anyhow::Context;
use pipeline::Topic;
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaErrorCode;

/// The mock cluster as librdkafka's binding names it.
pub type Cluster = MockCluster<'static, DefaultProducerContext>;

/// What the cluster says to a topic that it has.
const EXISTS: KafkaError = KafkaError::MockCluster(RDKafkaErrorCode::TopicAlreadyExists);

type Order = Box<dyn FnOnce(&Cluster) + Send>;

/// A cluster that speaks Kafka's protocol on ports of this machine; dropping it ends it.
///
/// It does what a pipeline needs: produce (idempotent too), fetch, consumer groups with commits, injected errors. Its limits: about
/// 5 MB or 100,000 records a partition, after which the oldest go; no topic administration, no lookup by time, no groups
/// list, no transactions seen by readers. A real broker is `KafkaServer`.
pub struct EmbeddedBroker {
    orders: Option<Sender<Order>>,
    owner: Option<JoinHandle<()>>,
    bootstrap_servers: String,
}

impl EmbeddedBroker {
    /// Starts a cluster of so many brokers.
    pub fn start(brokers: i32) -> anyhow::Result<Self> {
        let (orders, received) = mpsc::channel::<Order>();
        let (started, start) = mpsc::channel();
        // The cluster may not change threads, so that one thread owns it and takes orders.
        let owner = thread::Builder::new()
            .name("embedded-broker".to_owned())
            .spawn(move || match MockCluster::new(brokers) {
                Ok(cluster) => {
                    started.send(Ok(cluster.bootstrap_servers())).ok();
                    for order in received {
                        order(&cluster);
                    }
                }
                Err(error) => {
                    started.send(Err(error)).ok();
                }
            })
            .context("cannot start a thread for the embedded broker")?;
        let bootstrap_servers = start
            .recv()
            .context("the embedded broker's thread ended")?
            .context("cannot start the embedded broker")?;
        Ok(Self {
            orders: Some(orders),
            owner: Some(owner),
            bootstrap_servers,
        })
    }

    /// Returns host and port of each broker, comma-separated.
    pub fn bootstrap_servers(&self) -> &str {
        &self.bootstrap_servers
    }

    /// Creates topics of so many partitions, each with one replica; a topic that exists stays as it is.
    pub fn create_topics<'a>(
        &self,
        topics: impl IntoIterator<Item = &'a Topic>,
        partitions: i32,
    ) -> anyhow::Result<()> {
        for topic in topics {
            let name = topic.to_string();
            let created = self.with(move |cluster| cluster.create_topic(&name, partitions, 1))?;
            if created != Err(EXISTS) {
                created.with_context(|| {
                    format!("cannot create topic {topic} on the embedded broker")
                })?;
            }
        }
        Ok(())
    }

    /// Runs something on the cluster, such as injecting errors or taking brokers down, and returns what it returned.
    pub fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Cluster) -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let (ran, result) = mpsc::channel();
        let order: Order = Box::new(move |cluster| {
            ran.send(run(cluster)).ok();
        });
        self.orders
            .as_ref()
            .and_then(|orders| orders.send(order).ok())
            .context("the embedded broker has ended")?;
        result.recv().context("the embedded broker has ended")
    }
}

impl fmt::Debug for EmbeddedBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedBroker")
            .field("bootstrap_servers", &self.bootstrap_servers)
            .finish_non_exhaustive()
    }
}

impl Drop for EmbeddedBroker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(owner) = self.owner.take() {
            owner.join().ok();
        }
    }
}
