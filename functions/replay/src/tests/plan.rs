use std::time::Duration;

use serde_json::json;

use super::world::*;
use crate::{Entry, ReplayError};

/// Row 76.
#[tokio::test(start_paused = true)]
async fn row_76_a_plan_of_a_hundred_is_those_hundred_whatever_dies_later() {
    let world = world(4, 25);
    let dry = world
        .run(&json!({ "dry_run": true, "error_class": "transient" }))
        .await;
    assert_eq!(dry.to_publish, Some(100));
    world.die(13);
    let answer = world
        .run(&json!({ "plan": dry.plan.unwrap(), "rate_per_second": 0 }))
        .await;
    assert_eq!(
        (answer.matched, answer.published, answer.complete),
        (100, 100, true)
    );
    check_once(&world.returned(), &places(4, 25));
}

/// Row 77.
#[tokio::test(start_paused = true)]
async fn row_77_the_same_plan_twice_publishes_once() {
    let world = world(2, 10);
    let dry = world.run(&json!({ "dry_run": true })).await;
    let payload = json!({ "plan": dry.plan.unwrap() });
    world.run(&payload).await;
    let answer = world.run(&payload).await;
    assert_eq!(
        (answer.published, answer.skipped["already-replayed"]),
        (0, 20)
    );
    check_once(&world.returned(), &places(2, 10));
}

#[tokio::test(start_paused = true)]
async fn a_plan_lies_in_one_object_with_what_it_was_asked_for() {
    let world = world(1, 3);
    let dry = world
        .run(&json!({ "dry_run": true, "key": "k-0", "to_topic": "other" }))
        .await;
    let keys = world.state.keys(&format!("replays/{}/", dry.replay_id));
    assert_eq!(keys, [format!("replays/{}/plan.json", dry.replay_id)]);
    let plan = world.state.json(&keys[0]);
    assert_eq!(
        (&plan["records"], &plan["bytes"], &plan["to_topic"]),
        (&json!(3), &json!(21), &json!("other"))
    );
    assert_eq!(plan["asked"]["key"], "k-0");
    assert_eq!(plan["list"][2][1], 2);
    let answer = world.run(&json!({ "plan": dry.plan.unwrap() })).await;
    assert_eq!(answer.published, 3);
    let produced = world.main.produced.lock().unwrap();
    assert!(produced.iter().all(|(_, out)| out.topic == topic("other")));
}

#[tokio::test(start_paused = true)]
async fn a_long_plan_is_written_in_parts_over_many_invocations_and_run_by_its_token() {
    let world = world(8, 1_600);
    world.dlq.lock().unwrap().chunk_takes = Duration::from_millis(400);
    let mut payload = json!({ "dry_run": true });
    let mut invocations = 0;
    let plan = loop {
        let answer = world.run_within(&payload, Duration::from_secs(8)).await;
        invocations += 1;
        assert_eq!(answer.complete, answer.plan.is_some());
        match answer.resume {
            Some(token) => payload = json!({ "resume": token }),
            None => break answer.plan.unwrap(),
        }
    };
    assert!(invocations > 1);
    let id = plan.split('@').next().unwrap();
    assert!(world.state.keys(&format!("replays/{id}/plan/")).len() > 1);
    assert_eq!(
        world.state.json(&format!("replays/{id}/plan.json"))["records"],
        12_800
    );
    world.die(5);
    let mut payload = json!({ "plan": plan, "rate_per_second": 0 });
    loop {
        let answer = world.run_within(&payload, Duration::from_secs(20)).await;
        match answer.resume {
            Some(token) => payload = json!({ "resume": token }),
            None => break,
        }
    }
    check_once(&world.returned(), &places(8, 1_600));
}

#[tokio::test(start_paused = true)]
async fn a_limited_dry_run_plans_what_it_saw_and_more_when_it_goes_on() {
    let world = world(2, 10);
    let first = world.run(&json!({ "dry_run": true, "limit": 6 })).await;
    assert_eq!(
        (first.to_publish, first.stopped.as_deref()),
        (Some(6), Some("limit"))
    );
    let check = async |plan: &str, planned: u64| {
        let payload = json!({ "plan": plan, "dry_run": true });
        assert_eq!(world.run(&payload).await.to_publish, Some(planned));
    };
    let plan = first.plan.unwrap();
    check(&plan, 6).await;
    let payload = json!({ "resume": first.resume.unwrap(), "limit": 100 });
    let second = world.run(&payload).await;
    assert_eq!(second.to_publish, Some(14));
    check(&second.plan.unwrap(), 20).await;
    let error = world.try_run(&json!({ "plan": plan }), LONG).await;
    assert_eq!(error.unwrap_err().error_type(), "PlanMismatch");
}

async fn check_mismatch(world: &World, plan: &str, says: &str) {
    let result = world.try_run(&json!({ "plan": plan }), LONG).await;
    let error = result.unwrap_err();
    assert_eq!(error.error_type(), "PlanMismatch");
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(world.returned(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_was_changed_is_refused() {
    let world = world(1, 3);
    let plan = world.run(&json!({ "dry_run": true })).await.plan.unwrap();
    let key = format!("replays/{}/plan.json", plan.split('@').next().unwrap());
    let mut changed = world.state.json(&key);
    changed["list"].as_array_mut().unwrap().pop();
    world.state.put(&key, changed.to_string().into_bytes());
    check_mismatch(&world, &plan, "SHA-256").await;
    let other = format!("run-9@{}", "0".repeat(64));
    check_mismatch(&world, &other, "no such plan").await;
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_what_the_plan_saw_refuses_it() {
    let world = world(1, 5);
    let plan = world.run(&json!({ "dry_run": true })).await.plan.unwrap();
    let touch = |does: &dyn Fn(&mut pipeline::Record)| {
        let mut dlq = world.dlq.lock().unwrap();
        let Slot::Entry(Entry::Record(record)) = &mut dlq.partitions.get_mut(&0).unwrap()[3] else {
            panic!("it is a record");
        };
        *record = dead_letter(0, 3);
        does(record);
    };
    touch(&|record| record.value = None);
    check_mismatch(&world, &plan, "dlq/0/3").await;
    touch(&|record| record.headers.push("more", None));
    check_mismatch(&world, &plan, "dlq/0/3").await;
    touch(&|record| record.timestamp = record.timestamp.plus_millis(1));
    check_mismatch(&world, &plan, "dlq/0/3").await;
    touch(&|_| {});
    let answer = world.run(&json!({ "plan": plan })).await;
    assert_eq!(answer.published, 5);
}

#[tokio::test(start_paused = true)]
async fn what_was_deleted_since_is_counted_as_failed_and_the_rest_goes() {
    let world = world(2, 10);
    let plan = world.run(&json!({ "dry_run": true })).await.plan.unwrap();
    {
        let mut dlq = world.dlq.lock().unwrap();
        let partition = dlq.partitions.get_mut(&0).unwrap();
        for gone in [0, 1, 5, 9] {
            partition[gone] = Slot::Gap;
        }
        dlq.partitions.remove(&1);
    }
    let mut payload = json!({ "plan": plan, "limit": 4 });
    let (mut published, mut failed, mut gone) = (0, 0, 0);
    loop {
        let answer = world.run(&payload).await;
        published += answer.published;
        failed += answer.failed;
        gone += answer.gone;
        match answer.resume {
            Some(token) => payload = json!({ "resume": token }),
            None => break,
        }
    }
    assert_eq!((published, failed, gone), (6, 14, 14));
}

#[tokio::test(start_paused = true)]
async fn row_90_a_plan_does_not_go_around_the_targets() {
    let world = world(1, 3);
    let payload = json!({ "dry_run": true, "to_topic": "other" });
    let plan = world.run(&payload).await.plan.unwrap();
    let key = format!("replays/{}/plan.json", plan.split('@').next().unwrap());
    let mut forged = world.state.json(&key);
    forged["to_topic"] = json!("elsewhere");
    let forged = forged.to_string().into_bytes();
    let hash = pipeline::replay::fingerprint::sha256(&forged);
    world.state.put(&key, forged);
    let plan = format!("{}@{hash}", plan.split('@').next().unwrap());
    let result = world.try_run(&json!({ "plan": plan }), LONG).await;
    let error = result.unwrap_err();
    assert!(matches!(error, ReplayError::Invalid(_)), "{error}");
    assert!(error.to_string().contains("REPLAY_TARGETS"));
}

/// Row 83.
#[tokio::test(start_paused = true)]
async fn row_83_an_open_transaction_is_told() {
    let world = world(2, 3);
    world.dlq.lock().unwrap().held_back = vec![1];
    for payload in [json!({ "dry_run": true }), json!({ "all": true })] {
        assert_eq!(world.run(&payload).await.held_back, ["dlq/1"]);
    }
}
