//! What errors of the brokers become.

use std::time::Duration;

use futures_util::future::join_all;
use kafka::Producer;
use lambda::{Broker, ProduceError};
use pipeline::Outgoing;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, connection, outgoing};

enum Expected {
    Produced,
    Refused,
    Fault,
}

/// Has the broker answer the next produce requests with these errors, and produces one record.
async fn check(errors: &[RDKafkaRespErr], expected: Expected) {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    cluster.mock.request_errors(RDKafkaApiKey::Produce, errors);
    let start = Instant::now();
    let result = producer
        .produce(&outgoing("t", Some(b"k"), Some(b"v")))
        .await;
    assert!(start.elapsed() < Duration::from_secs(10));
    let address = cluster.address();
    match (expected, &result) {
        (Expected::Produced, Ok(_)) | (Expected::Refused, Err(ProduceError::Refused(_))) => {}
        (Expected::Fault, Err(ProduceError::Fault(why))) => {
            assert!(
                why.ends_with(&format!("(brokers {address} (auth none))")),
                "{why}"
            );
        }
        _ => panic!("{errors:?}: {result:?}"),
    }
    cluster.mock.clear_request_errors(RDKafkaApiKey::Produce);
    let next = producer
        .produce(&outgoing("t", Some(b"k"), Some(b"next")))
        .await;
    assert!(next.is_ok(), "{errors:?}: {next:?}");
    let values: Vec<_> = cluster
        .records("t")
        .await
        .into_iter()
        .map(|it| it.value.unwrap())
        .collect();
    let kept = usize::from(result.is_ok());
    assert_eq!(values.len(), kept + 1, "{errors:?}: {values:?}");
}

#[tokio::test]
async fn what_the_client_can_ride_out_is_produced_once() {
    use RDKafkaRespErr as E;
    check(&[], Expected::Produced).await;
    check(
        &[E::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION; 2],
        Expected::Produced,
    )
    .await;
    check(
        &[E::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS; 3],
        Expected::Produced,
    )
    .await;
    check(
        &[E::RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE],
        Expected::Produced,
    )
    .await;
    check(&[E::RD_KAFKA_RESP_ERR__TRANSPORT; 2], Expected::Produced).await;
    // The bytes did not arrive whole.
    check(&[E::RD_KAFKA_RESP_ERR_INVALID_MSG; 2], Expected::Produced).await;
    check(
        &[E::RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID],
        Expected::Produced,
    )
    .await;
}

#[tokio::test]
async fn a_broker_that_refuses_us_is_a_fault_that_names_it() {
    use RDKafkaRespErr as E;
    check(
        &[E::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS; 500],
        Expected::Fault,
    )
    .await;
    check(
        &[E::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED; 5],
        Expected::Fault,
    )
    .await;
    check(
        &[E::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED; 5],
        Expected::Fault,
    )
    .await;
    check(&[E::RD_KAFKA_RESP_ERR_UNKNOWN; 5], Expected::Fault).await;
}

#[tokio::test]
async fn a_broker_that_refuses_the_record_is_no_fault() {
    use RDKafkaRespErr as E;
    for refusal in [
        E::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
        E::RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE,
        E::RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE,
        E::RD_KAFKA_RESP_ERR_INVALID_RECORD,
        E::RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
    ] {
        check(&[refusal; 2], Expected::Refused).await;
        // The first time it may have been meant for another record of the batch.
        check(&[refusal], Expected::Produced).await;
    }
}

#[tokio::test]
async fn a_record_is_not_condemned_for_the_batch_that_it_was_in() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    let refusal = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    cluster
        .mock
        .request_errors(RDKafkaApiKey::Produce, &[refusal; 2]);
    let records: Vec<Outgoing> = (0..10_u8)
        .map(|number| outgoing("t", Some(b"k"), Some(&[number])))
        .collect();
    let results = join_all(records.iter().map(|record| producer.produce(record))).await;
    // The batch of ten is refused, then one of the ten that are offered alone.
    let refused = results.iter().filter(|result| result.is_err()).count();
    assert_eq!(refused, 1, "{results:?}");
    assert_eq!(cluster.records("t").await.len(), 9);
}

#[tokio::test]
async fn after_a_fatal_error_a_new_client_produces() {
    use RDKafkaRespErr as E;
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    let fatal: [&[RDKafkaRespErr]; 2] = [
        &[E::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER],
        // An unknown producer is fatal for a record that was already tried.
        &[
            E::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            E::RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
        ],
    ];
    for errors in fatal {
        producer
            .produce(&outgoing("t", Some(b"k"), Some(b"before")))
            .await
            .unwrap();
        cluster.mock.request_errors(RDKafkaApiKey::Produce, errors);
        match producer
            .produce(&outgoing("t", Some(b"k"), Some(b"lost")))
            .await
        {
            Err(ProduceError::Fault(why)) => assert!(why.contains("fatal"), "{why}"),
            other => panic!("{errors:?}: {other:?}"),
        }
        producer
            .produce(&outgoing("t", Some(b"k"), Some(b"after")))
            .await
            .unwrap();
    }
    let values: Vec<_> = cluster
        .records("t")
        .await
        .into_iter()
        .map(|it| it.value.unwrap())
        .collect();
    assert_eq!(values, ["before", "after", "before", "after"]);
}

/// Row 52 of docs/faults.md: a function that hung to its timeout without a word.
#[tokio::test]
async fn a_broker_that_is_away_is_a_fault_in_time_that_says_why() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let check = async |brokers: &str, reason: &str| {
        let producer = Producer::new(connection(brokers));
        let start = Instant::now();
        let result = producer.produce(&outgoing("t", None, Some(b"v"))).await;
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{:?}",
            start.elapsed()
        );
        let Err(ProduceError::Fault(why)) = result else {
            panic!("{result:?}");
        };
        assert!(why.contains(reason), "{why}");
        assert!(
            why.ends_with(&format!("(brokers {brokers} (auth none))")),
            "{why}"
        );
    };
    tokio::join!(
        check(&free, "Connection refused"),
        check("no-such-host.invalid:9092", "Failed to resolve"),
        // Reserved for documentation: no answer at all, or no route.
        check("192.0.2.1:9092", ""),
    );
}

#[tokio::test]
async fn a_topic_that_is_missing_is_a_fault_and_is_not_made() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    let start = Instant::now();
    let result = producer
        .produce(&outgoing("missing", None, Some(b"v")))
        .await;
    assert!(start.elapsed() < Duration::from_secs(10));
    match result {
        Err(ProduceError::Fault(why)) => assert!(why.contains("Unknown topic"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_broker_that_comes_back_is_used_at_once() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    producer
        .produce(&outgoing("t", None, Some(b"1")))
        .await
        .unwrap();
    cluster.mock.broker_down(-1).unwrap();
    let away = producer.produce(&outgoing("t", None, Some(b"2"))).await;
    assert!(matches!(away, Err(ProduceError::Fault(_))), "{away:?}");
    cluster.mock.broker_up(-1).unwrap();
    let start = Instant::now();
    producer
        .produce(&outgoing("t", None, Some(b"3")))
        .await
        .unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(cluster.records("t").await.len(), 2);
}

#[tokio::test]
async fn what_is_given_up_returns_soon_and_is_not_produced_later() {
    let cluster = Cluster::with(&[("t", 1)]);
    let producer = Producer::new(cluster.connection());
    producer
        .produce(&outgoing("t", None, Some(b"1")))
        .await
        .unwrap();
    cluster.mock.broker_down(-1).unwrap();
    let records: Vec<Outgoing> = (0..50_u8)
        .map(|it| outgoing("t", None, Some(&[it])))
        .collect();
    let results = join_all(records.iter().map(|record| producer.produce(record)));
    let given_up = async {
        sleep(Duration::from_millis(500)).await;
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
    cluster.mock.broker_up(-1).unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!(cluster.records("t").await.len(), 1);
    // The next invocation has a client of its own.
    producer
        .produce(&outgoing("t", None, Some(b"2")))
        .await
        .unwrap();
    assert_eq!(cluster.records("t").await.len(), 2);
}
