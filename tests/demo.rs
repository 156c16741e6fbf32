//! The demo as its users run it: a process that tells how it went in one line.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;

/// Under a minute on an idle machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// Runs a story, which must end well; returns its last line on standard output, and what it told.
async fn told(story: &[&str], more: &[&str]) -> (Value, String) {
    let demo = Command::new(binaries::local())
        .arg("demo")
        .args(story)
        .arg("--json")
        .args(more)
        .current_dir(binaries::workspace())
        .env("CARGO_TARGET_DIR", binaries::target())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, demo).await.unwrap().unwrap();
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    let seen = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    (seen, err)
}

/// Runs the demo and checks the account in its last line.
async fn check(more: &[&str]) {
    let (account, err) = told(&[], more).await;
    let number = |field: &str| {
        let number = account[field].as_u64();
        number.unwrap_or_else(|| panic!("{field} is no number in {account}"))
    };
    assert_eq!(number("payments"), 60, "{account}");
    for nothing in ["in_flight", "lost", "double_charged"] {
        assert_eq!(number(nothing), 0, "{account}");
    }
    assert!(number("charged") > 0, "{account}");
    assert!(number("replayed") > 0, "{account}");
    assert!(number("dead_lettered") > 0, "{account}");
    assert_eq!(number("incidents"), number("dead_lettered"), "{account}");
    let alerts = err.matches("ALERT").count();
    assert!(alerts > 0, "the journeys are told: {err}");
    let charged = err.lines().filter(|line| line.contains("  OK  ")).count();
    assert!(charged > 0, "so are those that end well: {err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_accounts_for_every_payment_on_its_embedded_broker() {
    check(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_accounts_for_every_payment_on_apache_kafka() {
    if let Some(cluster) = Cluster::kafka().await {
        check(&["--brokers", cluster.address()]).await;
    }
}

/// Runs the death cycle and checks what was seen of it.
async fn check_death_cycle(more: &[&str]) {
    let (seen, err) = told(&["death-cycle"], more).await;
    let often = seen["deliveries_before"].as_u64().unwrap();
    assert!(often >= 5, "{seen}");
    let recognised = seen["recognised"].as_str().unwrap();
    let sentence = "offset 3 of orders-0 delivered 5 times: poison record";
    assert!(recognised.starts_with(sentence), "{seen}");
    assert!(err.contains(sentence), "it is told: {err}");
    for (field, expected) in [
        ("orders", 13),
        ("handled", 12),
        ("poison_partition", 0),
        ("poison_offset", 3),
        ("deliveries_after", 3),
        ("committed_before", 3),
        ("committed_after", 8),
        ("lag_before", 5),
        ("lag_after", 0),
        ("other_lag", 0),
        ("dead_letters", 1),
        ("incidents", 1),
        ("alerts", 1),
    ] {
        assert_eq!(seen[field], expected, "{field} in {seen}");
    }
    assert!(err.contains("ALERT"), "the alert is shown: {err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_cycle_is_seen_and_broken_on_its_embedded_broker() {
    check_death_cycle(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_cycle_is_seen_and_broken_on_apache_kafka() {
    if let Some(cluster) = Cluster::kafka().await {
        check_death_cycle(&["--brokers", cluster.address()]).await;
    }
}
