use std::sync::atomic::Ordering;
use std::time::Duration;

use lambda::Clock;
use serde_json::json;

use super::world::*;

#[tokio::test(start_paused = true)]
async fn row_85_sixty_four_partitions_and_a_near_deadline_answer_in_time_with_a_token() {
    let world = world(64, 100);
    world.dlq.lock().unwrap().chunk_takes = Duration::from_millis(300);
    let mut payload = json!({ "all": true, "rate_per_second": 200 });
    let mut invocations = 0;
    loop {
        let answer = world.run_within(&payload, Duration::from_secs(13)).await;
        invocations += 1;
        assert!(answer.published > 0, "a run without progress never ends");
        let Some(token) = answer.resume else {
            break;
        };
        assert_eq!(
            (answer.complete, answer.stopped.as_deref()),
            (false, Some("deadline"))
        );
        payload = json!({ "resume": token });
    }
    check_once(&world.returned(), &places(64, 100));
    assert!(invocations > 3, "{invocations}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_over_many_partitions_adds_up_over_its_invocations() {
    let world = world(64, 50);
    world.dlq.lock().unwrap().chunk_takes = Duration::from_secs(1);
    let (mut payload, mut seen) = (json!({ "dry_run": true }), 0);
    loop {
        let answer = world.run_within(&payload, Duration::from_secs(4)).await;
        seen += answer.to_publish.unwrap();
        let Some(token) = answer.resume else {
            break;
        };
        payload = json!({ "resume": token });
    }
    assert_eq!((seen, world.returned().len()), (64 * 50, 0));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_is_too_near_for_a_produce_is_answered_honestly() {
    for millis in [1_100, 2_000, 5_499, 7_999] {
        let world = world(64, 10);
        let answer = world
            .run_within(&json!({ "all": true }), Duration::from_millis(millis))
            .await;
        assert_eq!(
            (answer.published, answer.complete, answer.stopped.as_deref()),
            (0, false, Some("deadline"))
        );
        assert_eq!(world.returned(), [""; 0]);
        world
            .run(&json!({ "resume": answer.resume.unwrap() }))
            .await;
        check_once(&world.returned(), &places(64, 10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_rate_that_would_outlast_the_time_is_not_begun() {
    let world = world(1, 5);
    let answer = world
        .run_within(
            &json!({ "all": true, "rate_per_second": 0.01 }),
            Duration::from_mins(1),
        )
        .await;
    assert_eq!(
        (answer.published, answer.stopped.as_deref()),
        (1, Some("deadline"))
    );
    assert!(
        world.clock.now().millis_since(BEGIN) < 1_000,
        "it slept for nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_hangs_is_given_up_in_time() {
    let world = world(2, 20);
    world.set_rule(|outgoing| match outgoing.value.as_deref() {
        Some(b"dlq/0/3") => Reply::Silence,
        _ => Reply::Ok,
    });
    let answer = world
        .run_within(&json!({ "all": true }), Duration::from_secs(20))
        .await;
    assert_eq!(
        (answer.complete, answer.stopped.as_deref()),
        (false, Some("broker"))
    );
    assert!(answer.fault.unwrap().contains("given up"));
    world.set_rule(|_| Reply::Ok);
    world
        .run(&json!({ "resume": answer.resume.unwrap() }))
        .await;
    check_once(&world.returned(), &places(2, 20));
}

#[tokio::test(start_paused = true)]
async fn told_to_stop_it_answers_with_a_token() {
    let world = world(3, 100);
    let ask = json!({ "all": true, "rate_per_second": 10 });
    let (answer, ()) = tokio::join!(world.run(&ask), async {
        world.clock.sleep_until(BEGIN.plus_millis(4_050)).await;
        world.stop.stop();
    });
    assert_eq!(
        (answer.complete, answer.stopped.as_deref()),
        (false, Some("stop"))
    );
    assert_eq!(answer.published, 41);
    assert!(world.clock.now().millis_since(BEGIN) < 4_200);
}

#[tokio::test(start_paused = true)]
async fn no_more_are_under_way_than_allowed_and_partitions_keep_their_order() {
    let world = world(2, 300);
    world
        .run(&json!({ "all": true, "rate_per_second": 0 }))
        .await;
    assert_eq!(world.main.most_at_once.load(Ordering::SeqCst), 4);
    let returned = world.returned();
    for partition in ["dlq/0/", "dlq/1/"] {
        let offsets: Vec<u32> = returned
            .iter()
            .filter_map(|place| place.strip_prefix(partition)?.parse().ok())
            .collect();
        assert!(offsets.is_sorted(), "{offsets:?}");
    }
}
