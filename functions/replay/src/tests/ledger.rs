use std::time::Duration;

use serde_json::json;

use super::world::*;

const LEDGER: &str = "replays/_ledger/dlq/";

#[tokio::test(start_paused = true)]
async fn a_second_run_publishes_only_what_is_missing() {
    let world = world(3, 20);
    let first = world.run(&json!({ "limit": 25 })).await;
    assert_eq!(first.published, 25);
    let dry = world.run(&json!({ "dry_run": true })).await;
    assert_eq!(
        (dry.to_publish, dry.skipped["already-replayed"]),
        (Some(35), 25)
    );
    let second = world.elsewhere().run(&json!({ "all": true })).await;
    assert_ne!(second.replay_id, first.replay_id);
    assert_eq!(
        (second.published, second.skipped["already-replayed"]),
        (35, 25)
    );
    // Overlapping filters too.
    let third = world.run(&json!({ "key": "k-1" })).await;
    assert_eq!(
        (third.published, third.skipped["already-replayed"]),
        (0, 20)
    );
    check_once(&world.returned(), &places(3, 20));
}

#[tokio::test(start_paused = true)]
async fn again_publishes_also_what_was_published() {
    let world = world(1, 10);
    for expected in [10, 20] {
        let answer = world.run(&json!({ "all": true, "again": true })).await;
        assert_eq!((answer.published, answer.complete), (10, true));
        assert_eq!(world.returned().len(), expected);
    }
    let dry = world.run(&json!({ "dry_run": true, "again": true })).await;
    assert_eq!(dry.to_publish, Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_run_with_again_sends_nothing_twice() {
    let world = world(1, 20);
    world.run(&json!({ "all": true })).await;
    let first = world
        .run(&json!({ "all": true, "again": true, "limit": 5 }))
        .await;
    // The first answer to the token got lost, and whoever waited for it uses it again.
    let payload = json!({ "resume": first.resume, "limit": 20 });
    let second = world.elsewhere().run(&payload).await;
    assert_eq!(second.published, 15);
    let third = world.elsewhere().run(&payload).await;
    assert_eq!(
        (third.published, third.skipped["already-replayed"]),
        (0, 15)
    );
    assert_eq!(world.returned().len(), 40);
}

#[tokio::test(start_paused = true)]
async fn row_77_a_plan_with_again_is_carried_out_once_too() {
    let world = world(1, 20);
    world.run(&json!({ "all": true })).await;
    let dry = world.run(&json!({ "dry_run": true, "again": true })).await;
    for expected in [(20, 0), (0, 20)] {
        let answer = world.run(&json!({ "plan": dry.plan })).await;
        let skipped = answer.skipped["already-replayed"];
        assert_eq!((answer.published, skipped), expected);
    }
    assert_eq!(world.returned().len(), 40);
    let another = world.run(&json!({ "dry_run": true, "again": true })).await;
    let answer = world.run(&json!({ "plan": another.plan })).await;
    assert_eq!(answer.published, 20);
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_was_made_anew_is_not_hidden_by_what_the_old_one_held() {
    let world = world(1, 10);
    world.run(&json!({ "all": true })).await;
    for slots in world.dlq.lock().unwrap().partitions.values_mut() {
        let later = |offset| {
            let mut record = dead_letter(0, offset);
            record.timestamp = record.timestamp.plus_millis(1_000_000);
            slot(record)
        };
        *slots = (0..10).map(later).collect();
    }
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!(
        (answer.published, answer.skipped["already-replayed"]),
        (10, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_chunk_is_one_object_of_at_most_five_hundred_and_ten_seconds_worth() {
    let world = world(4, 300);
    world
        .run(&json!({ "all": true, "rate_per_second": 0 }))
        .await;
    assert_eq!(world.state.keys(LEDGER).len(), 3);
    let world = super::world::world(4, 10);
    world
        .run(&json!({ "all": true, "rate_per_second": 1 }))
        .await;
    assert_eq!(world.state.keys(LEDGER).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_window_reads_only_the_ledger_that_it_may_meet() {
    let world = world(1, 2);
    world.run(&json!({ "all": true })).await;
    let read = |payload: serde_json::Value| {
        let world = world.elsewhere();
        async move {
            world.state.calls.lock().unwrap().clear();
            world.run(&payload).await;
            let calls = world.state.calls.lock().unwrap();
            let reads = calls.iter();
            reads
                .filter(|(call, key)| call == "get" && key.starts_with(LEDGER))
                .count()
        }
    };
    assert_eq!(read(json!({ "dry_run": true })).await, 1);
    assert_eq!(read(json!({ "dry_run": true, "since": "1s" })).await, 0);
    assert_eq!(read(json!({ "dry_run": true, "until": "7d" })).await, 0);
}

/// Row 80.
#[tokio::test(start_paused = true)]
async fn row_80_a_run_that_was_killed_is_finished_by_another_and_repeats_at_most_a_chunk() {
    let world = world(1, 100);
    world.dlq.lock().unwrap().chunk = 20;
    let payload = json!({ "all": true, "rate_per_second": 10 });
    // Dropped in the middle of its work, as a process that is killed: its lease stays.
    let killed = tokio::time::timeout(Duration::from_millis(6_150), world.run(&payload)).await;
    assert!(killed.is_err());
    let before = world.returned().len();
    assert!((60..80).contains(&before), "{before}");
    let run = world.state.keys("replays/").into_iter();
    let run: Vec<String> = run.filter(|key| key.ends_with("/run.json")).collect();
    assert_eq!(world.state.json(&run[0])["state"], "running");
    tokio::time::sleep(Duration::from_secs(62)).await;
    let answer = world.elsewhere().run(&payload).await;
    assert_eq!(answer.skipped["already-replayed"], 60);
    assert_eq!(answer.published, 40);
    let returned = world.returned();
    let distinct: std::collections::BTreeSet<String> = returned.iter().cloned().collect();
    assert_eq!(distinct, places(1, 100));
    assert!(returned.len() <= 120, "{}", returned.len());
}

#[tokio::test(start_paused = true)]
async fn a_run_leaves_its_record() {
    let world = world(2, 10);
    let first = world
        .run(&json!({ "error_class": "transient", "key": "4111 1111 1111 1111", "limit": 5 }))
        .await;
    let key = format!("replays/{}/run.json", first.replay_id);
    let run = world.state.json(&key);
    assert_eq!(
        (&run["state"], &run["counts"]["published"]),
        (&json!("complete"), &json!(0))
    );
    assert!(!run["asked"]["key"].as_str().unwrap().contains("4111 1111"));
    assert_eq!(run["invoked"], json!({ "request_id": "request-1" }));

    let first = world.run(&json!({ "limit": 5 })).await;
    let key = format!("replays/{}/run.json", first.replay_id);
    let run = world.state.json(&key);
    assert_eq!(
        (&run["state"], &run["stopped"]),
        (&json!("stopped"), &json!("limit"))
    );
    assert_eq!(
        (&run["from_topic"], &run["to_topic"], &run["asked"]["limit"]),
        (&json!("dlq"), &json!("main"), &json!(5))
    );
    assert_eq!(
        (&run["first"], &run["last"]),
        (&json!("dlq/0/0"), &json!("dlq/0/2"))
    );
    world
        .run(&json!({ "resume": first.resume.unwrap(), "limit": 100 }))
        .await;
    let run = world.state.json(&key);
    assert_eq!(
        (&run["state"], &run["invocations"]),
        (&json!("complete"), &json!(2))
    );
    assert_eq!(run["counts"]["published"], 20);
    assert_eq!(
        (&run["first"], &run["last"]),
        (&json!("dlq/0/0"), &json!("dlq/1/9"))
    );
}
