use kafka::Connection;
use local::mapping::group_of;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::{Value, json};

use crate::bench::{Bench, DLQ, LADDER, MAIN, check_brokers_away, check_store_away, run, topic};

const JSON: [&str; 2] = ["status", "--json"];

/// Commits offsets of a topic's partitions for its mapping's group.
pub(crate) fn commit(connection: &Connection, function: &str, name: &str, offsets: &[i64]) {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", connection.brokers.as_str())
        .set("group.id", group_of(function, &topic(name)))
        .create()
        .unwrap();
    let mut list = TopicPartitionList::new();
    for (partition, offset) in (0..).zip(offsets) {
        list.add_partition_offset(name, partition, Offset::Offset(*offset))
            .unwrap();
    }
    consumer.commit(&list, CommitMode::Sync).unwrap();
}

pub(crate) fn stage<'a>(status: &'a Value, name: &str) -> &'a Value {
    let stages = status["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["stage"] == name).unwrap()
}

#[tokio::test]
async fn each_stage_tells_its_records_and_its_lag_and_the_bucket_its_incidents() {
    let bench = Bench::with(&LADDER).await;
    bench.run(&["seed", "--messages", "10"]).await.check(0, &[]);
    bench
        .dead_letters(&[("a", "transient", "provider.timeout")])
        .await;
    commit(&bench.connection(), "payments", MAIN, &[1, 1]);
    let when = "2025-08-23T07:12:21.805Z";
    bench
        .incident(0, when, "transient", "provider.timeout")
        .await;
    bench
        .incident(1, when, "permanent", "provider.declined")
        .await;
    bench
        .incident(2, when, "permanent", "payload.invalid")
        .await;

    let ran = bench.run(&JSON).await;
    let status = ran.check(0, &[]).json();
    let main = stage(&status, "main");
    assert_eq!(
        (&main["topic"], &main["records"], &main["lag"]),
        (&json!(MAIN), &json!(10), &json!(8)),
        "{main}"
    );
    assert_eq!(main["group"], format!("payments.{MAIN}"));
    assert_eq!(main["partitions"][0]["committed"], 1);
    let retry = stage(&status, "retry 30s");
    assert_eq!(
        (&retry["exists"], &retry["records"]),
        (&json!(true), &json!(0))
    );
    let dlq = stage(&status, "dlq");
    assert_eq!(dlq["group"], format!("dlq.{DLQ}"));
    assert_eq!(
        (&dlq["committed"], &dlq["records"], &dlq["lag"]),
        (&json!(false), &json!(1), &json!(1))
    );
    assert_eq!(status["incidents"], json!({"transient": 1, "permanent": 2}));

    let table = bench.run(&["status"]).await;
    for word in [
        "retry 5m",
        MAIN,
        "nothing committed",
        "permanent",
        "END OFFSETS",
    ] {
        assert!(table.check(0, &[]).out.contains(word), "{word}: {table:?}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_shown_as_missing() {
    let bench = Bench::with(&[MAIN]).await;
    let status = bench.run(&JSON).await.check(0, &[]).json();
    assert_eq!(stage(&status, "main")["exists"], true);
    assert_eq!(stage(&status, "dlq")["exists"], false);
    assert_eq!(status["incidents"], json!({}));
    let table = bench.run(&["status"]).await;
    assert!(table.out.contains("missing") && table.out.contains("no incidents"));
    let again = bench.run(&JSON).await.json();
    assert_eq!(again, status, "to ask creates nothing");
}

#[tokio::test]
async fn the_stages_are_those_that_are_configured() {
    let bench = Bench::with(&["m", "r"]).await;
    let mut env = bench.env();
    for (name, value) in [
        ("MAIN_TOPIC", "m"),
        ("RETRY_STAGES", "r=250ms"),
        ("DLQ_TOPIC", "d"),
    ] {
        env.push((name, value.to_owned()));
    }
    let status = run(&env, None, &JSON).await.check(0, &[]).json();
    let stages = status["stages"].as_array().unwrap();
    let names: Vec<_> = stages.iter().map(|stage| &stage["stage"]).collect();
    assert_eq!(names, ["main", "retry 250ms", "dlq"]);
}

#[tokio::test]
async fn wrong_settings_are_named_all_together() {
    let env = [
        ("RETRY_STAGES", "x".to_owned()),
        ("INCIDENT_BUCKET", "A B".to_owned()),
    ];
    let ran = run(&env, None, &["status", "--s3", "ftp://x"]).await;
    ran.check(
        2,
        &[
            "KAFKA_BROKERS",
            "INCIDENT_BUCKET is wrong",
            "AWS_ENDPOINT_URL_S3",
            "RETRY_STAGES",
        ],
    );
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn without_brokers_the_incidents_are_shown_all_the_same() {
    let status = check_brokers_away(&JSON).await.json();
    assert_eq!(status, json!({"stages": null, "incidents": {}}));
}

#[tokio::test]
async fn without_the_bucket_the_stages_are_shown_all_the_same() {
    let bench = Bench::with(&LADDER).await;
    let status = check_store_away(&bench, &JSON).await.json();
    assert_eq!(status["incidents"], Value::Null);
    assert_eq!(stage(&status, "main")["exists"], true);
}

#[tokio::test]
async fn without_a_bucket_named_the_stages_are_shown_and_incidents_are_left_out() {
    let bench = Bench::with(&[]).await;
    let mut env = bench.env();
    env.retain(|(name, _)| *name != "INCIDENT_BUCKET");
    let ran = run(&env, None, &JSON).await;
    let status = ran.check(0, &["incidents are not counted"]).json();
    assert_eq!(status["incidents"], Value::Null);
    assert!(status["stages"].is_array());
}
