use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_limit_stops_before_one_too_many_and_the_token_asks_for_as_many_more() {
    let world = world(4, 25);
    let mut payload = json!({ "limit": 30 });
    for (expected, complete) in [(30, false), (30, false), (30, false), (10, true)] {
        let answer = world.run(&payload).await;
        assert_eq!((answer.published, answer.complete), (expected, complete));
        if !complete {
            assert_eq!(answer.stopped.as_deref(), Some("limit"));
            payload = json!({ "resume": answer.resume.unwrap() });
        }
    }
    check_once(&world.returned(), &places(4, 25));
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_just_enough_leaves_a_run_complete() {
    for (limit, complete) in [(99, false), (100, true), (101, true)] {
        let answer = world(4, 25).run(&json!({ "limit": limit })).await;
        assert_eq!(
            (answer.published, answer.complete),
            (limit.min(100), complete)
        );
    }
    // What is not asked for does not use it up.
    let answer = world(4, 25)
        .run(&json!({ "limit": 25, "key": "k-2" }))
        .await;
    assert_eq!((answer.published, answer.complete), (25, true));
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_kept_over_a_deadline() {
    let world = world(2, 100);
    let mut payload = json!({ "limit": 50, "rate_per_second": 10 });
    let mut published = 0;
    loop {
        let answer = world.run_within(&payload, Duration::from_secs(11)).await;
        published += answer.published;
        payload = json!({ "resume": answer.resume.unwrap() });
        if answer.stopped.as_deref() == Some("limit") {
            break;
        }
        assert_eq!(answer.stopped.as_deref(), Some("deadline"));
    }
    assert_eq!(published, 50);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_keeps_to_its_ends_and_its_times() {
    let world = world(2, 10);
    let first = world.run(&json!({ "since": "101s", "limit": 5 })).await;
    // More die, and an hour goes by: `101s` still counts from when the run began.
    for slots in world.dlq.lock().unwrap().partitions.values_mut() {
        let (partition, length) = (7, i64::try_from(slots.len()).unwrap());
        slots.push(slot(dead_letter(partition, length)));
    }
    tokio::time::sleep(LONG).await;
    let rest = world
        .run(&json!({ "resume": first.resume.unwrap(), "limit": 1_000 }))
        .await;
    assert_eq!((rest.published, rest.complete), (15, true));
    check_once(&world.returned(), &places(2, 10));
}

#[tokio::test(start_paused = true)]
async fn a_token_outlives_records_that_expire() {
    let world = world(2, 10);
    let first = world.run(&json!({ "limit": 4 })).await;
    world.dlq.lock().unwrap().partitions.insert(1, vec![]);
    let rest = world
        .run(&json!({ "resume": first.resume.unwrap(), "limit": 100 }))
        .await;
    assert!(rest.complete);
    let of_first: Vec<String> = world
        .returned()
        .into_iter()
        .filter(|place| place.starts_with("dlq/0/"))
        .collect();
    check_once(&of_first, &places(1, 10));
}

/// What a random world holds and how it behaves.
#[derive(Clone, Debug)]
struct Story {
    partitions: Vec<Vec<bool>>,
    chunk: usize,
    limit: Option<u64>,
    rate: u32,
    seconds: u64,
    fault_every: Option<usize>,
    refused: BTreeSet<String>,
    empty_polls: usize,
}

fn story() -> impl Strategy<Value = Story> {
    let partitions = prop::collection::vec(prop::collection::vec(any::<bool>(), 0..40), 0..6);
    let refused = prop::collection::btree_set(
        (0..6, 0..40).prop_map(|(p, o)| format!("dlq/{p}/{o}")),
        0..6,
    );
    (
        partitions,
        1_usize..30,
        prop::option::of(1_u64..40),
        prop::sample::select(vec![0_u32, 5, 50]),
        9_u64..33,
        prop::option::of(2_usize..30),
        refused,
        0_usize..3,
    )
        .prop_map(
            |(partitions, chunk, limit, rate, seconds, fault_every, refused, empty_polls)| Story {
                partitions,
                chunk,
                limit,
                rate,
                seconds,
                fault_every,
                refused,
                empty_polls,
            },
        )
}

/// Drives a run by its tokens until it is complete, whatever stops it on the way.
async fn drive(story: Story) {
    let world = world(0, 0);
    let mut expected = BTreeSet::new();
    {
        let mut dlq = world.dlq.lock().unwrap();
        (dlq.chunk, dlq.empty_polls) = (story.chunk, story.empty_polls);
        for (number, slots) in (0..).zip(&story.partitions) {
            let slots = (0..).zip(slots).map(|(offset, is_record)| {
                if *is_record {
                    expected.insert(format!("dlq/{number}/{offset}"));
                    slot(dead_letter(number, offset))
                } else {
                    Slot::Gap
                }
            });
            dlq.partitions.insert(number, slots.collect());
        }
    }
    let (count, every, refused) = (
        AtomicUsize::new(1),
        story.fault_every,
        story.refused.clone(),
    );
    world.set_rule(move |outgoing| {
        let value = std::str::from_utf8(outgoing.value.as_deref().unwrap()).unwrap();
        if refused.contains(value) {
            return Reply::Refused;
        }
        let faulty = every.is_some_and(|every| count.fetch_add(1, Ordering::SeqCst) % every == 0);
        if faulty { Reply::Fault } else { Reply::Ok }
    });
    let mut payload = json!({ "all": true, "rate_per_second": story.rate });
    if let Some(limit) = story.limit {
        payload["limit"] = json!(limit);
    }
    let (mut published, mut failed) = (0, 0);
    for _ in 0..2_000 {
        let answer = world
            .run_within(&payload, Duration::from_secs(story.seconds))
            .await;
        (published, failed) = (published + answer.published, failed + answer.failed);
        let Some(token) = answer.resume else {
            let wrong: BTreeSet<String> = expected.intersection(&story.refused).cloned().collect();
            let right: BTreeSet<String> = expected.difference(&story.refused).cloned().collect();
            check_once(&world.returned(), &right);
            assert_eq!(published, u64::try_from(right.len()).unwrap());
            assert_eq!(failed, u64::try_from(wrong.len()).unwrap());
            return;
        };
        payload = Value::from_iter([("resume", token)]);
    }
    panic!("the run does not end: {story:?}");
}

proptest! {
    #[test]
    fn whatever_stops_a_run_its_tokens_bring_it_to_its_end_with_each_dead_letter_once(story in story()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(drive(story));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_has_the_id_that_was_chosen_for_it_in_all_its_invocations() {
    const ID: &str = "6f0c5d3e-1a2b-4c3d-8e4f-0123456789ab";
    let world = world(1, 10);
    let ask = json!({ "all": true, "limit": 4, "replay_id": ID });
    let first = world.run(&ask).await;
    let second = world.run(&json!({ "resume": first.resume })).await;
    assert_eq!(
        (first.replay_id.as_str(), second.replay_id.as_str()),
        (ID, ID)
    );
    assert_eq!(
        world.state.json(&format!("replays/{ID}/run.json"))["invocations"],
        2
    );
    for wrong in [
        "",
        "run-1",
        "../x",
        "6f0c5d3e-1a2b-4c3d-8e4f-0123456789a",
        "6f0c5d3e1a2b4c3d8e4f0123456789ab",
    ] {
        let ask = json!({ "all": true, "replay_id": wrong });
        let error = world.try_run(&ask, LONG).await.unwrap_err();
        assert_eq!(error.to_string(), "replay_id is not a UUID", "{wrong}");
    }
    let beside = json!({ "resume": second.resume, "replay_id": ID });
    let error = world.try_run(&beside, LONG).await.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("replay_id cannot stand beside resume"),
        "{error}"
    );
}
