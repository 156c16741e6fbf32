use lambda::Count;
use serde_json::{Value, json};

use super::world::*;
use crate::measured::measured;

/// Checks what is counted of a run: matched, published, skipped, failed, and broken runs.
async fn check(world: &World, payload: &Value, expected: [u64; 5]) {
    let measured = measured(&world.try_run(payload, LONG).await);
    let counted = [
        Count::ReplayMatched,
        Count::ReplayPublished,
        Count::ReplaySkipped,
        Count::ReplayFailed,
        Count::ReplaysBroken,
    ];
    assert_eq!(counted.map(|what| measured.counted(what)), expected);
    assert_eq!(measured.is_empty(), expected == [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_replay_counts_what_went_back_and_what_did_not() {
    let world = world(2, 50);
    world.set_rule(|outgoing| match outgoing.value.as_deref() {
        Some(b"dlq/0/7" | b"dlq/1/49") => Reply::Refused,
        _ => Reply::Ok,
    });
    check(&world, &json!({ "all": true }), [100, 98, 0, 2, 0]).await;
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_and_a_wrong_payload_count_nothing() {
    let world = world(1, 5);
    check(&world, &json!({ "dry_run": true }), [0; 5]).await;
    check(&world, &json!({ "al": true }), [0; 5]).await;
    check(
        &world,
        &json!({ "from_topic": "nowhere", "all": true }),
        [0; 5],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_the_broker_stops_is_broken() {
    let world = world(1, 5);
    world.set_rule(|outgoing| match outgoing.value.as_deref() {
        Some(b"dlq/0/0") => Reply::Ok,
        _ => Reply::Fault,
    });
    check(
        &world,
        &json!({ "all": true, "rate_per_second": 1 }),
        [1, 1, 0, 0, 1],
    )
    .await;
}
