//! A topic, a broker and a clock in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lambda::{Broker, Clock, Deadline, ProduceError, Stop};
use pipeline::headers::names;
use pipeline::replay::{Answer, Lane, Progress};
use pipeline::{Coordinates, Headers, Offset, Outgoing, Partition, Record, Timestamp, Topic};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::{Chunk, DeadLetters, Entry, Reading, Replay, ReplayError, Settings, SourceError};

pub(super) const BEGIN: Timestamp = Timestamp::from_millis(1_755_933_141_805);

/// Long enough for whatever a test does, unless its deadline is what it tests.
pub(super) const LONG: Duration = Duration::from_hours(1);

pub(super) fn topic(name: &str) -> Topic {
    name.parse().unwrap()
}

/// The time as tokio's paused clock tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovedClock(Instant);

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        BEGIN.plus_millis(i64::try_from(self.0.elapsed().as_millis()).unwrap())
    }

    async fn sleep_until(&self, time: Timestamp) {
        let left = u64::try_from(time.millis_since(self.now())).unwrap_or_default();
        sleep(Duration::from_millis(left)).await;
    }
}

/// What a partition holds at an offset; a gap is what Kafka leaves behind transactions and compaction.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    Entry(Entry),
    Gap,
}

/// The topic of dead letters, and how reading it goes.
#[derive(Debug, Default)]
pub(super) struct Dlq {
    pub(super) partitions: BTreeMap<i32, Vec<Slot>>,
    /// How many records a chunk holds.
    pub(super) chunk: usize,
    /// How long a chunk takes.
    pub(super) chunk_takes: Duration,
    /// How many polls come back empty before each chunk.
    pub(super) empty_polls: usize,
    /// Reading fails after so many chunks.
    pub(super) fault_after: Option<usize>,
    pub(super) opened: usize,
    pub(super) chunks: usize,
}

/// What the broker does with a record.
pub(super) type Rule = Box<dyn Fn(&Outgoing) -> Reply + Send + Sync>;

pub(super) enum Reply {
    Ok,
    Refused,
    Fault,
    /// No reply until the broker's client gives up.
    Silence,
}

/// The main topic and its broker.
pub(super) struct Main {
    pub(super) produced: Mutex<Vec<(Timestamp, Outgoing)>>,
    pub(super) rule: Mutex<Rule>,
    pub(super) takes: Mutex<Duration>,
    pub(super) most_at_once: AtomicUsize,
    at_once: AtomicUsize,
    given_up: Notify,
    clock: MovedClock,
}

/// A replay over all of these.
pub(super) struct World {
    pub(super) dlq: Arc<Mutex<Dlq>>,
    pub(super) main: Arc<Main>,
    pub(super) clock: MovedClock,
    pub(super) stop: Stop,
    pub(super) replay: Replay<SharedMain, SharedDlq, MovedClock>,
}

pub(super) struct SharedMain(Arc<Main>);
pub(super) struct SharedDlq(Arc<Mutex<Dlq>>);

/// Returns a dead letter as the pipeline writes them, its value telling where it is.
pub(super) fn dead_letter(partition: i32, offset: i64) -> Record {
    let at: Coordinates = format!("dlq/{partition}/{offset}").parse().unwrap();
    let mut headers = Headers::default();
    headers.push("traceparent", Some(Bytes::from_static(b"00-1-1-00")));
    headers.set(names::ERROR_CLASS, "transient");
    headers.set(names::ERROR_CODE, "provider.timeout");
    headers.set(names::RETRY_COUNT, "3");
    headers.set(names::ORIGINAL_TOPIC, "main");
    Record {
        timestamp: BEGIN.plus_millis(offset - 100_000),
        key: Some(Bytes::from(format!("k-{partition}"))),
        value: Some(Bytes::from(at.to_string())),
        coordinates: at,
        headers,
    }
}

pub(super) fn slot(record: Record) -> Slot {
    Slot::Entry(Entry::Record(record))
}

/// Makes a world of so many partitions with so many dead letters each.
pub(super) fn world(partitions: i32, each: i64) -> World {
    let clock = MovedClock(Instant::now());
    let slots = |p: i32| (0..each).map(|o| slot(dead_letter(p, o))).collect();
    let dlq = Arc::new(Mutex::new(Dlq {
        partitions: (0..partitions).map(|p| (p, slots(p))).collect(),
        chunk: 500,
        ..Dlq::default()
    }));
    let main = Arc::new(Main {
        produced: Mutex::default(),
        rule: Mutex::new(Box::new(|_| Reply::Ok)),
        takes: Mutex::new(Duration::from_millis(5)),
        most_at_once: AtomicUsize::new(0),
        at_once: AtomicUsize::new(0),
        given_up: Notify::new(),
        clock,
    });
    let settings = Settings {
        from: topic("dlq"),
        to: topic("main"),
        targets: vec![topic("main")],
        concurrency: NonZeroU16::new(4).unwrap(),
    };
    let stop = Stop::default();
    let (broker, source) = (SharedMain(Arc::clone(&main)), SharedDlq(Arc::clone(&dlq)));
    World {
        replay: Replay::new(settings, broker, source, clock, stop.clone()),
        dlq,
        main,
        clock,
        stop,
    }
}

impl World {
    pub(super) async fn try_run(
        &self,
        payload: &Value,
        time: Duration,
    ) -> Result<Answer, ReplayError> {
        let header = u64::try_from(time.as_millis()).unwrap();
        let deadline = Deadline::from_header(header, self.clock.now());
        let result = self.replay.run(&payload.to_string(), deadline).await;
        assert!(
            self.clock.now() <= deadline.answer_by() || time < Duration::from_millis(500),
            "the answer came {} ms after its time",
            self.clock.now().millis_since(deadline.answer_by())
        );
        if let Ok(answer) = &result {
            check_sums(answer);
        }
        result
    }

    pub(super) async fn run(&self, payload: &Value) -> Answer {
        self.run_within(payload, LONG).await
    }

    pub(super) async fn run_within(&self, payload: &Value, time: Duration) -> Answer {
        self.try_run(payload, time).await.unwrap()
    }

    /// Returns the places of the dead letters that went back, in the order in which they did.
    pub(super) fn returned(&self) -> Vec<String> {
        let produced = self.main.produced.lock().unwrap();
        let from = |outgoing: &Outgoing| {
            outgoing
                .headers
                .only_text(names::REPLAY_FROM_DLQ)
                .unwrap()
                .to_owned()
        };
        produced
            .iter()
            .map(|(_, outgoing)| from(outgoing))
            .collect()
    }

    pub(super) fn set_rule(&self, rule: impl Fn(&Outgoing) -> Reply + Send + Sync + 'static) {
        *self.main.rule.lock().unwrap() = Box::new(rule);
    }
}

/// Returns every place of a world, as `returned` does.
pub(super) fn places(partitions: i32, each: i64) -> BTreeSet<String> {
    (0..partitions)
        .flat_map(|p| (0..each).map(move |o| format!("dlq/{p}/{o}")))
        .collect()
}

/// Checks that each is there once.
pub(super) fn check_once(returned: &[String], expected: &BTreeSet<String>) {
    let distinct: BTreeSet<String> = returned.iter().cloned().collect();
    assert_eq!(&distinct, expected);
    assert_eq!(returned.len(), expected.len(), "some went back twice");
}

/// Checks what holds for every answer.
fn check_sums(answer: &Answer) {
    let sent = answer.to_publish.unwrap_or(answer.published);
    let skipped: u64 = answer.skipped.values().sum();
    assert_eq!(answer.matched, sent + answer.failed + skipped, "{answer:?}");
    assert_eq!(answer.matched, answer.by_error_class.values().sum::<u64>());
    assert_eq!(answer.matched, answer.by_error_code.values().sum::<u64>());
    assert_eq!(answer.skipped.len(), 3);
    assert_eq!(answer.dry_run, answer.to_publish.is_some());
    assert_eq!(answer.complete, answer.resume.is_none());
    assert_eq!(answer.complete, answer.stopped.is_none());
    assert!(answer.sample.len() <= 10);
}

impl Broker for SharedMain {
    async fn produce(&self, outgoing: &Outgoing) -> Result<Coordinates, ProduceError> {
        let main = &self.0;
        let reply = (main.rule.lock().unwrap())(outgoing);
        // The place in the partition is taken when the record is sent, not when it is acknowledged.
        if matches!(reply, Reply::Ok) {
            main.produced
                .lock()
                .unwrap()
                .push((main.clock.now(), outgoing.clone()));
        }
        let at_once = main.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        main.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let takes = *main.takes.lock().unwrap();
        sleep(takes).await;
        if matches!(reply, Reply::Silence) {
            main.given_up.notified().await;
        }
        main.at_once.fetch_sub(1, Ordering::SeqCst);
        match reply {
            Reply::Ok => Ok("main/0/0".parse().unwrap()),
            Reply::Refused => Err(ProduceError::Refused("too large".to_owned())),
            Reply::Fault => Err(ProduceError::Fault("no leader (brokers b:9092)".to_owned())),
            Reply::Silence => Err(ProduceError::Fault("given up (brokers b:9092)".to_owned())),
        }
    }

    fn give_up(&self) {
        self.0.given_up.notify_waiters();
    }
}

/// A reading of the topic: what it holds beyond the ends that were fixed is never looked at.
pub(super) struct MemoryReading {
    dlq: Arc<Mutex<Dlq>>,
    held: BTreeMap<Partition, Lane>,
    left: BTreeMap<Partition, Lane>,
    empty_polls: usize,
}

fn offset(number: usize) -> Offset {
    Offset::new(i64::try_from(number).unwrap()).unwrap()
}

impl DeadLetters for SharedDlq {
    type Reading = MemoryReading;

    async fn open(&self, name: &Topic) -> Result<MemoryReading, SourceError> {
        let mut dlq = self.0.lock().unwrap();
        if *name != topic("dlq") {
            return Err(SourceError::NoSuchTopic(name.clone()));
        }
        dlq.opened += 1;
        let held = dlq.partitions.iter().map(|(number, slots)| {
            let lane = Lane {
                next: Offset::FIRST,
                end: offset(slots.len()),
            };
            (Partition::new(*number).unwrap(), lane)
        });
        Ok(MemoryReading {
            held: held.collect(),
            left: BTreeMap::new(),
            empty_polls: dlq.empty_polls,
            dlq: Arc::clone(&self.0),
        })
    }
}

impl Reading for MemoryReading {
    fn held(&self) -> BTreeMap<Partition, Lane> {
        self.held.clone()
    }

    async fn first_since(
        &mut self,
        since: Timestamp,
    ) -> Result<BTreeMap<Partition, Offset>, SourceError> {
        let dlq = self.dlq.lock().unwrap();
        let first = dlq.partitions.iter().filter_map(|(number, slots)| {
            let first = slots.iter().position(|slot| {
                matches!(slot, Slot::Entry(Entry::Record(record)) if record.timestamp >= since)
            })?;
            Some((Partition::new(*number).unwrap(), offset(first)))
        });
        Ok(first.collect())
    }

    async fn start_at(&mut self, left: &Progress) -> Result<(), SourceError> {
        self.left = left.left().collect();
        Ok(())
    }

    async fn next_chunk(
        &mut self,
        until: impl Future<Output = ()> + Send,
    ) -> Result<Chunk, SourceError> {
        let takes = self.dlq.lock().unwrap().chunk_takes;
        tokio::select! {
            biased;
            () = sleep(takes) => {}
            () = until => return Ok(self.chunk(0)),
        }
        if self.empty_polls > 0 {
            self.empty_polls -= 1;
            return Ok(self.chunk(0));
        }
        let (most, fault) = {
            let mut dlq = self.dlq.lock().unwrap();
            self.empty_polls = dlq.empty_polls;
            dlq.chunks += 1;
            (
                dlq.chunk,
                dlq.fault_after.is_some_and(|after| dlq.chunks > after),
            )
        };
        if fault {
            return Err(SourceError::Fault("no answer (brokers b:9092)".to_owned()));
        }
        Ok(self.chunk(most))
    }
}

impl MemoryReading {
    /// Reads the partitions in turns, as a broker's answers come in.
    fn chunk(&mut self, most: usize) -> Chunk {
        let dlq = self.dlq.lock().unwrap();
        let mut entries = Vec::new();
        while entries.len() < most && self.left.values().any(|lane| lane.next < lane.end) {
            for (partition, lane) in self
                .left
                .iter_mut()
                .filter(|(_, lane)| lane.next < lane.end)
            {
                let index = usize::try_from(lane.next.get()).unwrap();
                if let Slot::Entry(entry) = &dlq.partitions[&partition.get()][index]
                    && entries.len() < most
                {
                    entries.push(entry.clone());
                } else if entries.len() >= most {
                    break;
                }
                lane.next = Offset::new(lane.next.get() + 1).unwrap();
            }
        }
        let positions = self
            .left
            .iter()
            .map(|(partition, lane)| (*partition, lane.next));
        Chunk {
            positions: positions.collect(),
            entries,
        }
    }
}
