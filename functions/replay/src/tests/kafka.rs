//! Replays over Kafka's protocol, against librdkafka's mock cluster.

use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::time::Duration;

use crate::{KafkaTopics, Replay, ReplayError, Settings};
use bytes::Bytes;
use kafka::{Brokers, ChunkLimit, Connection, Producer, Read, Reader};
use lambda::{Broker, Clock, Deadline, Stop, SystemClock};
use pipeline::headers::names;
use pipeline::replay::{Answer, Invoker};
use pipeline::{Headers, Outgoing, Record, Topic};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use serde_json::{Value, json};

use super::world::{SharedState, ladder};

struct World {
    mock: MockCluster<'static, DefaultProducerContext>,
    replay: Replay<Producer, KafkaTopics, SharedState, SystemClock>,
}

fn topic(name: &str) -> Topic {
    name.parse().unwrap()
}

fn connection(brokers: &str) -> Connection {
    Connection::without_auth(brokers.parse::<Brokers>().unwrap())
}

fn replay_on(
    brokers: &str,
    concurrency: u16,
) -> Replay<Producer, KafkaTopics, SharedState, SystemClock> {
    let settings = Settings {
        from: topic("dlq"),
        to: topic("main"),
        targets: vec![topic("main")],
        stages: ladder(),
        concurrency: NonZeroU16::new(concurrency).unwrap(),
    };
    let (broker, topics) = (
        Producer::new(connection(brokers)),
        KafkaTopics::new(connection(brokers)),
    );
    let store = SharedState::default();
    Replay::new(
        settings,
        broker,
        topics,
        store,
        SystemClock,
        Stop::default(),
    )
}

impl World {
    /// Starts a broker with so many dead letters.
    async fn with(dead_letters: u32) -> Self {
        let mock = MockCluster::new(1).unwrap();
        mock.create_topic("dlq", 4, 1).unwrap();
        mock.create_topic("main", 3, 1).unwrap();
        let brokers = mock.bootstrap_servers();
        let world = Self {
            replay: replay_on(&brokers, 32),
            mock,
        };
        world.die(0..dead_letters).await;
        world
    }

    async fn die(&self, numbers: std::ops::Range<u32>) {
        let producer = Producer::new(connection(&self.mock.bootstrap_servers()));
        for number in numbers {
            let mut headers = Headers::default();
            headers.push("trace", None);
            headers.push("trace", Some(Bytes::from_static(&[0, 0xff])));
            let class = if number % 3 == 0 {
                "permanent"
            } else {
                "transient"
            };
            headers.set(names::ERROR_CLASS, class);
            headers.set(names::RETRY_COUNT, "3");
            let outgoing = Outgoing {
                topic: topic("dlq"),
                key: Some(Bytes::from(format!("k-{number}"))),
                value: Some(Bytes::from(vec![
                    u8::try_from(number % 251).unwrap(),
                    0,
                    0xff,
                ])),
                headers,
            };
            producer.produce(&outgoing).await.unwrap();
        }
    }

    async fn run(&self, payload: &Value) -> Result<Answer, ReplayError> {
        self.run_within(payload, 60_000).await
    }

    async fn run_within(&self, payload: &Value, millis: u64) -> Result<Answer, ReplayError> {
        let deadline = Deadline::from_header(millis, SystemClock.now());
        let result = self
            .replay
            .run(&payload.to_string(), Invoker::default(), deadline)
            .await;
        assert!(
            SystemClock.now() <= deadline.answer_by(),
            "the answer came too late"
        );
        result
    }

    async fn records(&self, name: &str) -> Vec<Record> {
        let connection = connection(&self.mock.bootstrap_servers());
        let mut reader = Reader::open(&connection, &topic(name)).await.unwrap();
        let everything = ChunkLimit {
            records: usize::MAX,
            bytes: usize::MAX,
        };
        let chunk = reader
            .next_chunk(everything, std::future::pending())
            .await
            .unwrap();
        let record = |read| match read {
            Read::Record(record) => record,
            Read::Unreadable(unreadable) => panic!("{unreadable:?}"),
        };
        chunk.records.into_iter().map(record).collect()
    }

    /// Checks that main holds what these keys' dead letters hold, each once.
    async fn check_returned(&self, keys: impl Iterator<Item = u32>) {
        let returned = self.records("main").await;
        let dead = self.records("dlq").await;
        let expected: BTreeSet<String> = keys.map(|number| format!("k-{number}")).collect();
        let key =
            |record: &Record| String::from_utf8(record.key.as_ref().unwrap().to_vec()).unwrap();
        assert_eq!(returned.iter().map(key).collect::<BTreeSet<_>>(), expected);
        assert_eq!(returned.len(), expected.len(), "some went back twice");
        for record in &returned {
            let from = record.headers.only_text(names::REPLAY_FROM_DLQ).unwrap();
            let dead = dead
                .iter()
                .find(|dead| dead.coordinates.to_string() == from)
                .unwrap();
            assert_eq!((&record.key, &record.value), (&dead.key, &dead.value));
            let kept = |record: &Record| record.headers.foreign();
            assert_eq!(kept(record), kept(dead));
            assert_eq!(record.headers.only_text(names::RETRY_COUNT), Some("0"));
        }
    }
}

#[tokio::test]
async fn a_dry_run_then_a_real_one_over_the_wire() {
    let world = World::with(300).await;
    let dry = world
        .run(&json!({ "dry_run": true, "error_class": "transient" }))
        .await
        .unwrap();
    assert_eq!(
        (dry.to_publish, dry.published, dry.complete),
        (Some(200), 0, true)
    );
    assert!(world.records("main").await.is_empty());
    let ask = json!({ "error_class": "transient", "rate_per_second": 0 });
    let real = world.run(&ask).await.unwrap();
    assert_eq!(
        (real.matched, real.published, real.complete),
        (200, 200, true)
    );
    world
        .check_returned((0..300).filter(|number| number % 3 != 0))
        .await;
}

#[tokio::test]
async fn a_run_goes_on_by_its_token_to_the_ends_that_were_fixed() {
    let world = World::with(120).await;
    let mut payload = json!({ "limit": 50, "rate_per_second": 0 });
    for (published, complete) in [(50, false), (50, false), (20, true)] {
        let answer = world.run(&payload).await.unwrap();
        assert_eq!((answer.published, answer.complete), (published, complete));
        payload = json!({ "resume": answer.resume });
        world.die(1_000..1_003).await;
    }
    world.check_returned(0..120).await;
}

#[tokio::test]
async fn times_are_kept_by_a_broker_that_cannot_look_them_up() {
    let world = World::with(20).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let between = SystemClock.now().to_rfc3339();
    world.die(20..30).await;
    let answer = world
        .run(&json!({ "since": between, "rate_per_second": 0 }))
        .await
        .unwrap();
    assert_eq!((answer.published, answer.complete), (10, true));
    world.check_returned(20..30).await;
    let answer = world
        .run(&json!({ "until": between, "dry_run": true }))
        .await
        .unwrap();
    assert_eq!(answer.to_publish, Some(20));
}

#[tokio::test]
async fn a_list_is_read_from_where_it_is() {
    let world = World::with(40).await;
    let dead = world.records("dlq").await;
    let chosen: Vec<&Record> = dead
        .iter()
        .filter(|record| record.value.as_ref().unwrap()[0] % 7 == 0)
        .collect();
    let list: Vec<String> = chosen
        .iter()
        .map(|record| record.coordinates.to_string())
        .collect();
    let answer = world
        .run(&json!({ "records": list, "rate_per_second": 0 }))
        .await
        .unwrap();
    assert_eq!(answer.published, 6);
    world
        .check_returned((0..40).filter(|number| number % 7 == 0))
        .await;
}

#[tokio::test]
async fn a_record_that_the_broker_refuses_is_counted_and_the_rest_goes_back() {
    let mut world = World::with(4).await;
    // One after the other, so that the first meets both refusals.
    world.replay = replay_on(&world.mock.bootstrap_servers(), 1);
    // Refused in its batch, and again alone.
    let too_large = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    let refusals = [too_large, too_large];
    world.mock.request_errors(RDKafkaApiKey::Produce, &refusals);
    let answer = world
        .run(&json!({ "all": true, "rate_per_second": 0 }))
        .await
        .unwrap();
    assert_eq!((answer.matched, answer.published, answer.failed), (4, 3, 1));
    assert!(answer.complete);
    assert_eq!(world.records("main").await.len(), 3);
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_named() {
    let world = World::with(0).await;
    world
        .mock
        .topic_error(
            "nothere",
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
        )
        .unwrap();
    let error = world
        .run(&json!({ "from_topic": "nothere", "all": true }))
        .await
        .unwrap_err();
    assert_eq!(error.error_type(), "InvalidReplay");
    assert!(error.to_string().contains("nothere"));
    let answer = world.run(&json!({ "all": true })).await.unwrap();
    assert_eq!((answer.matched, answer.complete), (0, true));
}

#[tokio::test]
async fn a_broker_that_is_away_is_named_in_time() {
    let began = SystemClock.now();
    let replay = replay_on("127.0.0.1:1", 32);
    let deadline = Deadline::from_header(30_000, SystemClock.now());
    let error = replay
        .run(r#"{"all":true}"#, Invoker::default(), deadline)
        .await
        .unwrap_err();
    assert_eq!(error.error_type(), "BrokerFault");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    let took = SystemClock.now().millis_since(began);
    assert!(took < 15_000, "{took} ms");
}
