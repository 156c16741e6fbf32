//! What a produced record looks like to those who read it.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use kafka::Producer;
use lambda::{Broker, Clock, ProduceError, SystemClock};
use pipeline::{Header, Headers, Outgoing};
use tokio::time::Instant;

use crate::cluster::{Cluster, TestClock, outgoing};

/// The Java client's partitions, as others reported them: librdkafka's own default would give 23 and 9.
#[tokio::test]
async fn a_key_goes_to_the_partition_that_the_java_client_chooses() {
    let cluster = Cluster::with(&[("of-32", 32), ("of-15", 15)]);
    let producer = Producer::new(cluster.connection());
    let check = async |topic: &str, key: &str, partition: i32| {
        let record = outgoing(topic, Some(key.as_bytes()), Some(b"v"));
        let coordinates = producer.produce(&record).await.unwrap();
        assert_eq!(coordinates.partition.get(), partition, "{key}");
    };
    check("of-32", "fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 26).await;
    check("of-15", "TT0124", 10).await;
    // Murmur2 of no bytes is 275646681.
    check("of-32", "", 25).await;
    for topic in ["of-32", "of-15"] {
        let record = outgoing(topic, None, Some(b"v"));
        producer.produce(&record).await.unwrap();
    }
}

#[tokio::test]
async fn key_and_value_come_back_as_they_were_null_and_empty_apart() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    let binary: Vec<u8> = (0..=255).collect();
    let sides: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"\x00\xff\x10"), Some(&binary)];
    let mut sent = Vec::new();
    for key in sides {
        for value in sides {
            let record = outgoing("t", key, value);
            let coordinates = producer.produce(&record).await.unwrap();
            assert_eq!(usize::try_from(coordinates.offset.get()), Ok(sent.len()));
            sent.push((record.key, record.value));
        }
    }
    let records = cluster.records("t").await;
    let got: Vec<_> = records.into_iter().map(|it| (it.key, it.value)).collect();
    assert_eq!(got, sent);
}

#[tokio::test]
async fn headers_come_back_in_order_with_duplicates_nulls_and_any_bytes() {
    let header = |name: &str, value: Option<&[u8]>| Header {
        name: name.to_owned(),
        value: value.map(Bytes::copy_from_slice),
    };
    let headers = Headers::new(vec![
        header("traceparent", Some(b"00-1-1-01")),
        header("twice", Some(b"1")),
        header("null", None),
        header("twice", Some(b"2")),
        header("empty", Some(b"")),
        header("", Some(b"no name")),
        header("binary", Some(b"\xff\x00\xfe")),
        header("имя", Some("значение".as_bytes())),
    ]);
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    let record = Outgoing {
        headers: headers.clone(),
        ..outgoing("t", None, Some(b"v"))
    };
    producer.produce(&record).await.unwrap();
    assert_eq!(cluster.records("t").await.first().unwrap().headers, headers);
}

#[tokio::test]
async fn a_record_has_the_time_at_which_it_is_produced() {
    let cluster = Cluster::with(&[("t", 1)]);
    let clock = TestClock::new();
    let producer = Producer::with_clock(cluster.connection(), clock.clone());
    let record = outgoing("t", None, Some(b"v"));
    let before = clock.now();
    producer.produce(&record).await.unwrap();
    clock.advance(1_000);
    producer.produce(&record).await.unwrap();
    Producer::new(cluster.connection())
        .produce(&record)
        .await
        .unwrap();
    let now = SystemClock.now();
    let times: Vec<_> = cluster
        .records("t")
        .await
        .iter()
        .map(|it| it.timestamp)
        .collect();
    assert_eq!(
        times.get(..2),
        Some([before, before.plus_millis(1_000)].as_slice())
    );
    assert!(now.millis_since(times[2]).abs() <= 5_000);
}

#[tokio::test]
async fn five_hundred_records_at_once_take_no_longer_than_a_few() {
    let cluster = Cluster::with(&[("t", 4)]);
    let broker = -1;
    let producer = Producer::new(cluster.connection());
    producer
        .produce(&outgoing("t", None, Some(b"first")))
        .await
        .unwrap();
    cluster
        .mock
        .broker_round_trip_time(broker, Duration::from_millis(50))
        .unwrap();
    let records: Vec<Outgoing> = (0..500_u32)
        .map(|number| outgoing("t", Some(&number.to_be_bytes()), Some(&[b'x'; 1_000])))
        .collect();
    let start = Instant::now();
    let results = join_all(records.iter().map(|record| producer.produce(record))).await;
    let took = start.elapsed();
    let mut offsets: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), 500);
    // One after the other they would take 25 s.
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Row 49 of docs/faults.md: an offset must not move before the forward is acknowledged.
#[tokio::test]
async fn a_produce_does_not_return_before_the_broker_has_acknowledged_it() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    producer
        .produce(&outgoing("t", None, Some(b"first")))
        .await
        .unwrap();
    let delay = Duration::from_secs(3);
    cluster.mock.broker_round_trip_time(-1, delay).unwrap();
    let start = Instant::now();
    producer
        .produce(&outgoing("t", None, Some(b"second")))
        .await
        .unwrap();
    assert!(start.elapsed() >= delay);
}

#[tokio::test]
async fn a_full_queue_is_waited_for() {
    let cluster = Cluster::with(&[("t", 8)]);
    let producer = Producer::new(cluster.connection());
    let value = vec![b'x'; 1_000_000];
    let records: Vec<Outgoing> = (0..90_u32)
        .map(|number| outgoing("t", Some(&number.to_be_bytes()), Some(&value)))
        .collect();
    let results = join_all(records.iter().map(|record| producer.produce(record))).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

#[tokio::test]
async fn a_record_above_the_limit_of_the_client_is_refused_itself() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    let record = outgoing("t", None, Some(&vec![b'x'; 17 << 20]));
    match producer.produce(&record).await {
        Err(ProduceError::Refused(why)) => assert!(why.contains("MessageSizeTooLarge"), "{why}"),
        other => panic!("{other:?}"),
    }
}
