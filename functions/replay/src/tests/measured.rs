use lambda::{Clock, Count, Time};
use pipeline::Timestamp;
use pipeline::headers::names;
use serde_json::{Value, json};

use super::world::*;
use crate::measured::measured;

/// Checks what is counted of a run: matched, published, skipped, failed, and broken runs.
async fn check(world: &World, payload: &Value, expected: [u64; 5]) {
    let measured = measured(&world.try_run(payload, LONG).await, world.clock.now());
    let counted = [
        Count::ReplayMatched,
        Count::ReplayPublished,
        Count::ReplaySkipped,
        Count::ReplayFailed,
        Count::ReplaysBroken,
    ];
    assert_eq!(counted.map(|what| measured.counted(what)), expected);
    let ages = [Time::UnreplayedTransientAge, Time::UnreplayedOtherAge];
    let has_ages = ages.iter().any(|what| !measured.timed(*what).is_empty());
    assert_eq!(measured.is_empty(), expected == [0; 5] && !has_ages);
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

const DAY_MS: i64 = 86_400_000;

/// Returns a world of two partitions whose dead letters died the given number of days before it begins: `t` transient,
/// `r` transient and replayed as often as it may be, `p` permanent, `u` untold; 0 for one that does not tell when.
fn dead_since(partitions: [&[(char, i64)]; 2]) -> World {
    let world = world(2, 0);
    for (p, dead) in (0..).zip(partitions) {
        let slots = (0..).zip(dead).map(|(offset, (class, days))| {
            let mut record = dead_letter(p, offset);
            record.timestamp = match days {
                0 => Timestamp::NONE,
                days => BEGIN.plus_millis(-days * DAY_MS),
            };
            match class {
                't' => {}
                'r' => record.headers.set(names::REPLAY_COUNT, "3"),
                'p' => record.headers.set(names::ERROR_CLASS, "permanent"),
                _ => record.headers.set(names::ERROR_CLASS, "odd"),
            }
            slot(record)
        });
        let slots = slots.collect();
        world.dlq.lock().unwrap().partitions.insert(p, slots);
    }
    world
}

/// Checks how many whole days old the oldest is that waits, transient and other.
async fn check_ages(world: &World, payload: &Value, expected: [&[i64]; 2]) {
    let result = world.try_run(payload, LONG).await;
    let measured = measured(&result, world.clock.now());
    let ages = [Time::UnreplayedTransientAge, Time::UnreplayedOtherAge].map(|what| {
        let days = measured.timed(what).iter().map(|age| age / DAY_MS);
        days.collect::<Vec<_>>()
    });
    assert_eq!(ages, expected.map(<[i64]>::to_vec), "{payload}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_how_old_the_oldest_of_each_kind_is_that_waits() {
    let world = dead_since([
        &[('p', 13), ('t', 3), ('t', 0)],
        &[('t', 9), ('p', 12), ('t', 2)],
    ]);
    check_ages(&world, &json!({ "dry_run": true }), [&[9], &[13]]).await;
    let transient = json!({ "dry_run": true, "error_class": "transient", "until": "7d" });
    check_ages(&world, &transient, [&[9], &[]]).await;
    let none = json!({ "dry_run": true, "error_class": "transient", "until": "10d" });
    check_ages(&world, &none, [&[], &[]]).await;
}

#[tokio::test(start_paused = true)]
async fn what_died_after_as_many_replays_as_it_may_have_waits_when_that_is_asked() {
    let world = dead_since([&[('r', 9)], &[]]);
    check_ages(&world, &json!({ "dry_run": true }), [&[], &[]]).await;
    let any = json!({ "dry_run": true, "max_replays": 1_000_000 });
    check_ages(&world, &any, [&[9], &[]]).await;
}

#[tokio::test(start_paused = true)]
async fn what_does_not_tell_its_class_counts_beside_the_permanent() {
    let world = dead_since([&[('u', 11), ('u', 8)], &[('p', 9)]]);
    check_ages(&world, &json!({ "dry_run": true }), [&[], &[9, 11]]).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_back_waits_no_more() {
    let world = dead_since([&[('t', 9), ('t', 4)], &[('t', 7)]]);
    world
        .run(&json!({ "until": "8d", "rate_per_second": 0 }))
        .await;
    check_ages(&world, &json!({ "dry_run": true }), [&[7], &[]]).await;
    world.run(&json!({ "all": true })).await;
    check_ages(&world, &json!({ "dry_run": true }), [&[], &[]]).await;
    let again = json!({ "dry_run": true, "again": true });
    check_ages(&world, &again, [&[], &[]]).await;
}
