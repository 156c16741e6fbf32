//! What goes over the wire, and connections that died while the process was frozen.

use std::time::Duration;

use futures_util::future::join_all;
use kafka::Producer;
use lambda::{Broker, Clock, ProduceError, SystemClock};
use pipeline::Outgoing;
use rdkafka::types::RDKafkaApiKey;
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, TestClock, connection, outgoing};
use crate::proxy::Proxy;
use crate::wire::PRODUCE_VERSION;

/// A broker behind a proxy, and a producer that has produced one record through it.
async fn through_proxy<C: Clock>(clock: C) -> (Cluster, Proxy, Producer<C>) {
    let cluster = Cluster::with(&[("t", 1)]);
    let spoken = Some(PRODUCE_VERSION);
    cluster
        .mock
        .apiversion(RDKafkaApiKey::Produce, spoken, spoken)
        .unwrap();
    let proxy = Proxy::before(&cluster.address());
    let producer = Producer::with_clock(connection(proxy.address()), clock);
    producer
        .produce(&outgoing("t", Some(b"k"), Some(b"first")))
        .await
        .unwrap();
    (cluster, proxy, producer)
}

/// Produces one record; it has to arrive once, and in this time.
async fn check(cluster: &Cluster, producer: &Producer<impl Clock>, most: Duration) {
    let start = Instant::now();
    producer
        .produce(&outgoing("t", Some(b"k"), Some(b"next")))
        .await
        .unwrap();
    assert!(start.elapsed() < most, "{:?}", start.elapsed());
    assert_eq!(cluster.records("t").await.len(), 2);
}

#[tokio::test]
async fn produce_requests_ask_for_all_replicas_and_carry_a_producer_and_a_sequence() {
    let (_cluster, proxy, producer) = through_proxy(SystemClock).await;
    let records: Vec<Outgoing> = (0..20_u8)
        .map(|it| outgoing("t", Some(b"k"), Some(&[it])))
        .collect();
    for result in join_all(records.iter().map(|record| producer.produce(record))).await {
        result.unwrap();
    }
    let batches = proxy.produced();
    let mut sequence = 0;
    for batch in &batches {
        assert_eq!(batch.acks, -1);
        assert!(batch.producer_id >= 0);
        assert_eq!(batch.base_sequence, sequence);
        assert_eq!(batch.attributes & 0b111, 0, "not compressed");
        sequence += batch.records;
    }
    assert_eq!(sequence, 21);
    assert!(batches.len() < 21, "records that come together go together");
}

#[tokio::test]
async fn connections_that_were_closed_meanwhile_are_made_anew() {
    let (cluster, proxy, producer) = through_proxy(SystemClock).await;
    proxy.close();
    check(&cluster, &producer, Duration::from_secs(2)).await;
}

#[tokio::test]
async fn connections_that_may_have_died_in_a_long_freeze_are_not_used_again() {
    let clock = TestClock::new();
    let (cluster, proxy, producer) = through_proxy(clock.clone()).await;
    proxy.swallow();
    clock.advance(60_001);
    check(&cluster, &producer, Duration::from_secs(2)).await;
}

#[tokio::test]
async fn a_connection_that_died_without_a_word_costs_time_but_no_record() {
    let (cluster, proxy, producer) = through_proxy(SystemClock).await;
    proxy.swallow();
    check(&cluster, &producer, Duration::from_secs(5)).await;
}

#[tokio::test]
async fn an_acknowledgement_that_never_comes_is_a_fault() {
    let (_cluster, proxy, producer) = through_proxy(SystemClock).await;
    proxy.mute();
    let start = Instant::now();
    let result = producer
        .produce(&outgoing("t", Some(b"k"), Some(b"next")))
        .await;
    assert!(matches!(result, Err(ProduceError::Fault(_))), "{result:?}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// rdkafka cuts such a name when it reads it, so the wire has to tell.
#[tokio::test]
async fn a_header_name_with_a_nul_in_it_goes_out_whole() {
    let (_cluster, proxy, producer) = through_proxy(SystemClock).await;
    let mut record = outgoing("t", Some(b"k"), Some(b"v"));
    record.headers.push("na\0me", None);
    producer.produce(&record).await.unwrap();
    let batches = proxy.produced();
    let body = &batches.last().unwrap().body;
    // Zigzag of 5 for the name's length, and of -1 for null.
    let expected = b"\x0ana\0me\x01";
    assert!(
        body.windows(expected.len()).any(|bytes| bytes == expected),
        "{body:?}"
    );
}

#[tokio::test]
async fn what_is_in_flight_is_given_up_too() {
    let (cluster, proxy, producer) = through_proxy(SystemClock).await;
    proxy.swallow();
    let records: Vec<Outgoing> = (0..20_u8)
        .map(|it| outgoing("t", Some(b"k"), Some(&[it])))
        .collect();
    let results = join_all(records.iter().map(|record| producer.produce(record)));
    let given_up = async {
        sleep(Duration::from_millis(200)).await;
        producer.give_up();
        Instant::now()
    };
    let (results, given_up) = tokio::join!(results, given_up);
    assert!(
        given_up.elapsed() < Duration::from_millis(500),
        "{:?}",
        given_up.elapsed()
    );
    for result in results {
        match result {
            Err(ProduceError::Fault(why)) => assert!(why.contains("Purge"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    sleep(Duration::from_secs(1)).await;
    check(&cluster, &producer, Duration::from_secs(2)).await;
}
