use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn a_record_that_the_broker_refuses_counts_as_failed_and_the_run_goes_on() {
    let world = world(2, 50);
    world.set_rule(|outgoing| match outgoing.value.as_deref() {
        Some(b"dlq/0/7" | b"dlq/1/49") => Reply::Refused,
        _ => Reply::Ok,
    });
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!(
        (answer.matched, answer.published, answer.failed),
        (100, 98, 2)
    );
    assert!(answer.complete);
}

#[tokio::test(start_paused = true)]
async fn a_fault_at_any_record_stops_the_run_and_the_token_loses_and_doubles_none() {
    for faulty in 0..30 {
        let world = world(3, 10);
        let count = AtomicUsize::new(0);
        world.set_rule(move |_| {
            if count.fetch_add(1, Ordering::SeqCst) == faulty {
                Reply::Fault
            } else {
                Reply::Ok
            }
        });
        let answer = world.run(&json!({ "all": true })).await;
        assert_eq!(
            (answer.complete, answer.stopped.as_deref()),
            (false, Some("broker")),
            "{faulty}"
        );
        assert!(answer.fault.unwrap().contains("b:9092"));
        assert_eq!(
            answer.published,
            u64::try_from(world.returned().len()).unwrap()
        );
        world.set_rule(|_| Reply::Ok);
        let rest = world
            .run(&json!({ "resume": answer.resume.unwrap() }))
            .await;
        assert_eq!(rest.replay_id, answer.replay_id);
        assert_eq!(answer.published + rest.published, 30);
        check_once(&world.returned(), &places(3, 10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_away_stops_the_run_at_once() {
    let world = world(1, 5_000);
    let tried = std::sync::Arc::new(AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&tried);
    world.set_rule(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Reply::Fault
    });
    let answer = world
        .run(&json!({ "all": true, "rate_per_second": 0 }))
        .await;
    assert_eq!(
        (answer.matched, answer.published, answer.stopped.as_deref()),
        (0, 0, Some("broker"))
    );
    assert_eq!(
        tried.load(Ordering::SeqCst),
        4,
        "those under way, and no more"
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_on_the_way_is_told_with_what_was_done() {
    let world = world(2, 50);
    {
        let mut dlq = world.dlq.lock().unwrap();
        (dlq.chunk, dlq.fault_after) = (10, Some(3));
    }
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!(
        (answer.published, answer.stopped.as_deref()),
        (30, Some("broker"))
    );
    world.dlq.lock().unwrap().fault_after = None;
    world
        .run(&json!({ "resume": answer.resume.unwrap() }))
        .await;
    check_once(&world.returned(), &places(2, 50));
}
