//! Each test starts this test binary again, since a process has one logger, and reads what it writes on standard error.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::*;

const LEVELS: &str = "BREW_LOG_TEST_LEVELS";

/// The child itself; without levels in its environment it is a test like any other, and has nothing to do.
#[test]
fn a_child_logs() {
    let Some(levels) = std::env::var_os(LEVELS) else {
        return;
    };
    let levels = levels.to_string_lossy();
    init(Some(levels.as_ref()).filter(|levels| *levels != "unset"));
    init(Some("trace"));
    tracing::info!(kafka.offset = 7, decision = "forward", "before");
    invocation("8476a536").in_scope(|| {
        tracing::info!(payment.id = "k-7\n\"", "within");
        tracing::debug!("detail");
        tracing::info!(target: "rdkafka::client", "noise");
        tracing::info!(target: "hyper_util::client", "noise");
        tracing::trace!(target: "aws_sigv4::http_request::sign", "X-Amz-Security-Token=s3cret");
        tracing::warn!(target: "librdkafka", "broker is away");
        drop(std::panic::catch_unwind(|| panic!("4111 1111 1111 1111")));
    });
}

/// Returns the lines that a process with these levels writes on standard error: all of them are JSON.
fn lines(levels: &str) -> Vec<Value> {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "log::tests::a_child_logs"])
        .env(LEVELS, levels)
        .stdout(Stdio::null())
        .output()
        .unwrap();
    let written = String::from_utf8(child.stderr).unwrap();
    assert!(!written.contains("1111"), "{written}");
    written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn check(levels: &str, expected: &[&str]) {
    let lines = lines(levels);
    let messages: Vec<&str> = lines
        .iter()
        .map(|line| line["message"].as_str().unwrap())
        .collect();
    assert_eq!(messages, expected, "{levels}");
}

const PANICKED: &str = "a part of the program panicked";

#[test]
fn by_default_our_lines_are_there_and_the_noise_is_not() {
    for levels in ["unset", "", "info"] {
        check(levels, &["before", "within", "broker is away", PANICKED]);
    }
}

#[test]
fn levels_that_are_asked_for_hold() {
    check("error", &["broker is away", PANICKED]);
    check("error,librdkafka=error", &[PANICKED]);
    check(
        "debug,hyper_util=info",
        &[
            "before",
            "within",
            "detail",
            "noise",
            "broker is away",
            PANICKED,
        ],
    );
}

#[test]
fn whoever_asks_for_everything_gets_no_session_tokens() {
    check(
        "trace",
        &["before", "within", "detail", "broker is away", PANICKED],
    );
}

#[test]
fn levels_that_are_none_are_reported_and_the_defaults_hold() {
    let lines = lines("info,lambda=loud");
    assert_eq!(lines.len(), 5);
    assert!(lines[0]["message"].as_str().unwrap().contains("RUST_LOG"));
}

#[test]
fn a_line_is_flat_and_holds_time_level_and_the_request() {
    let lines = lines("unset");
    let [before, within, ..] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(before["kafka.offset"], 7);
    assert_eq!(before["decision"], "forward");
    assert_eq!(before["level"], "INFO");
    let time = before["timestamp"].as_str().unwrap();
    assert!(pipeline::Timestamp::from_rfc3339(time).is_some(), "{time}");
    assert_eq!(within["payment.id"], "k-7\n\"");
    assert_eq!(within["span"]["request_id"], "8476a536");
    assert_eq!(before["span"], Value::Null);
}

#[test]
fn a_panic_is_told_with_its_place_and_without_its_message() {
    let lines = lines("unset");
    let panic = lines.last().unwrap();
    assert_eq!(panic["level"], "ERROR");
    assert!(panic["place"].as_str().unwrap().contains("log/tests.rs"));
    assert_eq!(panic["span"]["request_id"], "8476a536");
}
