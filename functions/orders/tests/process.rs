//! The function's own process: wrong settings end it before it takes an invocation.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "what fails here is to fail the test"
)]

use std::process::Command;

#[test]
fn wrong_settings_are_named_on_one_line_and_the_process_ends() {
    let ended = Command::new(env!("CARGO_BIN_EXE_orders"))
        .env_clear()
        .envs([
            ("ORDERS_TOPIC", "same"),
            ("ORDERS_DLQ_TOPIC", "same"),
            ("BATCH_FAILURES", "Report"),
        ])
        .output()
        .unwrap();
    assert!(!ended.status.success());
    assert!(ended.stdout.is_empty());
    let log = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    for name in [
        "KAFKA_BROKERS",
        "ORDERS_DLQ_TOPIC",
        "INCIDENT_BUCKET",
        "BATCH_FAILURES",
    ] {
        assert!(log.contains(name), "{name}: {log}");
    }
}
