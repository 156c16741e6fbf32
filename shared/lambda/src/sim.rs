//! A small world for tests of the loop: a clock that is moved, a broker and a store in memory, a handler that does as its record says.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use pipeline::mask::Masker;
use pipeline::stages::RetryTopic;
use pipeline::{
    Coordinates, ErrorCode, Failure, Outgoing, Record, Stages, Timestamp, Topic, Verdict,
};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::batch::BatchLoop;
use crate::gate::Gate;
use crate::incidents::Incidents;
use crate::invocation::BatchFailures;
use crate::markers::Markers;
use crate::stage::StageStep;
use crate::stop::Stop;
use crate::{Attempt, Broker, Clock, Handler, NoTimeLeft, Objects, ProduceError, Put, StoreFault};

/// When the world's clock starts.
pub(crate) const START: i64 = 1_755_933_141_855;

/// A clock that follows tokio's, which a paused runtime moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedClock(Instant);

impl MovedClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn passed_ms(self) -> i64 {
        i64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(START + self.passed_ms())
    }

    async fn sleep_until(&self, time: Timestamp) {
        let left = time.millis_since(self.now()).max(0);
        tokio::time::sleep(Duration::from_millis(left.unsigned_abs())).await;
    }
}

/// What the broker does with records for a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Takes them after so many milliseconds.
    Takes(u64),
    /// Refuses each record itself.
    Refuses,
    /// Is away: fails after 5 s.
    Away,
}

/// Brokers and stores share what the world has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) produced: Arc<Mutex<Vec<Outgoing>>>,
    pub(crate) objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    pub(crate) handled: Arc<Mutex<Vec<(String, Attempt, i64)>>>,
    pub(crate) weather: Arc<Mutex<HashMap<Topic, Weather>>>,
    pub(crate) store_away: Arc<Mutex<bool>>,
}

impl Seen {
    pub(crate) fn produced_to(&self, topic: &str) -> Vec<Outgoing> {
        let produced = self.produced.lock().unwrap();
        produced
            .iter()
            .filter(|outgoing| outgoing.topic.as_str() == topic)
            .cloned()
            .collect()
    }

    pub(crate) fn handled(&self) -> Vec<String> {
        self.handled
            .lock()
            .unwrap()
            .iter()
            .map(|(value, _, _)| value.clone())
            .collect()
    }

    pub(crate) fn weather(&self, topic: &str, weather: Weather) {
        self.weather
            .lock()
            .unwrap()
            .insert(topic.parse().unwrap(), weather);
    }
}

impl Broker for Seen {
    async fn produce(&self, outgoing: &Outgoing) -> Result<Coordinates, ProduceError> {
        let weather = self
            .weather
            .lock()
            .unwrap()
            .get(&outgoing.topic)
            .copied()
            .unwrap_or(Weather::Takes(5));
        match weather {
            Weather::Takes(ms) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                self.produced.lock().unwrap().push(outgoing.clone());
                Ok(format!("{}/0/0", outgoing.topic).parse().unwrap())
            }
            Weather::Refuses => Err(ProduceError::Refused("message too large".to_owned())),
            Weather::Away => {
                tokio::time::sleep(Duration::from_secs(5)).await;
                Err(ProduceError::Fault(
                    "brokers b:9092 (auth none): timed out".to_owned(),
                ))
            }
        }
    }

    fn give_up(&self) {}
}

impl Objects for Seen {
    async fn put_new(&self, key: &str, body: Vec<u8>) -> Result<Put, StoreFault> {
        let away = *self.store_away.lock().unwrap();
        if away {
            return Err(StoreFault("bucket b: 503".to_owned()));
        }
        match self.objects.lock().unwrap().entry(key.to_owned()) {
            Entry::Occupied(_) => Ok(Put::Existed),
            Entry::Vacant(place) => {
                place.insert(body);
                Ok(Put::Created)
            }
        }
    }
}

/// Does as the record's value says: `ok`, `transient`, `permanent`, `panic`, `slow 200`, `hang`, `no-time`.
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

/// One sandbox with its process, and what it has done.
pub(crate) struct World {
    pub(crate) batches: BatchLoop<StageStep<Obedient, Seen, Seen, MovedClock>, MovedClock>,
    pub(crate) seen: Seen,
    pub(crate) clock: MovedClock,
    pub(crate) stop: Stop,
    markers: TempDir,
}

impl World {
    /// A process of a ladder `main` → `r30s` → `r5m` → `dlq`, 32 at once.
    pub(crate) fn new(batch_failures: BatchFailures) -> Self {
        Self::in_sandbox(
            batch_failures,
            TempDir::new().unwrap(),
            Seen::default(),
            MovedClock::start(),
        )
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
        let retry = |topic: &str, delay: &str| RetryTopic {
            topic: topic.parse().unwrap(),
            delay: delay.parse().unwrap(),
        };
        let step = StageStep {
            stages: Stages::new(
                "main".parse().unwrap(),
                &[retry("r30s", "30s"), retry("r5m", "5m")],
                &[],
                "dlq".parse().unwrap(),
            )
            .unwrap(),
            handler: Obedient {
                seen: seen.clone(),
                clock,
            },
            broker: seen.clone(),
            incidents: Incidents::new(seen.clone(), Masker::default(), Box::new(std::io::sink())),
            markers: Markers::open(dir.path(), clock.now()),
            gate: Gate::new(32.try_into().unwrap()),
            masker: Masker::default(),
            clock,
        };
        let switch = Stop::default();
        Self {
            batches: BatchLoop::new(step, clock, batch_failures, switch.clone()),
            seen,
            clock,
            stop: switch,
            markers: dir,
        }
    }

    /// Runs one invocation with so much time; answers what is handed back as `partition offset` in order, or the error's name.
    pub(crate) async fn invoke(
        &self,
        seconds: u64,
        records: &[Sent<'_>],
    ) -> Result<Vec<String>, &'static str> {
        let answer = self
            .batches
            .run(&event(records), seconds * 1_000)
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
