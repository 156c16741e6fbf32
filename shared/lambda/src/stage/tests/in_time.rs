//! When records run, and when the answer goes.

use super::MINUTE;
use crate::invocation::BatchFailures::Report;
use crate::sim::World;

#[tokio::test(start_paused = true)]
async fn a_retry_record_waits_for_its_delay_from_its_own_timestamp_and_not_longer() {
    for (age, handled_at) in [
        (0, 30_000),
        (10_000, 20_000),
        (30_000, 0),
        (3_600_000, 0),
        (-5_000, 35_000),
        (-5_001, 0),
    ] {
        let world = World::new(Report);
        assert_eq!(
            world.invoke(900, &[("r30s-0", 1, age, None, "ok")]).await,
            Ok(vec![])
        );
        assert_eq!(
            world.seen.handled.lock().unwrap()[0].2,
            handled_at,
            "age {age}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_due_in_time_is_handed_back_a_second_before_the_deadline_and_not_at_once() {
    let world = World::new(Report);
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("r30s-0", 1, 20_000, None, "ok"),
                ("r5m-0", 2, 200_000, None, "late"),
            ],
        )
        .await;
    assert_eq!(answer, Ok(vec!["r5m-0 2".to_owned()]));
    assert_eq!(world.clock.passed_ms(), 59_000);
    assert_eq!(world.seen.handled(), ["ok"]);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_due_when_no_call_fits_any_more_comes_back_at_once() {
    let world = World::new(Report);
    // Due after 50 s of 60; a call needs 10 s and its produce 5 s.
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("r5m-0", 1, 250_000, None, "ok"),
                ("r5m-0", 2, 249_000, None, "later"),
            ],
        )
        .await;
    assert_eq!(answer, Ok(vec!["r5m-0 1".to_owned(), "r5m-0 2".to_owned()]));
    assert_eq!(world.clock.passed_ms(), 50_000);
    assert!(world.seen.handled().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_event_of_several_partitions_waits_a_minute_at_most() {
    let world = World::new(Report);
    let answer = world
        .invoke(
            900,
            &[
                ("r5m-0", 1, 300_000, None, "ok"),
                ("r5m-1", 2, 200_000, None, "ok"),
            ],
        )
        .await;
    assert_eq!(answer, Ok(vec!["r5m-1 2".to_owned()]));
    assert_eq!(world.clock.passed_ms(), 60_000);
}

#[tokio::test(start_paused = true)]
async fn a_function_whose_time_admits_no_call_fails_at_once_and_runs_nothing() {
    let world = World::new(Report);
    assert_eq!(
        world.invoke(14, &[("main-0", 1, 0, None, "ok")]).await,
        Err("TimeoutTooShort")
    );
    assert_eq!(
        (world.clock.passed_ms(), world.seen.handled().len()),
        (0, 0)
    );
    assert_eq!(
        world.invoke(16, &[("main-0", 1, 0, None, "ok")]).await,
        Ok(vec![])
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_stop_finds_unstarted_is_handed_back_and_what_runs_is_finished() {
    let world = World::new(Report);
    let records = [
        ("main-0", 1, 0, Some("a"), "slow 300"),
        ("main-0", 2, 0, Some("a"), "ok"),
        ("r30s-0", 3, 0, None, "ok"),
    ];
    let stopping = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        world.stop.stop();
    };
    let (answer, ()) = tokio::join!(world.invoke(MINUTE, &records), stopping);
    assert_eq!(
        answer,
        Ok(vec!["main-0 2".to_owned(), "r30s-0 3".to_owned()])
    );
    assert_eq!(world.clock.passed_ms(), 300);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_comes_back_is_handed_back_in_time_and_condemned_after_it_did_so_alone()
 {
    let mut world = World::new(Report);
    let records = [("main-0", 1, 0, None, "hang"), ("main-0", 2, 0, None, "ok")];
    let mut invocations = 0;
    loop {
        let before = world.clock.passed_ms();
        let answer = world.invoke(MINUTE, &records).await.unwrap();
        assert!(world.clock.passed_ms() - before <= 59_500);
        invocations += 1;
        if answer.is_empty() {
            break;
        }
        assert!(invocations < 6, "bounded");
        world = world.restarted();
    }
    let dead = world.seen.produced_to("dlq");
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].headers.text("dlq-reason"), Some("crashed"));
    assert_eq!(dead[0].headers.text("error.code"), Some("handler.crashed"));
}

#[tokio::test(start_paused = true)]
async fn a_handler_out_of_time_hands_its_record_back_and_ends_the_invocation() {
    let world = World::new(Report);
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("main-0", 1, 0, None, "no-time"),
                ("r30s-0", 2, 0, None, "ok"),
            ],
        )
        .await;
    assert_eq!(
        answer,
        Ok(vec!["main-0 1".to_owned(), "r30s-0 2".to_owned()])
    );
    assert_eq!(world.clock.passed_ms(), 0);
}

#[tokio::test(start_paused = true)]
async fn of_several_records_that_kill_each_is_dead_lettered_once() {
    let mut world = World::new(Report);
    let records = [
        ("main-0", 1, 0, None, "hang"),
        ("main-0", 2, 0, None, "hang"),
        ("main-0", 3, 0, None, "hang"),
        ("main-0", 4, 0, None, "ok"),
    ];
    for invocation in 1.. {
        // Everything comes again, as after a death that leaves no answer.
        let answer = world.invoke(MINUTE, &records).await.unwrap();
        if answer.is_empty() {
            break;
        }
        assert!(invocation < 12, "bounded");
        world = world.restarted();
    }
    let mut dead: Vec<String> = world
        .seen
        .produced_to("dlq")
        .iter()
        .map(|dead| dead.headers.text("original.offset").unwrap().to_owned())
        .collect();
    dead.sort();
    assert_eq!(dead, ["1", "2", "3"]);
}
