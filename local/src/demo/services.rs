//! The services of a demo, wired together: object store, provider, functions and their mappings.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures_util::future::join_all;
use kafka::{ChunkLimit, Read, Reader};
use pipeline::headers::names;
use pipeline::{Incident, Record};

use super::account::{Found, TopicRecords};
use super::brokers::DemoBroker;
use super::bucket::{self, BUCKET};
use super::ladder::Ladder;
use super::narrator::Wires;
use super::offsets::{Offsets, PartitionOffsets};
use super::producing::produce;
use super::seeds::Seed;
use crate::binaries::Binaries;
use crate::function::{Function, FunctionSettings};
use crate::invoke::{Invoke, Outcome};
use crate::mapping::{Batching, Mapping, MappingSettings};
use crate::provider::{Provider, ProviderSettings};
use crate::s3::S3Server;

/// The functions that a demo runs, each a package of its own.
pub(super) const PACKAGES: [&str; 3] = ["payments", "dlq", "replay"];

/// How long a function waits for the provider: short, so that payments which get no answer are not the slowest part of the story.
const GATEWAY_TIMEOUT: &str = "2s";

/// How long main does not call a provider that hangs, for the same reason.
const CIRCUIT_OPEN: &str = "3s";

/// How many sandboxes the function of a stage has: one for each partition.
const SANDBOXES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// How long a batch waits for more: no longer than a tenth of the shortest delay.
const WINDOW: Duration = Duration::from_millis(100);

/// How long what runs may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// The services; dropping them ends them at once.
#[derive(Debug)]
pub(super) struct Services {
    broker: Arc<DemoBroker<Ladder>>,
    store: S3Server,
    provider: Provider,
    functions: Vec<Arc<Function>>,
    replay: Function,
    mappings: Vec<Mapping>,
    offsets: Vec<(&'static str, Offsets)>,
}

impl Services {
    /// Starts everything.
    pub(super) async fn start(
        broker: Arc<DemoBroker<Ladder>>,
        binaries: &Binaries,
        wires: Wires,
    ) -> anyhow::Result<Self> {
        let store = S3Server::start(BUCKET).await?;
        let provider = Provider::start(ProviderSettings::default()).await?;
        let mut env: BTreeMap<&str, String> = broker.topics.env().into();
        env.extend(store.env());
        env.extend([
            ("KAFKA_BROKERS", broker.bootstrap_servers.clone()),
            ("INCIDENT_BUCKET", BUCKET.to_owned()),
            ("BATCH_FAILURES", "report".to_owned()),
            ("GATEWAY_URL", provider.url()),
            ("GATEWAY_TIMEOUT", GATEWAY_TIMEOUT.to_owned()),
            ("CIRCUIT_OPEN", CIRCUIT_OPEN.to_owned()),
            // Records that are simply done are logged at debug.
            ("RUST_LOG", "lambda::forwarding=debug".to_owned()),
        ]);
        let function = |name: String, package: &str, sandboxes| {
            let settings = FunctionSettings {
                // A machine with other work to do may take its time.
                init_timeout: Duration::from_mins(1),
                ..FunctionSettings::new(name, binaries.find(package)?)
                    .with_env(env.clone())
                    .with_concurrency(sandboxes)
            };
            Function::new(settings, None, wires.lines.clone())
        };
        let mut services = Self {
            replay: function("replay".to_owned(), "replay", NonZeroUsize::MIN)?,
            functions: Vec::new(),
            mappings: Vec::new(),
            offsets: Vec::new(),
            broker: Arc::clone(&broker),
            store,
            provider,
        };
        for rung in broker.topics.rungs() {
            let is_dlq = rung.topic == *broker.topics.stages().dlq();
            let package = if is_dlq { "dlq" } else { "payments" };
            let name = format!("{package}-{}", rung.label.replace('.', "-"));
            let function = Arc::new(function(name, package, SANDBOXES)?);
            let settings =
                MappingSettings::new(package, rung.topic.clone(), &broker.bootstrap_servers);
            let settings = MappingSettings {
                name: rung.label.to_owned(),
                batching: Batching {
                    window: WINDOW,
                    ..Batching::default()
                },
                ..settings
            };
            let offsets = Offsets::of(&settings.brokers, &settings.topic, &settings.group)?;
            services.offsets.push((rung.label, offsets));
            let mapping = Mapping::start(settings, Arc::clone(&function), wires.reports.clone())?;
            services.mappings.push(mapping);
            services.functions.push(function);
        }
        Ok(services)
    }

    /// Says where they are.
    pub(super) fn told(&self) -> [String; 3] {
        [
            self.broker.told(),
            format!("S3 on {}, bucket {BUCKET}", self.store.url()),
            format!("the payment provider on {}", self.provider.url()),
        ]
    }

    /// Produces records to main as a producer of payments would.
    pub(super) async fn seed(&self, seeds: &[Seed]) -> anyhow::Result<()> {
        let main = self.broker.topics.stages().main().topic();
        let records = seeds
            .iter()
            .map(|seed| (seed.key.as_str(), seed.value.clone()));
        produce(self.broker.connection()?, main, records).await?;
        Ok(())
    }

    /// Waits until every mapping has been idle for a moment.
    pub(super) async fn idle(&self) -> anyhow::Result<()> {
        for mapping in &self.mappings {
            mapping.idle_for(WINDOW).await?;
        }
        Ok(())
    }

    /// Returns the stages that have records which are not done, and how many.
    ///
    /// They are asked in the order of the ladder. A function that is through with its topic produces nothing more, so that when none
    /// is left on all of them, none can be on its way between two.
    pub(super) async fn left(&self) -> anyhow::Result<Vec<(&'static str, u64)>> {
        let mut left = Vec::new();
        for (label, offsets) in &self.offsets {
            let records = offsets.left().await?;
            if records > 0 {
                left.push((*label, records));
            }
        }
        Ok(left)
    }

    /// Switches the provider up.
    pub(super) fn switch_provider_up(&self) {
        self.provider.up();
    }

    /// Returns how often each payment was charged.
    pub(super) fn charges(&self) -> BTreeMap<String, u32> {
        self.provider.charges()
    }

    /// Invokes the replay function.
    pub(super) async fn replay(&self, request: String) -> anyhow::Result<Bytes> {
        match self.replay.invoke(request.into()).await {
            Outcome::Answered(answer) => Ok(answer),
            Outcome::Failed(fault) => Err(fault).context("the replay function has no answer"),
        }
    }

    /// Reads every incident from the bucket.
    pub(super) async fn incidents(&self) -> anyhow::Result<Vec<Incident>> {
        bucket::incidents(&self.store).await
    }

    /// Reads every topic whole, in the order of the ladder.
    pub(super) async fn topics(&self) -> anyhow::Result<Vec<TopicRecords>> {
        let connection = self.broker.connection()?;
        let mut topics = Vec::new();
        for (rung, (_, offsets)) in self.broker.topics.rungs().iter().zip(&self.offsets) {
            let offsets = offsets.read().await?;
            let mut reader = Reader::open(&connection, &rung.topic).await?;
            let mut records = Vec::new();
            while !reader.is_at_end() {
                let limit = ChunkLimit {
                    records: 1_000,
                    bytes: 4 << 20,
                };
                let chunk = reader.next_chunk(limit, std::future::pending()).await?;
                records.extend(chunk.records.iter().map(|read| {
                    let at = read.coordinates();
                    let offsets = offsets.get(&at.partition);
                    found(read, offsets)
                }));
            }
            topics.push(TopicRecords {
                label: rung.label.to_owned(),
                records,
            });
        }
        Ok(topics)
    }

    /// Ends mappings and functions, and waits until their processes are gone and their last lines are told.
    pub(super) async fn stop(self) {
        let Self {
            functions,
            replay,
            mappings,
            ..
        } = self;
        join_all(mappings.into_iter().map(|mapping| mapping.stop(GRACE))).await;
        let stopping = functions.iter().map(|function| function.stop(GRACE));
        join_all(stopping.chain([replay.stop(GRACE)])).await;
    }
}

/// Takes from a record what the account is drawn up from.
fn found(read: &Read, offsets: Option<&PartitionOffsets>) -> Found {
    let at = read.coordinates().clone();
    let done = offsets.is_some_and(|offsets| at.offset.get() < offsets.next);
    match read {
        Read::Record(Record { key, headers, .. }) => Found {
            key: key
                .as_deref()
                .map(|key| String::from_utf8_lossy(key).into_owned()),
            replays: headers
                .text(names::REPLAY_COUNT)
                .and_then(|count| count.parse().ok())
                .unwrap_or(0),
            from_dlq: headers
                .text(names::REPLAY_FROM_DLQ)
                .and_then(|from| from.parse().ok()),
            at,
            done,
        },
        Read::Unreadable(_) => Found {
            key: None,
            at,
            replays: 0,
            from_dlq: None,
            done,
        },
    }
}
