//! What a check tells of brokers and topics.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use kafka::Connection;
use lambda::Checks;
use rdkafka::types::RDKafkaRespErr;
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::{Cluster, connection, name};

/// Checks these topics within a limit, and tells how brokers and topics are: `ok`, or why not.
async fn check(
    connection: &Connection,
    topics: &[&str],
    limit: Duration,
    expected: &[&str],
) -> String {
    let topics = topics.iter().map(|topic| name(topic)).collect();
    let checks = connection.check(Checks::new("payments"), topics);
    let began = Instant::now();
    let checked = checks.run(limit).await;
    assert!(began.elapsed() < limit + Duration::from_millis(250));
    let told: Value = serde_json::to_value(&checked).unwrap();
    let lines = told["checks"].as_array().unwrap();
    let why: Vec<&str> = lines
        .iter()
        .map(|line| line["why"].as_str().unwrap_or("ok"))
        .collect();
    assert_eq!(why, expected, "{told}");
    assert_eq!(checked.is_ok(), expected.iter().all(|why| *why == "ok"));
    told.to_string()
}

const LIMIT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn each_topic_is_told_apart_from_its_neighbours() {
    let topics = [("good", 3), ("closed", 1), ("leaderless", 3), ("last", 2)];
    let cluster = Cluster::with(&topics);
    let closed = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    cluster.mock.topic_error("closed", closed).unwrap();
    cluster
        .mock
        .partition_leader("leaderless", 1, None)
        .unwrap();
    let told = check(
        &cluster.connection(),
        &["good", "closed", "nowhere", "leaderless", "last"],
        LIMIT,
        &["ok", "ok", "unauthorized", "missing", "wrong", "ok"],
    )
    .await;
    for words in [
        r#""partitions":3"#,
        r#""partitions":2"#,
        "topic closed may not be described by us",
        "topic nowhere does not exist",
        "topic leaderless: 1 of 3 partitions have no leader",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_refuses_connections_is_unreachable_and_named() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let away = listener.local_addr().unwrap().to_string();
    drop(listener);
    let told = check(
        &connection(&away),
        &["a", "b"],
        Duration::from_secs(2),
        &["unreachable", "unreachable", "unreachable"],
    )
    .await;
    for words in [away.as_str(), "refused", "auth none", "not asked for"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_says_nothing_takes_the_whole_limit_and_no_more() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = listener.local_addr().unwrap().to_string();
    let expected = ["timeout", "unreachable"];
    for limit in [Duration::from_secs(2), Duration::from_millis(300)] {
        check(&connection(&silent), &["a"], limit, &expected).await;
    }
}
