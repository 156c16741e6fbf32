use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pipeline::BatchAnswer;
use serde_json::{Value, json};

use super::*;
use crate::InvocationError;
use crate::invocation::{Answer, BatchFailures};
use crate::sim::World;

/// Runs these checks with so much time left and compares the answer, as text, so that its order counts.
async fn check(checks: Checks, left_ms: u64, expected: &str) {
    let checked = checks.run(Duration::from_millis(left_ms)).await;
    assert_eq!(serde_json::to_string(&checked).unwrap(), expected);
}

fn partitions(number: u64) -> Found {
    Found::default().with("partitions", number)
}

fn unreached(why: Why, text: &str) -> Result<Found, Unreached> {
    Err(Unreached::new(why, text))
}

/// Three of which one is not there and one never answers.
fn three() -> Checks {
    Checks::new("payments")
        .with(Thing::Topic, "brew.payments.dlq", async || {
            tokio::time::sleep(Duration::from_millis(7)).await;
            Ok(partitions(12))
        })
        .with(Thing::Bucket, "brew-incidents/spill/", async || {
            unreached(Why::Unauthorized, "PutObject: AccessDenied (HTTP 403)")
        })
        .with(Thing::Provider, "https://provider.example", pending)
}

#[tokio::test(start_paused = true)]
async fn a_check_answers_one_line_for_each_thing_in_a_stable_order() {
    check(
        three(),
        60_000,
        r#"{"function":"payments","ok":false,"checks":[{"name":"topic","target":"brew.payments.dlq","ok":true,"ms":7,"partitions":12},{"name":"bucket","target":"brew-incidents/spill/","ok":false,"ms":0,"why":"unauthorized","error":"PutObject: AccessDenied (HTTP 403)"},{"name":"provider","target":"https://provider.example","ok":false,"ms":5000,"why":"timeout","error":"no answer within 5s"}]}"#,
    )
    .await;
    check(
        Checks::new("dlq").with(Thing::Webhook, "hooks.example:443", async || Ok(partitions(1))),
        60_000,
        r#"{"function":"dlq","ok":true,"checks":[{"name":"webhook","target":"hooks.example:443","ok":true,"ms":0,"partitions":1}]}"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn all_checks_run_at_once_and_end_before_the_deadline() {
    for (left_ms, ends_after_ms) in [(60_000, 5_000), (5_000, 5_000), (1_200, 1_200), (0, 0)] {
        let slow = || pending::<Result<Found, Unreached>>();
        let checks = (0..20).fold(Checks::new("payments"), |checks, _| {
            checks.with(Thing::Topic, "t", slow)
        });
        let began = Instant::now();
        let checked = checks.run(Duration::from_millis(left_ms)).await;
        // The timer counts whole milliseconds, and one more.
        let took_ms = began.elapsed().as_millis();
        assert!(
            (ends_after_ms..=ends_after_ms + 1).contains(&took_ms),
            "{left_ms}: {took_ms}"
        );
        assert_eq!(checked.lines().len(), 20);
        assert!(!checked.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_check_tells_is_masked_and_on_one_line() {
    let text = "refused:\nAuthorization: Bearer s3cret.token";
    let checks = Checks::new("payments").with(
        Thing::Provider,
        "https://user:hunter2@provider.example",
        async move || unreached(Why::Unauthorized, text),
    );
    let told = serde_json::to_string(&checks.run(LIMIT).await).unwrap();
    for secret in ["s3cret", "hunter2", "\\n"] {
        assert!(!told.contains(secret), "{told}");
    }
    assert!(told.contains("provider.example"), "{told}");
}

/// A world that counts how often it is checked.
fn world() -> (World<crate::sim::LadderStep>, Arc<AtomicUsize>) {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let checks = Checks::new("payments").with(Thing::Topic, "main", move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(partitions(4)) }
    });
    let world = World::new(BatchFailures::Report).with_checks(checks);
    (world, tries)
}

/// Invokes with a payload: what is answered, or the error's name and text.
async fn invoke(payload: &str) -> Result<Value, (String, String)> {
    let (world, tries) = world();
    let answer = world.batches.run(payload, 60_000).await;
    let was_checked = tries.load(Ordering::SeqCst);
    assert_eq!(
        was_checked == 1,
        matches!(answer, Ok(Answer::Check(_))),
        "{payload}"
    );
    match answer {
        Ok(answer) => Ok(serde_json::to_value(answer).unwrap()),
        Err(error) => Err((error.error_type().to_owned(), error.to_string())),
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_one_field_that_is_true_asks_for_a_check() {
    for payload in [r#"{"check":true}"#, " {\n\"check\" : true } "] {
        let answer = invoke(payload).await.unwrap();
        assert_eq!(answer["function"], "payments", "{payload}");
    }
    for (payload, named) in [
        (r#"{"check":false}"#, "\"check\" is not true"),
        (r#"{"check":null}"#, "\"check\" is not true"),
        (r#"{"check":"true"}"#, "\"check\" is not true"),
        (r#"{"check":1}"#, "\"check\" is not true"),
        (r#"{"check":true,"check":true}"#, "\"check\" is not true"),
        (r#"{"check":true,"all":true}"#, "\"all\" stands beside"),
        (r#"{"topic":"t","check":false}"#, "\"topic\" stands beside"),
    ] {
        let (name, text) = invoke(payload).await.unwrap_err();
        assert_eq!(name, "InvalidCheck", "{payload}");
        assert!(text.contains(named), "{payload}: {text}");
        assert!(text.contains(r#"{"check":true}"#), "{payload}: {text}");
    }
    for payload in ["{}", r#"{"Check":true}"#, "[true]", r#""check""#] {
        let (name, _) = invoke(payload).await.unwrap_err();
        assert_eq!(name, "InvalidEvent", "{payload}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_records_is_an_event_and_never_a_check() {
    for payload in [
        r#"{"check":true,"records":{}}"#,
        r#"{"records":{},"check":true}"#,
    ] {
        let answer = invoke(payload).await.unwrap();
        assert_eq!(answer, json!({"batchItemFailures": []}), "{payload}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_runs_no_record_counts_nothing_and_needs_no_time_for_a_call() {
    let (world, tries) = world();
    // 3 s would be too short for an event.
    let answer = world.batches.run(r#"{"check":true}"#, 3_000).await;
    assert!(matches!(answer, Ok(Answer::Check(_))), "{answer:?}");
    assert_eq!(tries.load(Ordering::SeqCst), 1);
    assert!(world.metrics.take().is_empty());
    assert!(world.seen.handled().is_empty());
    let event = world.batches.run(r#"{"records":{}}"#, 3_000).await;
    assert!(
        matches!(event, Err(InvocationError::TimeoutTooShort { .. })),
        "{event:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_function_without_checks_takes_a_check_for_no_event() {
    let world = World::<crate::sim::LadderStep>::new(BatchFailures::Report);
    let answer: Result<BatchAnswer, _> = world.run(r#"{"check":true}"#, 60).await;
    assert_eq!(answer.unwrap_err().error_type(), "InvalidEvent");
}

#[test]
fn the_payload_is_looked_at_alone_too() {
    assert_eq!(asked(r#"{"check":true}"#), Ok(true));
    for other in ["", "{", "null", "[]", "{}", r#"{"all":true}"#] {
        assert_eq!(asked(other), Ok(false), "{other}");
    }
    assert_eq!(asked(r#"{"check":false}"#), Err(InvalidCheck::NotTrue));
    let long = format!(r#"{{"check":true,"{}":1}}"#, "n".repeat(5_000));
    let refused = asked(&long).unwrap_err().to_string();
    assert!(refused.len() < 200, "{refused}");
}
