//! `{"check":true}`: the real functions say what they can reach, and do nothing to it.

use std::collections::BTreeMap;

use local::lambda_api::Reply;
use serde_json::Value;

use crate::harness::binaries;
use crate::harness::checked::{Checked, all_good, but, error, gateway, lines, nowhere};
use crate::harness::cluster::Cluster;
use crate::harness::ladder::Ladder;
use crate::harness::world::{PARTITIONS, World};

async fn everything_is_reached_on(cluster: Cluster) {
    let gateway = gateway().await;
    let ladder = Ladder::with_delays(&["30s", "5m"]);
    let world = World::new(cluster, ladder, &gateway.url()).await;
    let payments = Checked::start(&binaries::payments(), world.env(&[])).await;
    let answer = payments.check().await;
    assert_eq!(lines(&answer), all_good(&world, &gateway.url()));
    assert!(
        answer.starts_with(
            r#"{"function":"payments","ok":true,"checks":[{"name":"kafka","target":""#
        ),
        "{answer}"
    );
    let told: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(told["checks"][0]["brokers"], 1);
    assert_eq!(told["checks"][1]["partitions"], PARTITIONS);
    assert_eq!(told["checks"][7]["status"], 404);

    // It does nothing: no charge, no record, no group, and no second object.
    assert_eq!(gateway.posts(), BTreeMap::new());
    assert_eq!(gateway.questions().values().sum::<usize>(), 1);
    assert_eq!(
        lines(&payments.check().await),
        all_good(&world, &gateway.url())
    );
    assert_eq!(
        world.store.keys("").await,
        ["incidents/_check.json", "spill/_check.json"]
    );
    for topic in world.ladder.topics() {
        assert!(world.cluster.records(topic).await.is_empty(), "{topic}");
    }

    // The replay function reads the same topics, and keeps its state under keys of its own.
    let replay = Checked::start(&binaries::replay(), world.env(&[])).await;
    let answer = replay.check().await;
    let mut expected = all_good(&world, "none");
    expected[1..=4].rotate_right(1);
    expected.truncate(5);
    expected.extend(
        ["replays/", "replays/*", "incidents/*"]
            .map(|keys| format!("bucket brew-incidents/{keys} ok")),
    );
    assert_eq!(lines(&answer), expected);
    assert!(
        answer.starts_with(r#"{"function":"replay","ok":true,"#),
        "{answer}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_on_embedded_services_reaches_everything_and_changes_nothing() {
    everything_is_reached_on(Cluster::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_on_apache_kafka_reaches_everything_and_changes_nothing() {
    if let Some(cluster) = Cluster::kafka().await {
        everything_is_reached_on(cluster).await;
    }
}

async fn a_missing_topic_is_named_on(cluster: Cluster) {
    let gateway = gateway().await;
    let ladder = Ladder::with_delays(&["30s", "5m"]);
    for topic in [&ladder.main, ladder.retry(0), &ladder.dlq] {
        cluster.create(topic, PARTITIONS, &[]).await;
    }
    let world = World::bare(cluster, ladder, &gateway.url()).await;
    let payments = Checked::start(&binaries::payments(), world.env(&[])).await;
    let answer = payments.check().await;
    let missing = world.ladder.retry(1);
    let expected = all_good(&world, &gateway.url());
    let expected = but(expected, &format!("topic {missing}"), "missing");
    assert_eq!(lines(&answer), expected);
    let text = error(&answer, missing.as_str());
    assert!(
        text.contains(&format!("topic {missing} does not exist")),
        "{text}"
    );
    // Asking has not made it.
    assert_eq!(lines(&payments.check().await), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_is_named_by_a_check_on_embedded_services() {
    a_missing_topic_is_named_on(Cluster::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_is_named_by_a_check_on_apache_kafka() {
    if let Some(cluster) = Cluster::kafka().await {
        a_missing_topic_is_named_on(cluster).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_are_away_leave_the_rest_of_a_check_as_it_is() {
    let gateway = gateway().await;
    let ladder = Ladder::with_delays(&["30s"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let away = nowhere();
    let env = world.env(&[("KAFKA_BROKERS", &away)]);
    let payments = Checked::start(&binaries::payments(), env).await;
    let answer = payments.check().await;
    let mut expected = all_good(&world, &gateway.url());
    expected[0] = format!("kafka {away} unreachable");
    for topic in world.ladder.topics() {
        expected = but(expected, &format!("topic {topic}"), "unreachable");
    }
    assert_eq!(lines(&answer), expected);
    let text = error(&answer, &away);
    assert!(text.contains("refused") && text.contains(&away), "{text}");
    let text = error(&answer, world.ladder.main.as_str());
    assert!(text.contains("not asked for"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_orders_function_is_checked_for_what_it_needs() {
    let world = World::new(Cluster::embedded(), Ladder::with_delays(&[]), "http://a").await;
    let topics = [
        ("ORDERS_TOPIC", world.ladder.main.as_str()),
        ("ORDERS_DLQ_TOPIC", world.ladder.dlq.as_str()),
    ];
    let orders = Checked::start(&binaries::orders(), world.env(&topics)).await;
    let mut expected = all_good(&world, "none");
    expected.pop();
    assert_eq!(lines(&orders.check().await), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_is_nearly_a_check_is_refused_by_name() {
    let world = World::bare(Cluster::embedded(), Ladder::with_delays(&[]), "http://a").await;
    for (binary, name) in [
        (binaries::payments(), "InvalidCheck"),
        (binaries::orders(), "InvalidCheck"),
        (binaries::dlq(), "InvalidCheck"),
        (binaries::replay(), "InvalidReplay"),
    ] {
        let function = Checked::start(&binary, world.env(&[])).await;
        for payload in [r#"{"check":false}"#, r#"{"check":true,"all":true}"#] {
            match function.invoke(payload).await {
                Reply::Error {
                    error_type,
                    message,
                } => {
                    assert_eq!(error_type, name, "{payload}");
                    assert!(message.contains("check"), "{message}");
                }
                reply @ (Reply::Answer(_) | Reply::TooLarge) => panic!("{payload}: {reply:?}"),
            }
        }
    }
}
