//! What is outside of a function: a clock that is moved, and a broker and a store in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::{Coordinates, Outgoing, Timestamp, Topic};
use tokio::time::Instant;

use crate::{Attempt, Broker, Clock, Objects, ProduceError, Put, StoreFault};

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
