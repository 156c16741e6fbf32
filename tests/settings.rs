//! Wrong settings: one line names them all, and no invocation is taken.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::harness::bare::Bare;
use crate::harness::binaries;

/// Settings with which every function starts.
const RIGHT: [(&str, &str); 3] = [
    ("KAFKA_BROKERS", "127.0.0.1:1"),
    ("INCIDENT_BUCKET", "brew-incidents"),
    ("GATEWAY_URL", "http://127.0.0.1:1"),
];

/// Starts a binary with these settings and checks that it ends at once with one line that holds all these words.
async fn check(binary: &Path, wrong: &[(&str, &str)], absent: &[&str], words: &[&str]) {
    let mut env: BTreeMap<String, String> = RIGHT
        .iter()
        .chain(wrong)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    env.retain(|name, _| !absent.contains(&name.as_str()));
    let mut process = Bare::start(binary, env).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), process.ended()).await;
    let (status, log) = ended.unwrap_or_else(|_| panic!("it runs on with {wrong:?}"));
    assert!(!status.success(), "{status}");
    assert!(!process.has_asked().await, "it took an invocation");
    let [line] = log.as_slice() else {
        panic!("{} lines: {log:#?}", log.len())
    };
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["level"], "ERROR");
    // The same line is a metric, for an alarm to see.
    let metric = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"][0]["Name"];
    assert_eq!(metric, "StartsFailed");
    assert_eq!(line["StartsFailed"], 1);
    let message = line["message"].as_str().unwrap();
    for word in words {
        assert!(message.contains(word), "{word} is not in: {message}");
    }
}

/// Row 45: an empty setting falls back to nothing; rows of all kinds are told together.
#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_setting_of_payments_stands_in_one_line() {
    let wrong = [
        ("DLQ_TOPIC", ""),
        ("RETRY_STAGES", "brew.payments.retry.30s=0s"),
        ("BATCH_FAILURES", "maybe"),
        ("CONCURRENCY", "0"),
        ("GATEWAY_URL", "ftp://provider"),
        ("GATEWAY_TIMEOUT", "10"),
        ("CIRCUIT_OPEN", "-1s"),
        ("IDEMPOTENCY_KEY_LIFETIME", "for ever"),
        ("ASK_FIRST", "never"),
        ("MARKER_DIR", ""),
        ("KAFKA_AUTH", "scram"),
        ("KAFKA_CA", "/nowhere/ca.pem"),
    ];
    let absent = ["KAFKA_BROKERS", "INCIDENT_BUCKET"];
    // The mode itself is right, and lacks its secret.
    let wrong_themselves = wrong.iter().filter(|(name, _)| *name != "KAFKA_AUTH");
    let mut names: Vec<&str> = wrong_themselves.map(|(name, _)| *name).collect();
    names.extend(absent);
    names.push("KAFKA_SECRET_ARN is not set");
    let wrong: Vec<_> = wrong.into_iter().collect();
    check(&binaries::payments(), &wrong, &absent, &names).await;
}

/// Row 46: a topic that is named twice would feed itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_stands_twice_in_the_ladder_is_refused_by_name() {
    for (wrong, topic) in [
        (vec![("DLQ_TOPIC", "brew.payments.v1")], "brew.payments.v1"),
        (
            vec![("DLQ_TOPIC", "brew.payments.retry.5m")],
            "brew.payments.retry.5m",
        ),
        (vec![("RETRY_STAGES", "a=1s,b=2s,a=3s")], "a"),
        (vec![("MAIN_TOPIC", "a"), ("RETRY_STAGES", "a=1s")], "a"),
        (
            vec![("RETRY_STAGES", "a=1s"), ("DRAIN_STAGES", "a=2s")],
            "a",
        ),
    ] {
        check(&binaries::payments(), &wrong, &[], &["RETRY_STAGES", topic]).await;
        check(&binaries::replay(), &wrong, &[], &["RETRY_STAGES", topic]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_setting_of_dlq_and_replay_stands_in_one_line() {
    let wrong = [
        ("BATCH_FAILURES", "maybe"),
        ("CONCURRENCY", "many"),
        ("ALERT_WEBHOOK_URL", "chat"),
    ];
    let names = [
        "BATCH_FAILURES",
        "CONCURRENCY",
        "ALERT_WEBHOOK_URL",
        "INCIDENT_BUCKET",
    ];
    check(&binaries::dlq(), &wrong, &["INCIDENT_BUCKET"], &names).await;
    let wrong = [
        ("MAIN_TOPIC", "a b"),
        ("CONCURRENCY", "many"),
        ("REPLAY_TARGETS", "b c"),
    ];
    let names = [
        "MAIN_TOPIC",
        "CONCURRENCY",
        "REPLAY_TARGETS",
        "KAFKA_BROKERS",
        "INCIDENT_BUCKET",
    ];
    let absent = ["KAFKA_BROKERS", "INCIDENT_BUCKET"];
    check(&binaries::replay(), &wrong, &absent, &names).await;
}
