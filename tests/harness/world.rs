//! A whole pipeline of one test: brokers, topics, store, and its functions with their mappings.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use local::function::{Function, FunctionSettings, Line};
use local::invoke::{Invoke, Outcome};
use local::mapping::{Answers, Mapping, MappingSettings, Progress, Redelivery, Report};
use pipeline::Topic;
use serde_json::Value;

use super::binaries;
use super::cluster::Cluster;
use super::gathered::Gathered;
use super::ladder::Ladder;
use super::payment::id_of;
use super::store::Store;

/// How many partitions each topic has, unless a test says otherwise.
pub(crate) const PARTITIONS: i32 = 4;

/// What functions of one pipeline share.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) ladder: Ladder,
    pub(crate) store: Store,
    pub(crate) lines: Gathered<Line>,
    env: BTreeMap<String, String>,
}

/// A function with the mapping that drives it from its topic.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) function: Arc<Function>,
    pub(crate) mapping: Mapping,
    pub(crate) reports: Gathered<Report>,
}

impl World {
    /// Makes a world with a store and without topics; `gateway` is the provider's URL.
    pub(crate) async fn bare(cluster: Cluster, ladder: Ladder, gateway: &str) -> Self {
        let store = Store::start().await;
        let mut env = BTreeMap::from([
            ("KAFKA_BROKERS".to_owned(), cluster.address().to_owned()),
            ("GATEWAY_URL".to_owned(), gateway.to_owned()),
            ("BATCH_FAILURES".to_owned(), "report".to_owned()),
        ]);
        let shared = ladder.env().into_iter().chain(store.env());
        env.extend(shared.map(|(name, value)| (name.to_owned(), value)));
        Self {
            cluster,
            ladder,
            store,
            lines: Gathered::new(),
            env,
        }
    }

    /// Makes a world with its topics.
    pub(crate) async fn new(cluster: Cluster, ladder: Ladder, gateway: &str) -> Self {
        for topic in ladder.topics() {
            cluster.create(topic, PARTITIONS, &[]).await;
        }
        Self::bare(cluster, ladder, gateway).await
    }

    /// Returns the variables of every function; those given win.
    pub(crate) fn env(&self, more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        let more = more.iter();
        env.extend(more.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        env
    }

    /// Describes a function of this pipeline with as many sandboxes as a topic has partitions.
    pub(crate) fn settings(
        &self,
        name: &str,
        binary: PathBuf,
        more: &[(&str, &str)],
    ) -> FunctionSettings {
        let sandboxes = usize::try_from(PARTITIONS).unwrap();
        FunctionSettings::new(name, binary)
            .with_env(self.env(more))
            .with_concurrency(NonZeroUsize::new(sandboxes).unwrap())
    }

    pub(crate) fn function(&self, settings: FunctionSettings) -> Arc<Function> {
        Arc::new(Function::new(settings, None, self.lines.sender()).unwrap())
    }

    /// Prepares a payments function of one sandbox, to be invoked by hand.
    pub(crate) fn payments(&self, more: &[(&str, &str)]) -> Arc<Function> {
        let settings = self.settings("payments", binaries::payments(), more);
        self.function(settings.with_concurrency(NonZeroUsize::MIN))
    }

    /// Maps a topic to a function.
    pub(crate) fn map(&self, settings: FunctionSettings, topic: &Topic) -> Mapped {
        let answers = Answers::Reported(Redelivery::default());
        self.map_with(settings, topic, answers)
    }

    pub(crate) fn map_with(
        &self,
        settings: FunctionSettings,
        topic: &Topic,
        answers: Answers,
    ) -> Mapped {
        let reports = Gathered::new();
        let mut mapping =
            MappingSettings::new(&settings.name, topic.clone(), self.cluster.address());
        mapping.answers = answers;
        mapping.batching.window = Duration::from_millis(200);
        let function = self.function(settings);
        let mapping = Mapping::start(mapping, Arc::clone(&function), reports.sender()).unwrap();
        Mapped {
            function,
            mapping,
            reports,
        }
    }

    /// Maps every stage to a payments function of its own.
    pub(crate) fn map_stages(&self, more: &[(&str, &str)]) -> Vec<Mapped> {
        let stages = self.ladder.stages().into_iter();
        stages
            .map(|topic| self.map(self.settings("payments", binaries::payments(), more), topic))
            .collect()
    }

    /// Maps the dead-letter topic to the dlq function.
    pub(crate) fn map_dlq(&self) -> Mapped {
        let settings = self.settings("dlq", binaries::dlq(), &[]);
        self.map(settings, &self.ladder.dlq)
    }

    /// Returns the ids of the payments in the dead-letter topic, each once.
    pub(crate) async fn dead(&self) -> BTreeSet<String> {
        let dead = self.cluster.records(&self.ladder.dlq).await;
        dead.iter()
            .map(|record| id_of(record.value.as_deref()))
            .collect()
    }

    /// Invokes the replay function.
    pub(crate) async fn replay(&self, payload: &Value) -> Value {
        let settings = self.settings("replay", binaries::replay(), &[]);
        let function = self.function(settings.with_timeout(Duration::from_mins(1)));
        let answer = function.invoke(payload.to_string().into()).await;
        serde_json::from_slice(&answered(answer)).unwrap()
    }
}

impl Mapped {
    /// Returns how many invocations there were.
    pub(crate) fn invocations(&self) -> usize {
        let reports = self.reports.all();
        let delivered = |report: &&Report| matches!(report.progress, Progress::Delivered { .. });
        reports.iter().filter(delivered).count()
    }
}

/// Returns the answer of an invocation that must have one.
#[track_caller]
pub(crate) fn answered(outcome: Outcome) -> Bytes {
    match outcome {
        Outcome::Answered(answer) => answer,
        Outcome::Failed(fault) => panic!("{fault}"),
    }
}
