//! What the reader returns, and where it ends.

use std::time::Duration;

use kafka::{ChunkLimit, Found, Producer, Read, ReadError, Reader};
use lambda::{Broker, Clock, SystemClock};
use pipeline::{Coordinates, Offset, Partition, Timestamp};
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, EVERYTHING, connection, name, outgoing, rest};
use crate::wire::{self, MARKER, RawRecord};

const RECORD: RawRecord<'_> = RawRecord {
    key: b"k",
    value: b"v",
    headers: &[],
    attributes: 0,
};

fn partition(number: i32) -> Partition {
    Partition::new(number).unwrap()
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn offsets(reads: &[Read]) -> Vec<i64> {
    reads
        .iter()
        .map(|read| read.coordinates().offset.get())
        .collect()
}

/// Produces so many records to a topic, one after the other, with keys 0, 1, ….
async fn fill(cluster: &Cluster, topic: &str, records: u8) {
    let producer = Producer::new(cluster.connection());
    for number in 0..records {
        producer
            .produce(&outgoing(topic, Some(&[number]), Some(b"v")))
            .await
            .unwrap();
    }
}

async fn open(cluster: &Cluster, topic: &str) -> Reader {
    Reader::open(&cluster.connection(), &name(topic))
        .await
        .unwrap()
}

#[tokio::test]
async fn what_arrives_after_the_end_was_fixed_is_not_read() {
    let cluster = Cluster::with(&[("t", 3)]);
    fill(&cluster, "t", 20).await;
    let mut reader = open(&cluster, "t").await;
    fill(&cluster, "t", 30).await;
    let chunk = rest(&mut reader).await;
    assert_eq!(chunk.records.len(), 20);
    let ends: Vec<_> = reader
        .ranges()
        .iter()
        .map(|range| (range.partition, range.end))
        .collect();
    let positions: Vec<_> = chunk
        .positions
        .iter()
        .map(|it| (it.partition, it.next))
        .collect();
    assert_eq!(positions, ends);
    assert!(reader.ranges().iter().all(|range| !range.is_held_back()));
    for number in 0..3 {
        let of_partition: Vec<_> = chunk
            .records
            .iter()
            .filter(|read| read.coordinates().partition == partition(number))
            .cloned()
            .collect();
        let expected: Vec<i64> = (0..ends[usize::try_from(number).unwrap()].1.get()).collect();
        assert_eq!(offsets(&of_partition), expected);
    }
    assert!(rest(&mut reader).await.records.is_empty());
}

#[tokio::test]
async fn an_empty_topic_is_at_its_end_and_a_missing_one_is_an_error() {
    let cluster = Cluster::with(&[("t", 2)]);
    let mut reader = open(&cluster, "t").await;
    assert!(reader.is_at_end());
    assert!(rest(&mut reader).await.records.is_empty());
    let missing = Reader::open(&cluster.connection(), &name("missing"))
        .await
        .unwrap_err();
    let expected = format!(
        "topic missing does not exist (brokers {} (auth none))",
        cluster.address()
    );
    assert_eq!(missing.to_string(), expected);
}

#[tokio::test]
async fn chunks_are_bounded_and_reading_resumes_at_their_positions() {
    let cluster = Cluster::with(&[("t", 3)]);
    fill(&cluster, "t", 40).await;
    let mut seen = Vec::new();
    let mut reader = open(&cluster, "t").await;
    let most = ChunkLimit {
        records: 7,
        ..EVERYTHING
    };
    while !reader.is_at_end() {
        let chunk = reader
            .next_chunk(most, std::future::pending())
            .await
            .unwrap();
        assert!(chunk.records.len() <= 7);
        seen.extend(chunk.records.iter().map(|read| read.coordinates().clone()));
        // Another process goes on.
        reader = open(&cluster, "t").await;
        for position in chunk.positions {
            reader.start_at(position.partition, position.next).unwrap();
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 40);

    let mut reader = open(&cluster, "t").await;
    let most = ChunkLimit {
        bytes: 5,
        ..EVERYTHING
    };
    let chunk = reader
        .next_chunk(most, std::future::pending())
        .await
        .unwrap();
    assert_eq!(chunk.records.len(), 3);
}

#[tokio::test]
async fn an_earlier_end_is_kept_to() {
    let cluster = Cluster::with(&[("t", 1)]);
    fill(&cluster, "t", 10).await;
    let mut reader = open(&cluster, "t").await;
    reader.start_at(partition(0), offset(3)).unwrap();
    reader.end_at(partition(0), offset(6)).unwrap();
    assert_eq!(offsets(&rest(&mut reader).await.records), [3, 4, 5]);
    let unknown = reader.start_at(partition(9), offset(0));
    assert!(matches!(unknown, Err(ReadError::NoPartition { .. })));
}

#[tokio::test]
async fn a_chunk_ends_when_its_time_is_over() {
    let cluster = Cluster::with(&[("t", 1)]);
    fill(&cluster, "t", 1).await;
    let mut reader = open(&cluster, "t").await;
    cluster.mock.broker_down(-1).unwrap();
    let start = Instant::now();
    let until = sleep(Duration::from_millis(300));
    let chunk = reader.next_chunk(EVERYTHING, until).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1));
    assert!(chunk.records.is_empty() && !reader.is_at_end());
    cluster.mock.broker_up(-1).unwrap();
    assert_eq!(rest(&mut reader).await.records.len(), 1);
}

#[tokio::test]
async fn offsets_without_a_record_are_passed_also_at_the_end() {
    let check = async |records: &[&RawRecord<'_>], expected: &[i64]| {
        let cluster = Cluster::with(&[("t", 1)]);
        for record in records {
            wire::write(&cluster.address(), "t", record);
        }
        let mut reader = open(&cluster, "t").await;
        let chunk = rest(&mut reader).await;
        assert_eq!(offsets(&chunk.records), expected);
        let end = i64::try_from(records.len()).unwrap();
        assert_eq!(chunk.positions[0].next, offset(end));
    };
    check(&[&RECORD, &MARKER, &RECORD], &[0, 2]).await;
    check(&[&RECORD, &RECORD, &MARKER], &[0, 1]).await;
    check(&[&RECORD, &MARKER, &MARKER, &MARKER], &[0]).await;
    check(&[&MARKER], &[]).await;
}

#[tokio::test]
async fn a_gap_at_the_end_is_passed_while_the_topic_grows() {
    let cluster = Cluster::with(&[("t", 1)]);
    wire::write(&cluster.address(), "t", &RECORD);
    wire::write(&cluster.address(), "t", &MARKER);
    let mut reader = open(&cluster, "t").await;
    wire::write(&cluster.address(), "t", &MARKER);
    wire::write(&cluster.address(), "t", &RECORD);
    assert_eq!(offsets(&rest(&mut reader).await.records), [0]);
}

#[tokio::test]
async fn a_record_with_a_hostile_header_name_does_not_end_the_run() {
    let cluster = Cluster::with(&[("t", 1)]);
    let hostile = RawRecord {
        headers: &[(b"good", b"1"), (b"\xff\xfe", b"2")],
        ..RECORD
    };
    let named = RawRecord {
        headers: &[("имя".as_bytes(), b"1"), (b"", b"2")],
        ..RECORD
    };
    for record in [&RECORD, &hostile, &named] {
        wire::write(&cluster.address(), "t", record);
    }
    let mut reader = open(&cluster, "t").await;
    let records = rest(&mut reader).await.records;
    let [
        Read::Record(first),
        Read::Unreadable(second),
        Read::Record(third),
    ] = &records[..]
    else {
        panic!("{records:?}");
    };
    assert_eq!(first.headers.len(), 0);
    assert_eq!(second.coordinates.to_string(), "t/0/1");
    assert_eq!(second.timestamp, Timestamp::from_millis(1_700_000_000_000));
    assert_eq!(second.why, "a header's name is not UTF-8");
    assert_eq!(third.headers.text("имя"), Some("1"));
}

#[tokio::test]
async fn records_are_read_however_they_were_compressed() {
    let cluster = Cluster::with(&[("t", 1)]);
    let value = "compressible ".repeat(100);
    let codecs = ["none", "gzip", "snappy", "lz4", "zstd"];
    for codec in codecs {
        let producer: FutureProducer = ClientConfig::new()
            .set("bootstrap.servers", cluster.address())
            .set("compression.type", codec)
            .create()
            .unwrap();
        let record = FutureRecord::to("t").key(codec).payload(&value);
        producer.send(record, Duration::from_secs(5)).await.unwrap();
    }
    let records = cluster.records("t").await;
    let keys: Vec<_> = records
        .iter()
        .map(|record| record.key.clone().unwrap())
        .collect();
    assert_eq!(keys, codecs);
    assert!(
        records
            .iter()
            .all(|record| record.value.as_deref() == Some(value.as_bytes()))
    );
}

/// The mock broker finds no offset by time: it answers as a broker without times would.
#[tokio::test]
async fn a_broker_that_finds_nothing_by_time_has_the_topic_read_from_its_beginning() {
    let cluster = Cluster::with(&[("t", 2)]);
    fill(&cluster, "t", 10).await;
    let mut reader = open(&cluster, "t").await;
    reader.start_at_time(SystemClock.now()).await.unwrap();
    assert_eq!(rest(&mut reader).await.records.len(), 10);
}

#[tokio::test]
async fn exact_coordinates_are_found_or_found_empty() {
    let cluster = Cluster::with(&[("t", 1)]);
    for record in [&RECORD, &MARKER, &RECORD, &RECORD, &MARKER] {
        wire::write(&cluster.address(), "t", record);
    }
    let mut reader = open(&cluster, "t").await;
    let at = |text: &str| text.parse::<Coordinates>().unwrap();
    let wanted = [
        "t/0/3", "t/0/0", "t/0/1", "t/0/3", "t/0/4", "t/0/99", "t/7/0",
    ]
    .map(at);
    let found = reader
        .read_exact(&wanted, std::future::pending())
        .await
        .unwrap();
    let shown: Vec<String> = found
        .iter()
        .map(|found| match found {
            Found::Here(read) => format!("{} here", read.coordinates()),
            Found::Nothing(coordinates) => format!("{coordinates} nothing"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "t/0/0 here",
            "t/0/1 nothing",
            "t/0/3 here",
            "t/0/4 nothing",
            "t/0/99 nothing",
            "t/7/0 nothing"
        ]
    );
    assert_eq!(offsets(&rest(&mut reader).await.records), [0, 2, 3]);
    let other = reader
        .read_exact(&[at("u/0/0")], std::future::pending())
        .await;
    assert_eq!(other, Err(ReadError::OtherTopic(at("u/0/0"))));
}

#[tokio::test]
async fn brokers_that_are_away_are_a_fault_in_time() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let start = Instant::now();
    let error = Reader::open(&connection(&free.to_string()), &name("t"))
        .await
        .unwrap_err();
    assert!(
        start.elapsed() < Duration::from_secs(11),
        "{:?}",
        start.elapsed()
    );
    let text = error.to_string();
    assert!(
        text.contains("Connection refused")
            && text.contains(&format!("brokers {free} (auth none)")),
        "{text}"
    );
}
