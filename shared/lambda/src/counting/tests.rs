use crate::invocation::BatchFailures::{Raise, Report};
use crate::sim::{OrdersStep, Sent, Weather, World, text};

const MINUTE: u64 = 60;

/// Delivers the same records until all are done; returns what each invocation handed back.
async fn until_done(world: &World<OrdersStep>, records: &[Sent<'_>]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for _ in 0..20 {
        let handed_back = world.invoke(MINUTE, records).await.unwrap();
        let done = handed_back.is_empty();
        all.push(handed_back);
        if done {
            return all;
        }
    }
    panic!("never done: {all:?}");
}

fn attempts_at(world: &World<OrdersStep>, value: &str) -> usize {
    let handled = world.seen.handled();
    handled.iter().filter(|handled| *handled == value).count()
}

#[tokio::test(start_paused = true)]
async fn the_third_failure_dead_letters_a_record_in_its_own_invocation_and_the_others_go_on_at_once()
 {
    for (value, reason, class) in [
        ("permanent", "declined", "permanent"),
        ("transient", "exhausted", "transient"),
        ("panic", "panic", "permanent"),
    ] {
        let world = World::of_orders(Report);
        let records = [
            ("orders-0", 1, 0, Some("a"), "ok 1"),
            ("orders-0", 2, 0, Some("p"), value),
            ("orders-0", 3, 0, Some("b"), "ok 3"),
            ("orders-0", 4, 0, Some("p"), "ok 4"),
            ("orders-0", 5, 0, None, "ok 5"),
        ];
        let handed_back = until_done(&world, &records).await;
        let behind = ["orders-0 2", "orders-0 4"].map(str::to_owned).to_vec();
        assert_eq!(handed_back, [behind.clone(), behind, vec![]], "{value}");
        assert_eq!(attempts_at(&world, value), 3, "{value}");
        for others in ["ok 1", "ok 3", "ok 4", "ok 5"] {
            assert_eq!(attempts_at(&world, others), 1, "{others} beside {value}");
        }
        let dead = world.seen.produced_to("orders.dlq");
        assert_eq!(dead.len(), 1, "{value}");
        assert_eq!(dead[0].headers.text("dlq-reason"), Some(reason));
        assert_eq!(dead[0].headers.text("error.class"), Some(class));
        assert_eq!(dead[0].headers.text("original.offset"), Some("2"));
        assert_eq!(text(dead[0].value.as_ref()), value);
        assert!(
            world.clock.passed_ms() < 1_000,
            "a failure does not hold the answer"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_schema_version_is_dead_lettered_at_once() {
    let world = World::of_orders(Report);
    let records = [("orders-0", 1, 0, None, "version")];
    assert_eq!(world.invoke(MINUTE, &records).await, Ok(vec![]));
    let dead = world.seen.produced_to("orders.dlq");
    assert_eq!(dead[0].headers.text("dlq-reason"), Some("schema-version"));
}

#[tokio::test(start_paused = true)]
async fn the_count_follows_the_place_and_not_what_lies_there() {
    let world = World::of_orders(Report);
    for value in ["permanent", "transient"] {
        let records = [
            ("orders-0", 1, 0, None, value),
            ("orders-1", 1, 0, None, "transient"),
        ];
        let handed_back = world.invoke(MINUTE, &records).await.unwrap();
        assert_eq!(handed_back, ["orders-0 1", "orders-1 1"]);
    }
    // The class of the last failure is what is told.
    let records = [
        ("orders-0", 1, 0, None, "permanent"),
        ("orders-0", 2, 0, None, "transient"),
    ];
    assert_eq!(
        world.invoke(MINUTE, &records).await,
        Ok(vec!["orders-0 2".to_owned()])
    );
    let dead = world.seen.produced_to("orders.dlq");
    assert_eq!(dead[0].headers.text("dlq-reason"), Some("declined"));
    assert_eq!(dead.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_was_done_or_dead_lettered_starts_from_zero() {
    for end in ["ok", "transient"] {
        let world = World::of_orders(Report);
        let deliver = async |value| {
            world
                .invoke(MINUTE, &[("orders-0", 1, 0, None, value)])
                .await
        };
        for value in ["transient", "transient"] {
            assert_eq!(deliver(value).await.unwrap().len(), 1);
        }
        assert_eq!(deliver(end).await, Ok(vec![]));
        // As from a group that reads the topic from its start again.
        for value in ["transient", "transient"] {
            assert_eq!(deliver(value).await.unwrap().len(), 1, "after {end}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_the_dead_letter_topic_is_away_the_record_stays_and_is_written_once_when_it_is_back()
{
    let world = World::of_orders(Report);
    world.seen.weather("orders.dlq", Weather::Away);
    let records = [
        ("orders-0", 1, 0, Some("p"), "permanent"),
        ("orders-0", 2, 0, Some("p"), "ok"),
    ];
    let before_the_fault = 2;
    for invocation in 0..before_the_fault + 40 {
        let started = world.clock.passed_ms();
        let handed_back = world.invoke(MINUTE, &records).await.unwrap();
        assert_eq!(handed_back, ["orders-0 1", "orders-0 2"], "{invocation}");
        let took = world.clock.passed_ms() - started;
        let is_held = took >= 1_000;
        assert_eq!(is_held, invocation >= before_the_fault, "{took} ms");
    }
    assert!(world.clock.passed_ms() > 600_000, "longer than most faults");
    assert_eq!(world.seen.produced.lock().unwrap().len(), 0);
    assert_eq!(attempts_at(&world, "ok"), 0);
    world.seen.weather("orders.dlq", Weather::Takes(5));
    assert_eq!(until_done(&world, &records).await.len(), 1);
    assert_eq!(world.seen.produced_to("orders.dlq").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_count_outlives_a_dead_letter_topic_that_is_away_for_hours() {
    let world = World::of_orders(Report);
    world.seen.weather("orders.dlq", Weather::Away);
    let records = [("orders-0", 1, 0, None, "permanent")];
    for _ in 0..2 {
        world.invoke(MINUTE, &records).await.unwrap();
    }
    while world.clock.passed_ms() < 3 * 3_600_000 {
        let started = world.clock.passed_ms();
        world.invoke(900, &records).await.unwrap();
        let took = world.clock.passed_ms() - started;
        assert!(took >= 5_000, "it was not tried to dead-letter it");
    }
    world.seen.weather("orders.dlq", Weather::Takes(5));
    assert_eq!(until_done(&world, &records).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_dead_letter_topic_refuses_is_spilled() {
    let world = World::of_orders(Report);
    world.seen.weather("orders.dlq", Weather::Refuses);
    *world.seen.store_away.lock().unwrap() = true;
    let records = [("orders-0", 7, 0, None, "permanent")];
    for _ in 0..5 {
        let handed_back = world.invoke(MINUTE, &records).await.unwrap();
        assert_eq!(handed_back, ["orders-0 7"]);
    }
    *world.seen.store_away.lock().unwrap() = false;
    assert_eq!(world.invoke(MINUTE, &records).await, Ok(vec![]));
    let keys: Vec<String> = world.seen.objects.lock().unwrap().keys().cloned().collect();
    assert!(
        keys.iter()
            .any(|key| key.starts_with("spill/orders-0-00000000000000000007-")),
        "{keys:?}"
    );
    assert!(keys.iter().any(|key| key.starts_with("incidents/")));
}

#[tokio::test(start_paused = true)]
async fn where_the_answer_is_ignored_the_batch_fails_until_its_poison_is_dead_lettered() {
    let world = World::of_orders(Raise);
    let records = [
        ("orders-0", 1, 0, Some("a"), "ok 1"),
        ("orders-0", 2, 0, Some("p"), "permanent"),
        ("orders-0", 3, 0, Some("b"), "ok 3"),
        ("orders-0", 4, 0, Some("p"), "ok 4"),
        ("orders-1", 1, 0, Some("q"), "transient"),
    ];
    for _ in 0..2 {
        assert_eq!(
            world.invoke(MINUTE, &records).await,
            Err("RecordsHandedBack")
        );
    }
    assert_eq!(world.invoke(MINUTE, &records).await, Ok(vec![]));
    for value in ["ok 1", "ok 3", "ok 4"] {
        assert_eq!(attempts_at(&world, value), 1, "{value}");
    }
    assert_eq!(attempts_at(&world, "permanent"), 3);
    assert_eq!(world.seen.produced_to("orders.dlq").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_in_an_invocation_that_fails_is_not_written_again() {
    let world = World::of_orders(Raise);
    let first = ("orders-0", 1, 0, None, "permanent");
    assert!(world.invoke(MINUTE, &[first]).await.is_err());
    let both = [first, ("orders-0", 2, 0, None, "transient")];
    for _ in 0..2 {
        assert!(world.invoke(MINUTE, &both).await.is_err());
    }
    assert_eq!(world.seen.produced_to("orders.dlq").len(), 1);
    assert_eq!(world.invoke(MINUTE, &both).await, Ok(vec![]));
    let dead = world.seen.produced_to("orders.dlq");
    let offsets: Vec<_> = dead
        .iter()
        .map(|dead| dead.headers.text("original.offset").unwrap())
        .collect();
    assert_eq!(offsets, ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_ends_its_process_is_dead_lettered_as_crashed_whatever_the_count() {
    let mut world = World::of_orders(Report);
    let records = [
        ("orders-0", 1, 0, None, "hang"),
        ("orders-0", 2, 0, None, "ok"),
    ];
    let mut invocations = 0;
    while !world.invoke(MINUTE, &records).await.unwrap().is_empty() {
        invocations += 1;
        assert!(invocations < 6, "bounded");
        world = world.restarted();
    }
    let dead = world.seen.produced_to("orders.dlq");
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].headers.text("dlq-reason"), Some("crashed"));
    assert_eq!(dead[0].headers.text("retry.count"), Some("0"));
}

#[tokio::test(start_paused = true)]
async fn another_process_starts_from_zero() {
    let mut world = World::of_orders(Report);
    let records = [("orders-0", 1, 0, None, "permanent")];
    for _ in 0..2 {
        assert_eq!(world.invoke(MINUTE, &records).await.unwrap().len(), 1);
    }
    world = world.restarted();
    assert_eq!(until_done(&world, &records).await.len(), 3);
    assert_eq!(attempts_at(&world, "permanent"), 5);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_for_which_no_time_is_left_is_no_failure() {
    let world = World::of_orders(Report);
    let records = [("orders-0", 1, 0, None, "no-time")];
    for _ in 0..10 {
        assert_eq!(world.invoke(MINUTE, &records).await.unwrap().len(), 1);
    }
    assert!(world.seen.produced.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_order_on_a_topic_that_is_not_read_is_handed_back_and_never_forwarded() {
    let world = World::of_orders(Report);
    let records = [
        ("invoices-0", 1, 0, None, "permanent"),
        ("orders.dlq-0", 2, 0, None, "ok"),
    ];
    for _ in 0..4 {
        let handed_back = world.invoke(MINUTE, &records).await.unwrap();
        assert_eq!(handed_back, ["invoices-0 1", "orders.dlq-0 2"]);
    }
    assert!(world.seen.handled().is_empty());
    assert!(world.seen.produced.lock().unwrap().is_empty());
    let payload = r#"{"records":{"invoices-0":["nonsense"]}}"#;
    let error = world.run(payload, 60).await.unwrap_err();
    assert!(error.to_string().contains("no stage"), "{error}");
    assert!(world.seen.produced.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_no_record_is_dead_lettered_at_once_and_its_neighbours_run() {
    let world = World::of_orders(Report);
    let payload = r#"{"records":{"orders-0":[{"topic":"orders","partition":0,"offset":7,"value":"%%"},"nonsense",
        {"topic":"orders","partition":0,"offset":8,"timestamp":1,"value":"b2s="}]}}"#;
    let answer = world.run(payload, 60).await.unwrap();
    assert!(answer.is_all_done());
    assert_eq!(world.seen.handled(), ["ok"]);
    let dead = world.seen.produced_to("orders.dlq");
    let reasons: Vec<_> = dead
        .iter()
        .map(|dead| dead.headers.text("dlq-reason"))
        .collect();
    assert_eq!(reasons, [Some("json"), Some("json")]);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_does_not_come_again_for_an_hour_starts_from_zero() {
    let world = World::of_orders(Report);
    let records = [("orders-0", 1, 0, None, "permanent")];
    for _ in 0..2 {
        assert_eq!(world.invoke(MINUTE, &records).await.unwrap().len(), 1);
    }
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    assert_eq!(until_done(&world, &records).await.len(), 3);
}
