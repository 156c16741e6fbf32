//! A topic, a broker and a clock in memory.

mod dlq;
mod main_topic;
mod state;

use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lambda::{Clock, Deadline, Stop};
use pipeline::headers::names;
use pipeline::replay::{Answer, Invoker};
use pipeline::stages::RetryTopic;
use pipeline::{Coordinates, Headers, Outgoing, Record, Stages, Timestamp, Topic};
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub(super) use self::dlq::{Dlq, SharedDlq, Slot};
pub(super) use self::main_topic::{Main, Reply, SharedMain};
pub(super) use self::state::{Kept, SharedState, State};
use crate::{Entry, Replay, ReplayError, Settings};

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

/// A replay over all of these.
pub(super) struct World {
    pub(super) dlq: Arc<Mutex<Dlq>>,
    pub(super) main: Arc<Main>,
    pub(super) state: Arc<State>,
    pub(super) clock: MovedClock,
    pub(super) stop: Stop,
    pub(super) replay: Replay<SharedMain, SharedDlq, SharedState, MovedClock>,
}

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

/// Returns a ladder of one retry stage.
pub(super) fn ladder() -> Stages {
    let retry = RetryTopic {
        topic: topic("retry"),
        delay: "1h".parse().unwrap(),
    };
    Stages::new(topic("main"), &[retry], &[], topic("dlq")).unwrap()
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
    let main = Arc::new(Main::new(clock));
    let state = Arc::new(State::default());
    let stop = Stop::default();
    World {
        replay: function(&dlq, &main, &state, clock, stop.clone()),
        dlq,
        main,
        state,
        clock,
        stop,
    }
}

fn function(
    dlq: &Arc<Mutex<Dlq>>,
    main: &Arc<Main>,
    state: &Arc<State>,
    clock: MovedClock,
    stop: Stop,
) -> Replay<SharedMain, SharedDlq, SharedState, MovedClock> {
    let settings = Settings {
        from: topic("dlq"),
        to: topic("main"),
        targets: vec![topic("main"), topic("other")],
        stages: ladder(),
        concurrency: NonZeroU16::new(4).unwrap(),
    };
    let (broker, source) = (SharedMain(Arc::clone(main)), SharedDlq(Arc::clone(dlq)));
    let store = SharedState(Arc::clone(state));
    Replay::new(settings, broker, source, store, clock, stop)
}

impl World {
    pub(super) async fn try_run(
        &self,
        payload: &Value,
        time: Duration,
    ) -> Result<Answer, ReplayError> {
        let header = u64::try_from(time.as_millis()).unwrap();
        let deadline = Deadline::from_header(header, self.clock.now());
        let result = self
            .replay
            .run(&payload.to_string(), invoker(), deadline)
            .await;
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

    /// Returns the function in another process: same topics, same store, nothing remembered.
    pub(super) fn elsewhere(&self) -> Self {
        let stop = Stop::default();
        Self {
            replay: function(&self.dlq, &self.main, &self.state, self.clock, stop.clone()),
            dlq: Arc::clone(&self.dlq),
            main: Arc::clone(&self.main),
            state: Arc::clone(&self.state),
            clock: self.clock,
            stop,
        }
    }

    /// Lets more die, at the end of each partition.
    pub(super) fn die(&self, each: i64) {
        for (partition, slots) in &mut self.dlq.lock().unwrap().partitions {
            let length = i64::try_from(slots.len()).unwrap();
            let more = length..length + each;
            slots.extend(more.map(|offset| slot(dead_letter(*partition, offset))));
        }
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

/// Returns who asks in every test.
pub(super) fn invoker() -> Invoker {
    Invoker {
        caller: None,
        request_id: Some("request-1".to_owned()),
    }
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
    assert!(answer.plan.is_none() || answer.dry_run);
    assert_eq!(answer.complete, answer.stopped.is_none());
    assert!(answer.sample.len() <= 10);
}
