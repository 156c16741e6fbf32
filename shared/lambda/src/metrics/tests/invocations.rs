//! Each outcome of an invocation is counted once, whatever way it came about.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::batch::Step;
use crate::invocation::BatchFailures::{Raise, Report};
use crate::sim::{Sent, Simulated, Weather, World, event};

const MINUTE: u64 = 60;

/// Checks what the metrics tell of one invocation, of everything but how long things took.
#[track_caller]
fn assert_counted<S: Simulated + Step>(world: &World<S>, expected: Value) {
    let mut told = world.metrics.metrics();
    told.retain(|name, _| name != "Lateness");
    let expected: BTreeMap<String, Value> = serde_json::from_value(expected).unwrap();
    assert_eq!(told, expected);
}

async fn check(weather: &[(&str, Weather)], records: &[Sent<'_>], expected: Value) {
    let world = World::new(Report);
    for (topic, weather) in weather {
        world.seen.weather(topic, *weather);
    }
    drop(world.invoke(MINUTE, records).await);
    assert_counted(&world, expected);
}

#[tokio::test(start_paused = true)]
async fn each_record_of_a_mixed_batch_is_counted_once_by_what_came_of_it() {
    let records = [
        ("main-0", 1, 0, None, "ok"),
        ("main-0", 2, 0, None, "ok"),
        ("main-0", 3, 0, None, "transient"),
        ("main-0", 4, 0, None, "permanent"),
        ("main-0", 5, 0, None, "panic"),
        ("main-0", 6, 0, Some("k"), "no-time"),
        ("main-0", 7, 0, Some("k"), "ok"),
        ("strange-0", 8, 0, None, "ok"),
    ];
    let expected = json!({
        "RecordsDone": 2, "RecordsForwarded": 1, "RecordsDeadLettered": 2, "RecordsWaiting": 2, "RecordsFaulted": 1,
        "Failures next-retry provider.unavailable": 1,
        "Failures permanent provider.declined": 1,
        "Failures permanent handler.panic": 1,
    });
    // What finds no time closes the invocation: it comes last, so that nothing before it waits.
    check(&[], &records, expected).await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_not_counted_as_a_fault_in_either_way_to_answer() {
    for failures in [Report, Raise] {
        let world = World::new(failures);
        let records = [
            ("r5m-0", 1, 0, None, "ok"),
            ("r5m-0", 2, 0, Some("k"), "ok"),
            ("r5m-0", 3, 0, Some("k"), "ok"),
        ];
        drop(world.invoke(MINUTE, &records).await);
        let lines = world.metrics.take();
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert_eq!(line["RecordsWaiting"], 3);
        assert_eq!(line["RecordsFaulted"], Value::Null);
        assert_eq!(line["hand_backs"], json!({"not-due": 2, "key-before": 1}));
        assert_eq!(line["kafka.topic"], "r5m");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_and_a_store_that_are_away_are_faults_that_are_told_apart() {
    let world = World::new(Report);
    world.seen.weather("r30s", Weather::Away);
    world.seen.weather("dlq", Weather::Refuses);
    *world.seen.store_away.lock().unwrap() = true;
    let records = [
        ("main-0", 1, 0, None, "transient"),
        ("main-0", 2, 0, None, "permanent"),
        ("strange-0", 3, 0, None, "ok"),
    ];
    drop(world.invoke(MINUTE, &records).await);
    let lines = world.metrics.take();
    let [line] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert_eq!(line["RecordsFaulted"], 3);
    let causes = json!({"broker": 1, "store": 1, "broken": 1});
    assert_eq!(line["hand_backs"], causes);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_given_up_is_counted_as_waiting_once() {
    let world = World::new(Report);
    let records = [
        ("main-0", 1, 0, None, "hang"),
        ("main-0", 2, 0, None, "slow 100000"),
        ("main-0", 3, 0, None, "ok"),
    ];
    drop(world.invoke(MINUTE, &records).await);
    assert_counted(&world, json!({"RecordsDone": 1, "RecordsWaiting": 2}));
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_invocation_had_done_is_not_counted_as_done_again() {
    let world = World::new(Raise);
    world.seen.weather("r30s", Weather::Away);
    let records = [
        ("main-0", 1, 0, None, "ok"),
        ("main-0", 2, 0, None, "transient"),
    ];
    drop(world.invoke(MINUTE, &records).await);
    assert_counted(&world, json!({"RecordsDone": 1, "RecordsFaulted": 1}));
    world.seen.weather("r30s", Weather::Takes(5));
    drop(world.invoke(MINUTE, &records).await);
    assert_counted(
        &world,
        json!({"RecordsDoneBefore": 1, "RecordsForwarded": 1, "Failures next-retry provider.unavailable": 1}),
    );
}

#[tokio::test(start_paused = true)]
async fn a_record_that_no_topic_takes_is_an_incident_and_an_alert() {
    let weather = [("r30s", Weather::Refuses), ("dlq", Weather::Refuses)];
    let expected = json!({
        "RecordsDeadLettered": 1, "Failures permanent broker.rejected": 1, "IncidentsCreated": 1, "AlertsRaised": 1,
    });
    check(&weather, &[("main-0", 1, 0, None, "transient")], expected).await;
}

#[tokio::test(start_paused = true)]
async fn lateness_is_measured_on_retry_stages_from_when_a_record_was_due_until_its_handler_starts()
{
    let world = World::new(Report);
    let keys: Vec<String> = (0..33).map(|key| key.to_string()).collect();
    let due_in_a_second: Vec<Sent<'_>> = (0..)
        .zip(&keys)
        .map(|(n, key)| ("r30s-0", n, 29_000, Some(key.as_str()), "slow 200"))
        .collect();
    drop(world.invoke(MINUTE, &due_in_a_second).await);
    let late: Vec<i64> =
        serde_json::from_value(world.metrics.metrics()["Lateness"].clone()).unwrap();
    // 32 run at once, and the last of them has to wait for one of the others.
    let (at_once, behind) = late.split_at(32);
    assert!(at_once.iter().all(|ms| (0..10).contains(ms)), "{late:?}");
    assert!(matches!(behind, [200..210]), "{late:?}");

    drop(
        world
            .invoke(MINUTE, &[("r30s-0", 99, 90_000, None, "permanent")])
            .await,
    );
    let late = world.metrics.metrics()["Lateness"].clone();
    assert!(
        late[0].as_i64().unwrap() >= 60_000,
        "also of what fails: {late}"
    );
}

#[tokio::test(start_paused = true)]
async fn on_main_lateness_is_the_age_of_a_record_whose_time_can_be_believed() {
    let world = World::new(Report);
    let records = [
        ("main-0", 1, 90_000, None, "ok"),
        ("main-0", 2, -4_000, None, "permanent"),
        ("main-0", 3, -6_000, None, "ok"),
    ];
    drop(world.invoke(MINUTE, &records).await);
    let late = world.metrics.metrics()["Lateness"].clone();
    let late: Vec<i64> = serde_json::from_value(late).unwrap();
    assert!(matches!(late.as_slice(), [90_000..90_010, 0]), "{late:?}");

    let world = World::of_orders(Report);
    let records = [("orders-0", 1, 70_000, None, "ok")];
    drop(world.invoke(MINUTE, &records).await);
    let late = world.metrics.metrics()["Lateness"].clone();
    assert!(late[0].as_i64().unwrap() >= 70_000, "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_invocation_that_can_do_nothing_is_counted_and_one_without_records_is_not() {
    let world = World::new(Raise);
    for (payload, seconds) in [("[]", 60), ("{", 60), (event(&[]).as_str(), 10)] {
        assert!(world.batches.run(payload, seconds * 1_000).await.is_err());
        assert_counted(&world, json!({"InvocationsRefused": 1}));
    }
    assert_eq!(world.invoke(MINUTE, &[]).await, Ok(vec![]));
    assert_counted(&world, json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_tried_again_where_it_is_is_neither_a_fault_nor_a_wait() {
    let world = World::of_orders(Report);
    let records = [
        ("orders-0", 1, 0, None, "transient"),
        ("orders-0", 2, 0, None, "version"),
    ];
    drop(world.invoke(MINUTE, &records).await);
    assert_counted(
        &world,
        json!({
            "RecordsFailed": 1, "Failures failed provider.unavailable": 1,
            "RecordsDeadLettered": 1, "Failures permanent payload.schema_version": 1,
        }),
    );
}
