//! The services of a death cycle, wired together: object store, functions and their mappings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use pipeline::{Incident, Partition};

use super::orders::Order;
use super::topics::{DEAD, ORDERS, OrdersTopics};
use crate::binaries::Binaries;
use crate::demo::brokers::DemoBroker;
use crate::demo::bucket::{self, BUCKET};
use crate::demo::narrator::Wires;
use crate::demo::offsets::{Offsets, PartitionOffsets};
use crate::demo::producing::produce;
use crate::function::{Function, FunctionSettings};
use crate::mapping::{Batching, Mapping, MappingSettings, group_of};
use crate::s3::S3Server;

/// The functions that run, each a package of its own.
pub(super) const PACKAGES: [&str; 2] = ["orders", "dlq"];

/// How long a batch waits for more.
const WINDOW: Duration = Duration::from_millis(100);

/// How long what runs may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// A function of one sandbox with the mapping that drives it; dropping it ends both at once.
#[derive(Debug)]
pub(super) struct Running {
    function: Arc<Function>,
    mapping: Mapping,
}

/// The services; dropping them ends them at once.
#[derive(Debug)]
pub(super) struct Services {
    broker: Arc<DemoBroker<OrdersTopics>>,
    binaries: Binaries,
    wires: Wires,
    store: S3Server,
    dlq: Option<Running>,
    orders: Offsets,
    dead: Offsets,
}

impl Services {
    /// Starts everything but the function that takes the orders.
    pub(super) async fn start(
        broker: Arc<DemoBroker<OrdersTopics>>,
        binaries: Binaries,
        wires: Wires,
    ) -> anyhow::Result<Self> {
        let (brokers, topics) = (&broker.bootstrap_servers, &broker.topics);
        let offsets = |function: &str, topic| {
            let group = group_of(function, topic);
            Offsets::of(brokers, topic, &group)
        };
        let mut services = Self {
            orders: offsets("orders", topics.orders())?,
            dead: offsets("dlq", topics.dead())?,
            store: S3Server::start(BUCKET).await?,
            dlq: None,
            broker,
            binaries,
            wires,
        };
        services.dlq = Some(services.run("dlq", DEAD, &[])?);
        Ok(services)
    }

    /// Says where they are.
    pub(super) fn told(&self) -> [String; 2] {
        [
            self.broker.told(),
            format!("S3 on {}, bucket {BUCKET}", self.store.url()),
        ]
    }

    /// Runs the function that takes the orders, and counts so far.
    pub(super) fn take_orders(&self, max_fails: u32) -> anyhow::Result<Running> {
        self.run("orders", ORDERS, &[("MAX_FAILS", max_fails.to_string())])
    }

    fn run(&self, package: &str, label: &str, more: &[(&str, String)]) -> anyhow::Result<Running> {
        let topics = &self.broker.topics;
        let topic = if label == ORDERS {
            topics.orders()
        } else {
            topics.dead()
        };
        let mut env: BTreeMap<&str, String> = topics.env().into();
        env.extend(self.store.env());
        env.extend([
            ("KAFKA_BROKERS", self.broker.bootstrap_servers.clone()),
            ("INCIDENT_BUCKET", BUCKET.to_owned()),
            ("BATCH_FAILURES", "report".to_owned()),
            // Orders that are simply done are logged at debug.
            ("RUST_LOG", "lambda::forwarding=debug".to_owned()),
        ]);
        env.extend(more.iter().cloned());
        let settings = FunctionSettings {
            // A machine with other work to do may take its time.
            init_timeout: Duration::from_mins(1),
            ..FunctionSettings::new(package, self.binaries.find(package)?).with_env(env)
        };
        let function = Arc::new(Function::new(settings, None, self.wires.lines.clone())?);
        let brokers = &self.broker.bootstrap_servers;
        let settings = MappingSettings {
            name: label.to_owned(),
            batching: Batching {
                window: WINDOW,
                ..Batching::default()
            },
            ..MappingSettings::new(package, topic.clone(), brokers)
        };
        let reports = self.wires.reports.clone();
        let mapping = Mapping::start(settings, Arc::clone(&function), reports)?;
        Ok(Running { function, mapping })
    }

    /// Sends orders as their shops would, and sees that each lies where its customer's orders lie.
    pub(super) async fn send(&self, orders: &[Order]) -> anyhow::Result<()> {
        let records = orders
            .iter()
            .map(|order| (order.customer, order.value.clone()));
        let topic = self.broker.topics.orders();
        let places = produce(self.broker.connection()?, topic, records).await?;
        for (order, place) in orders.iter().zip(&places) {
            let Order {
                partition, offset, ..
            } = order;
            ensure!(
                (place.partition.get(), place.offset.get()) == (*partition, *offset),
                "an order lies at {place}, not at offset {offset} of partition {partition}: someone else writes to {topic}"
            );
        }
        Ok(())
    }

    /// Returns how far the orders of each partition have come.
    pub(super) async fn offsets(&self) -> anyhow::Result<BTreeMap<Partition, PartitionOffsets>> {
        self.orders.read().await
    }

    /// Returns how many dead letters there are.
    pub(super) async fn dead_letters(&self) -> anyhow::Result<i64> {
        let offsets = self.dead.read().await?;
        Ok(offsets.values().map(|at| at.end).sum())
    }

    /// Reads every incident from the bucket.
    pub(super) async fn incidents(&self) -> anyhow::Result<Vec<Incident>> {
        bucket::incidents(&self.store).await
    }

    /// Ends what runs, and waits until the processes are gone and their last lines are told.
    pub(super) async fn stop(self) {
        if let Some(dlq) = self.dlq {
            dlq.stop().await;
        }
    }
}

impl Running {
    /// Ends the mapping, which leaves its group, and then the function.
    pub(super) async fn stop(self) {
        self.mapping.stop(GRACE).await;
        self.function.stop(GRACE).await;
    }
}
