//! The demo as its users run it: a process that tells how it went in one line.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;

/// Under a minute on an idle machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// Runs the demo and checks the account in its last line.
async fn check(more: &[&str]) {
    let demo = Command::new(binaries::local())
        .args(["demo", "--json"])
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
    let account: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
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
