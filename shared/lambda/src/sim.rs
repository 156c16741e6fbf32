//! A small world for tests of the loop: a clock that is moved, a broker and a store in memory, a handler that does as its record says.

mod outside;
mod written;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use pipeline::mask::Masker;
use pipeline::stages::RetryTopic;
use pipeline::{BatchAnswer, Counting, ErrorCode, Failure, Record, Stages, Verdict};
use tempfile::TempDir;

use crate::attempts::Attempts;
use crate::batch::{BatchLoop, Step};
use crate::check::Checks;
use crate::counting::CountingStep;
use crate::forwarding::Forwarding;
use crate::gate::Gate;
use crate::incidents::Incidents;
use crate::invocation::{Answer, BatchFailures, InvocationError};
use crate::markers::Markers;
use crate::metrics::Metrics;
use crate::stage::StageStep;
use crate::stop::Stop;
use crate::{Attempt, Clock, Handler, NoTimeLeft};

pub(crate) use self::outside::{MovedClock, START, Seen, Weather};
pub(crate) use self::written::Written;

/// Does as the record's value says: `ok`, `transient`, `permanent`, `version`, `panic`, `slow 200`, `hang`, `no-time`.
#[derive(Debug)]
pub(crate) struct Obedient {
    seen: Seen,
    clock: MovedClock,
}

impl Handler for Obedient {
    async fn handle(&self, record: &Record, attempt: &Attempt) -> Result<Verdict, NoTimeLeft> {
        let value = String::from_utf8(record.value.clone().unwrap_or_default().to_vec()).unwrap();
        self.seen
            .handled
            .lock()
            .unwrap()
            .push((value.clone(), *attempt, self.clock.passed_ms()));
        let mut words = value.split(' ');
        match words.next().unwrap() {
            "transient" => Ok(Failure::new(ErrorCode::ProviderUnavailable, "503").into()),
            "permanent" => Ok(Failure::new(ErrorCode::ProviderDeclined, "402").into()),
            "version" => Ok(Failure::new(ErrorCode::PayloadSchemaVersion, "2").into()),
            "panic" => panic!("it panics"),
            "slow" => {
                let ms = words.next().unwrap().parse().unwrap();
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(Verdict::Done)
            }
            "hang" => std::future::pending().await,
            "no-time" => Err(NoTimeLeft),
            _ => Ok(Verdict::Done),
        }
    }

    fn call_limit_ms(&self) -> i64 {
        10_000
    }
}

/// A step that runs in a simulated sandbox.
pub(crate) trait Simulated: Step {
    /// Builds it as a process does when it starts.
    fn build(
        attempts: Attempts<Obedient, MovedClock>,
        forwarding: Forwarding<Seen, Seen, MovedClock>,
    ) -> Self;
}

/// A stage of a ladder `main` → `r30s` → `r5m` → `dlq`.
pub(crate) type LadderStep = StageStep<Obedient, Seen, Seen, MovedClock>;

impl Simulated for LadderStep {
    fn build(
        attempts: Attempts<Obedient, MovedClock>,
        forwarding: Forwarding<Seen, Seen, MovedClock>,
    ) -> Self {
        let retry = |topic: &str, delay: &str| RetryTopic {
            topic: topic.parse().unwrap(),
            delay: delay.parse().unwrap(),
        };
        let stages = Stages::new(
            "main".parse().unwrap(),
            &[retry("r30s", "30s"), retry("r5m", "5m")],
            &[],
            "dlq".parse().unwrap(),
        );
        Self {
            stages: stages.unwrap(),
            attempts,
            forwarding,
        }
    }
}

/// A pipeline `orders` → `orders.dlq` that counts to three.
pub(crate) type OrdersStep = CountingStep<Obedient, Seen, Seen, MovedClock>;

impl Simulated for OrdersStep {
    fn build(
        attempts: Attempts<Obedient, MovedClock>,
        forwarding: Forwarding<Seen, Seen, MovedClock>,
    ) -> Self {
        let counting = Counting::new(
            "orders".parse().unwrap(),
            "orders.dlq".parse().unwrap(),
            3.try_into().unwrap(),
        );
        Self::new(counting.unwrap(), attempts, forwarding)
    }
}

/// One sandbox with its process, and what it has done.
pub(crate) struct World<S> {
    pub(crate) batches: BatchLoop<S, MovedClock>,
    pub(crate) seen: Seen,
    pub(crate) clock: MovedClock,
    pub(crate) stop: Stop,
    pub(crate) metrics: Written,
    markers: TempDir,
}

impl World<LadderStep> {
    /// A process of the ladder, 32 records at once.
    pub(crate) fn new(batch_failures: BatchFailures) -> Self {
        Self::started(batch_failures)
    }
}

impl World<OrdersStep> {
    /// A process of the pipeline that counts, 32 records at once.
    pub(crate) fn of_orders(batch_failures: BatchFailures) -> Self {
        Self::started(batch_failures)
    }
}

impl<S: Simulated> World<S> {
    fn started(batch_failures: BatchFailures) -> Self {
        Self::in_sandbox(
            batch_failures,
            TempDir::new().unwrap(),
            Seen::default(),
            MovedClock::start(),
        )
    }

    /// Answers checks too.
    pub(crate) fn with_checks(self, checks: Checks) -> Self {
        Self {
            batches: self.batches.with_checks(checks),
            ..self
        }
    }

    /// The process dies and Lambda starts it again in the same sandbox.
    pub(crate) fn restarted(self) -> Self {
        let Self {
            batches,
            seen,
            clock,
            markers,
            ..
        } = self;
        drop(batches);
        Self::in_sandbox(BatchFailures::Report, markers, seen, clock)
    }

    fn in_sandbox(
        batch_failures: BatchFailures,
        dir: TempDir,
        seen: Seen,
        clock: MovedClock,
    ) -> Self {
        let attempts = Attempts {
            handler: Obedient {
                seen: seen.clone(),
                clock,
            },
            markers: Markers::open(dir.path(), clock.now()),
            gate: Gate::new(32.try_into().unwrap()),
            clock,
        };
        let forwarding = Forwarding {
            broker: seen.clone(),
            incidents: Incidents::new(seen.clone(), Masker::default(), Box::new(std::io::sink())),
            masker: Masker::default(),
            clock,
        };
        let step = S::build(attempts, forwarding);
        let switch = Stop::default();
        let written = Written::default();
        let metrics = Metrics::new("sim".parse().unwrap(), Box::new(written.clone()));
        Self {
            batches: BatchLoop::new(step, clock, batch_failures, switch.clone())
                .with_metrics(metrics),
            metrics: written,
            seen,
            clock,
            stop: switch,
            markers: dir,
        }
    }

    /// Runs one invocation of a payload that holds an event.
    pub(crate) async fn run(
        &self,
        payload: &str,
        seconds: u64,
    ) -> Result<BatchAnswer, InvocationError> {
        match self.batches.run(payload, seconds * 1_000).await? {
            Answer::Batch(answer) => Ok(answer),
            Answer::Check(checked) => panic!("{payload} was answered with {checked:?}"),
        }
    }

    /// Runs one invocation with so much time; answers what is handed back as `partition offset` in order, or the error's name.
    pub(crate) async fn invoke(
        &self,
        seconds: u64,
        records: &[Sent<'_>],
    ) -> Result<Vec<String>, &'static str> {
        let answer = self
            .run(&event(records), seconds)
            .await
            .map_err(|error| error.error_type())?;
        let json = serde_json::to_value(&answer).unwrap();
        let failures = json["batchItemFailures"].as_array().unwrap();
        Ok(failures
            .iter()
            .map(|failure| {
                let at = &failure["itemIdentifier"];
                format!("{} {}", at["partition"].as_str().unwrap(), at["offset"])
            })
            .collect())
    }
}

/// A record of an event: partition name, offset, age in milliseconds at the world's start, key, value.
pub(crate) type Sent<'a> = (&'a str, i64, i64, Option<&'a str>, &'a str);

/// Writes an event as Lambda does.
pub(crate) fn event(records: &[Sent<'_>]) -> String {
    use base64::Engine;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let mut partitions: BTreeMap<&str, Vec<serde_json::Value>> = BTreeMap::new();
    for (name, offset, age_ms, key, value) in records {
        let (topic, partition) = name.rsplit_once('-').unwrap();
        partitions.entry(name).or_default().push(serde_json::json!({
            "topic": topic, "partition": partition.parse::<i32>().unwrap(), "offset": offset,
            "timestamp": START - age_ms, "timestampType": "CREATE_TIME",
            "key": key.map(base64), "value": base64(value), "headers": [],
        }));
    }
    serde_json::json!({"eventSource": "aws:kafka", "records": partitions}).to_string()
}

/// A value's bytes as text.
pub(crate) fn text(value: Option<&Bytes>) -> &str {
    std::str::from_utf8(value.unwrap()).unwrap()
}
