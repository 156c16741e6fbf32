use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lambda_runtime::Diagnostic;
use serde_json::json;

use super::world::*;

const LEASE: &str = "replays/_lease/dlq.json";

/// Row 77.
#[tokio::test(start_paused = true)]
async fn row_77_of_two_runs_at_once_one_works_and_one_says_who() {
    let world = world(1, 100);
    let other = world.elsewhere();
    let payload = json!({ "all": true, "rate_per_second": 10 });
    let (first, second) = tokio::join!(world.run(&payload), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // A dry run needs no lease.
        assert!(other.run(&json!({ "dry_run": true })).await.complete);
        other.try_run(&payload, LONG).await
    });
    assert_eq!((first.published, first.complete), (100, true));
    let diagnostic = Diagnostic::from(second.unwrap_err());
    assert_eq!(diagnostic.error_type, "ReplayBusy");
    assert!(diagnostic.error_message.contains(&first.replay_id));
    // It was given back: the next need not wait.
    let third = other.run(&payload).await;
    assert_eq!((third.published, third.complete), (0, true));
}

#[tokio::test(start_paused = true)]
async fn a_dead_run_blocks_no_longer_than_its_lease_lives() {
    let world = world(1, 100);
    let payload = json!({ "all": true, "rate_per_second": 10 });
    let killed = tokio::time::timeout(Duration::from_secs(3), world.run(&payload)).await;
    assert!(killed.is_err());
    let other = world.elsewhere();
    tokio::time::sleep(Duration::from_secs(56)).await;
    let busy = other.try_run(&payload, LONG).await.unwrap_err();
    assert_eq!(busy.error_type(), "ReplayBusy");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(other.run(&payload).await.complete);
}

#[tokio::test(start_paused = true)]
async fn a_long_run_renews_its_lease() {
    let world = world(1, 300);
    let other = world.elsewhere();
    let payload = json!({ "all": true, "rate_per_second": 1 });
    let (answer, ()) = tokio::join!(world.run(&payload), async {
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_secs(65)).await;
            let busy = other.try_run(&payload, LONG).await.unwrap_err();
            assert_eq!(busy.error_type(), "ReplayBusy");
        }
    });
    assert_eq!((answer.published, answer.complete), (300, true));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_renew_its_lease_stops_before_it_ends() {
    let world = world(1, 300);
    world.state.set_rule(|call, key| match (call, key) {
        ("replace", LEASE) => Kept::Fault,
        _ => Kept::Well,
    });
    let payload = json!({ "all": true, "rate_per_second": 1 });
    let answer = world.run(&payload).await;
    assert_eq!(
        (answer.complete, answer.stopped.as_deref()),
        (false, Some("lease"))
    );
    assert!(
        (40..=54).contains(&answer.published),
        "{}",
        answer.published
    );
    world.state.set_rule(|_, _| Kept::Well);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let rest = json!({ "resume": answer.resume.unwrap(), "rate_per_second": 0 });
    assert!(world.run(&rest).await.complete);
    check_once(&world.returned(), &places(1, 300));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_was_taken_stops_before_the_next_dead_letter() {
    let world = world(1, 300);
    let payload = json!({ "all": true, "rate_per_second": 1 });
    let (answer, ()) = tokio::join!(world.run(&payload), async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let mut taken = world.state.json(LEASE);
        taken["holder"] = json!("another");
        world.state.put(LEASE, taken.to_string().into_bytes());
    });
    assert_eq!(answer.stopped.as_deref(), Some("lease"));
    assert!(answer.fault.unwrap().contains("taken by another run"));
    assert!(answer.published <= 17, "{}", answer.published);
    // What is another's is not given back.
    assert_eq!(world.state.json(LEASE)["released"], false);
}

#[tokio::test(start_paused = true)]
async fn lost_answers_of_the_lease_lose_no_lease() {
    let world = world(1, 100);
    let count = AtomicUsize::new(0);
    world.state.set_rule(move |call, key| match (call, key) {
        ("replace", LEASE) if count.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) => Kept::Lost,
        _ => Kept::Well,
    });
    let payload = json!({ "all": true, "rate_per_second": 1 });
    let answer = world.run(&payload).await;
    assert_eq!((answer.published, answer.complete), (100, true));
}
