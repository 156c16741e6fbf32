use lambda_runtime::Diagnostic;
use serde_json::{Value, json};

use super::world::*;
use crate::ReplayError;

/// Checks that a payload fails the invocation before the topic is opened.
async fn check_refused(payload: Value, error_type: &str, message_has: &[&str]) {
    let world = world(2, 5);
    let error = world
        .try_run(&payload, LONG)
        .await
        .expect_err(&payload.to_string());
    let diagnostic = Diagnostic::from(error);
    assert_eq!(diagnostic.error_type, error_type, "{payload}");
    for part in message_has {
        assert!(
            diagnostic.error_message.contains(part),
            "{payload}: {diagnostic:?}"
        );
    }
    assert_eq!(world.dlq.lock().unwrap().opened, 0, "{payload}");
    assert_eq!(world.returned(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_payload_never_means_everything() {
    check_refused(json!({}), "InvalidReplay", &["all", "nothing is selected"]).await;
    check_refused(json!(null), "InvalidReplay", &["not a JSON object"]).await;
    check_refused(json!([]), "InvalidReplay", &["not a JSON object"]).await;
}

#[tokio::test(start_paused = true)]
async fn row_90_a_target_that_is_not_allowed_is_refused_dry_or_real() {
    for dry_run in [true, false] {
        let payload = json!({ "to_topic": "mian", "dry_run": dry_run, "all": true });
        check_refused(
            payload,
            "InvalidReplay",
            &["to_topic", "mian", "REPLAY_TARGETS", "main"],
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_wrong_field_is_named() {
    check_refused(
        json!({ "limit": 0, "since": "soon", "bogus": 1, "plan": "x", "again": true, "resume": 7 }),
        "InvalidReplay",
        &["limit", "since", "bogus", "plan", "again", "resume"],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_does_not_exist_is_a_wrong_field() {
    let payload = json!({ "from_topic": "qld", "all": true });
    check_refused(
        payload,
        "InvalidReplay",
        &["from_topic", "qld", "does not exist"],
    )
    .await;
}

#[test]
fn a_fault_of_the_broker_is_none_of_the_payload() {
    let fault = crate::SourceError::Fault("no answer".to_owned());
    let diagnostic = Diagnostic::from(ReplayError::from(fault));
    assert_eq!(diagnostic.error_type, "BrokerFault");
    assert!(diagnostic.error_message.contains("no answer"));
}
