//! What only a real broker shows. Needs one: `KAFKA_TEST_BROKERS=127.0.0.1:9092`.

use std::time::Duration;

use futures_util::future::join_all;
use kafka::{Connection, Producer, Range, Read, Reader};
use lambda::{Broker, Clock, ProduceError, SystemClock};
use pipeline::{Outgoing, Timestamp};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::producer::{BaseProducer, BaseRecord, FutureProducer, FutureRecord, Producer as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use tokio::time::Instant;

use crate::cluster::{connection, name, outgoing, rest};

const PATIENCE: Duration = Duration::from_secs(20);

struct Kafka {
    brokers: String,
    topic: String,
}

impl Kafka {
    /// Makes a topic of its own for a test; `None` when there is no broker to test with, which is an error in CI.
    async fn with(test: &str, settings: &[(&str, &str)]) -> Option<Self> {
        let kafka = Self::without_topic(test)?;
        kafka.create(settings).await;
        Some(kafka)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "tests take the broker from their environment"
    )]
    fn without_topic(test: &str) -> Option<Self> {
        let Ok(brokers) = std::env::var("KAFKA_TEST_BROKERS") else {
            assert!(std::env::var("CI").is_err(), "CI tests with a broker");
            println!("not run: KAFKA_TEST_BROKERS is not set");
            return None;
        };
        let now = SystemClock.now().millis();
        Some(Self {
            brokers,
            topic: format!("kafka-test.{test}.{now}"),
        })
    }

    async fn create(&self, settings: &[(&str, &str)]) {
        let topic = NewTopic::new(&self.topic, 1, TopicReplication::Fixed(1));
        let topic = settings
            .iter()
            .fold(topic, |topic, (key, value)| topic.set(key, value));
        let made = self
            .admin()
            .create_topics(&[topic], &AdminOptions::new())
            .await;
        assert!(made.unwrap().iter().all(Result::is_ok));
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers);
        config
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.client().create().unwrap()
    }

    fn connection(&self) -> Connection {
        connection(&self.brokers)
    }

    /// Begins a transaction with one record in it.
    fn transaction(&self) -> BaseProducer {
        let producer: BaseProducer = self
            .client()
            .set("transactional.id", &self.topic)
            .create()
            .unwrap();
        producer.init_transactions(PATIENCE).unwrap();
        producer.begin_transaction().unwrap();
        self.add(&producer);
        producer
    }

    /// Opens a reader once its first range is as wanted: a transaction is over before its partition has the marker.
    async fn reader_when(&self, wanted: impl Fn(&Range) -> bool) -> Reader {
        for _ in 0..100 {
            let reader = self.reader().await;
            if wanted(&reader.ranges()[0]) {
                return reader;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.reader().await
    }

    /// Adds one record to a transaction.
    fn add(&self, producer: &BaseProducer) {
        let record = BaseRecord::<[u8], [u8]>::to(&self.topic).payload(b"in a transaction");
        producer.send(record).map_err(|(error, _)| error).unwrap();
        producer.flush(PATIENCE).unwrap();
    }

    /// Produces a record with a time of its own.
    async fn produce_at(&self, time: i64) {
        let producer: FutureProducer = self.client().create().unwrap();
        let record = FutureRecord::<[u8], [u8]>::to(&self.topic)
            .payload(b"v")
            .timestamp(time);
        producer.send(record, PATIENCE).await.unwrap();
    }

    async fn reader(&self) -> Reader {
        Reader::open(&self.connection(), &name(&self.topic))
            .await
            .unwrap()
    }

    fn outgoing(&self, key: Option<&[u8]>, value: &[u8]) -> Outgoing {
        outgoing(&self.topic, key, Some(value))
    }
}

/// Reads on to the end, which takes no longer than a moment, and returns the offsets.
async fn offsets(reader: &mut Reader) -> Vec<i64> {
    let start = Instant::now();
    let reads = rest(reader).await.records;
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    reads
        .iter()
        .map(|read: &Read| read.coordinates().offset.get())
        .collect()
}

/// Row 83 of docs/faults.md: the high watermark against the last stable offset.
#[tokio::test]
async fn an_open_transaction_holds_the_end_back_and_the_range_says_so() {
    let Some(kafka) = Kafka::with("open", &[]).await else {
        return;
    };
    kafka.produce_at(1_000).await;
    kafka.produce_at(2_000).await;
    let transaction = kafka.transaction();
    kafka.produce_at(3_000).await;
    let mut reader = kafka.reader().await;
    let range = reader.ranges()[0];
    assert_eq!(
        (
            range.start.get(),
            range.end.get(),
            range.high_watermark.get()
        ),
        (0, 2, 4)
    );
    assert!(range.is_held_back());
    assert_eq!(offsets(&mut reader).await, [0, 1]);
    transaction.commit_transaction(PATIENCE).unwrap();
    let mut reader = kafka.reader_when(|range| !range.is_held_back()).await;
    assert!(!reader.ranges()[0].is_held_back());
    assert_eq!(offsets(&mut reader).await, [0, 1, 2, 3]);
}

#[tokio::test]
async fn an_aborted_transaction_at_the_end_is_passed() {
    let Some(kafka) = Kafka::with("aborted", &[]).await else {
        return;
    };
    kafka.produce_at(1_000).await;
    let transaction = kafka.transaction();
    kafka.add(&transaction);
    transaction.abort_transaction(PATIENCE).unwrap();
    let mut reader = kafka.reader_when(|range| range.end.get() == 4).await;
    assert_eq!(reader.ranges()[0].end.get(), 4);
    // Whatever comes later does not matter.
    transaction.begin_transaction().unwrap();
    kafka.add(&transaction);
    assert_eq!(offsets(&mut reader).await, [0]);
    transaction.abort_transaction(PATIENCE).unwrap();
}

#[tokio::test]
async fn reading_starts_at_a_time() {
    let Some(kafka) = Kafka::with("time", &[("retention.ms", "-1")]).await else {
        return;
    };
    for time in [1_000, 3_000, 2_000, 5_000] {
        kafka.produce_at(time).await;
    }
    let check = async |time: i64, expected: &[i64]| {
        let mut reader = kafka.reader().await;
        reader
            .start_at_time(Timestamp::from_millis(time))
            .await
            .unwrap();
        assert_eq!(offsets(&mut reader).await, expected, "{time}");
    };
    check(-1, &[0, 1, 2, 3]).await;
    check(1_000, &[0, 1, 2, 3]).await;
    check(1_001, &[1, 2, 3]).await;
    check(3_001, &[3]).await;
    check(5_001, &[]).await;
}

#[tokio::test]
async fn deleted_records_are_passed() {
    let Some(kafka) = Kafka::with("deleted", &[]).await else {
        return;
    };
    for time in 1..=6 {
        kafka.produce_at(time * 1_000).await;
    }
    let delete_before = async |offset: i64| {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&kafka.topic, 0, Offset::Offset(offset))
            .unwrap();
        kafka
            .admin()
            .delete_records(&list, &AdminOptions::new())
            .await
            .unwrap();
    };
    delete_before(2).await;
    let mut reader = kafka.reader().await;
    assert_eq!(reader.ranges()[0].start.get(), 2);
    delete_before(4).await;
    assert_eq!(offsets(&mut reader).await, [4, 5]);
    let mut reader = kafka.reader().await;
    delete_before(6).await;
    assert_eq!(offsets(&mut reader).await, [0; 0]);
}

#[tokio::test]
async fn the_reader_leaves_no_group_behind() {
    let Some(kafka) = Kafka::with("group", &[]).await else {
        return;
    };
    kafka.produce_at(1_000).await;
    let mut reader = kafka.reader().await;
    assert_eq!(offsets(&mut reader).await, [0]);
    let groups = kafka
        .admin()
        .inner()
        .fetch_group_list(None, PATIENCE)
        .unwrap();
    assert!(
        groups
            .groups()
            .iter()
            .all(|group| group.name() != "brew-replay")
    );
}

/// Row 27 of docs/faults.md: a compacted topic takes no record without a key.
#[tokio::test]
async fn a_record_is_refused_for_itself_and_not_for_its_batch() {
    let Some(kafka) = Kafka::with("compacted", &[("cleanup.policy", "compact")]).await else {
        return;
    };
    let producer = Producer::new(kafka.connection());
    let keys: [Option<&[u8]>; 6] = [Some(b"a"), None, Some(b"b"), None, Some(b""), Some(b"c")];
    let records = keys.map(|key| kafka.outgoing(key, b"v"));
    let results = join_all(records.iter().map(|record| producer.produce(record))).await;
    for (key, result) in keys.iter().zip(&results) {
        match result {
            Ok(_) => assert!(key.is_some()),
            Err(ProduceError::Refused(_)) => assert!(key.is_none()),
            Err(ProduceError::Fault(_)) => panic!("{results:?}"),
        }
    }
    assert_eq!(offsets(&mut kafka.reader().await).await.len(), 4);
}

#[tokio::test]
async fn small_records_fit_where_their_batch_does_not() {
    let Some(kafka) = Kafka::with("small", &[("max.message.bytes", "1000")]).await else {
        return;
    };
    let producer = Producer::new(kafka.connection());
    let records: Vec<Outgoing> = (0..20_u8)
        .map(|it| kafka.outgoing(Some(b"k"), &[it; 300]))
        .collect();
    for result in join_all(records.iter().map(|record| producer.produce(record))).await {
        result.unwrap();
    }
    let refused = producer
        .produce(&kafka.outgoing(Some(b"k"), &[0; 2_000]))
        .await;
    assert!(
        matches!(refused, Err(ProduceError::Refused(_))),
        "{refused:?}"
    );
    assert_eq!(offsets(&mut kafka.reader().await).await.len(), 20);
}

#[tokio::test]
async fn a_topic_that_was_missing_is_found_when_it_is_there() {
    let Some(kafka) = Kafka::without_topic("late") else {
        return;
    };
    let producer = Producer::new(kafka.connection());
    let record = kafka.outgoing(Some(b"k"), b"v");
    let missing = producer.produce(&record).await;
    assert!(
        matches!(missing, Err(ProduceError::Fault(_))),
        "{missing:?}"
    );
    kafka.create(&[]).await;
    producer.produce(&record).await.unwrap();
    assert_eq!(offsets(&mut kafka.reader().await).await, [0]);
}
