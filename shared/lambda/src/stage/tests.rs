mod in_time;

use crate::invocation::BatchFailures::{Raise, Report};
use crate::sim::{Weather, World, text};

const MINUTE: u64 = 60;

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_handled_answers_an_empty_list() {
    let world = World::new(Raise);
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("main-0", 1, 0, Some("a"), "ok"),
                ("main-1", 1, 0, None, "ok"),
            ],
        )
        .await;
    assert_eq!(answer, Ok(vec![]));
    assert!(world.seen.produced.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failed_record_goes_to_exactly_one_place() {
    for (topic, value, to, reason) in [
        ("main-0", "transient", "r30s", None),
        ("r30s-0", "transient", "r5m", None),
        ("r5m-0", "transient", "dlq", Some("exhausted")),
        ("main-0", "permanent", "dlq", Some("declined")),
        ("r30s-0", "permanent", "dlq", Some("declined")),
        ("r5m-0", "permanent", "dlq", Some("declined")),
        ("main-0", "panic", "dlq", Some("panic")),
    ] {
        let world = World::new(Report);
        let answer = world
            .invoke(MINUTE, &[(topic, 4, 3_600_000, Some("k"), value)])
            .await;
        assert_eq!(answer, Ok(vec![]));
        let produced = world.seen.produced.lock().unwrap().clone();
        assert_eq!(produced.len(), 1, "{value} on {topic}");
        assert_eq!(produced[0].topic.as_str(), to);
        assert_eq!(produced[0].headers.text("dlq-reason"), reason);
        assert_eq!(
            (
                text(produced[0].key.as_ref()),
                text(produced[0].value.as_ref())
            ),
            ("k", value)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_record_of_a_key_is_handed_back_later_ones_of_it_are_not_run_and_other_keys_are() {
    let world = World::new(Report);
    world.seen.weather("r30s", Weather::Away);
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("main-0", 1, 0, Some("a"), "ok 1"),
                ("main-0", 2, 0, Some("a"), "transient 2"),
                ("main-0", 3, 0, Some("a"), "ok 3"),
                ("main-0", 4, 0, Some("b"), "ok 4"),
                ("main-1", 5, 0, Some("a"), "ok 5"),
                ("main-0", 6, 0, None, "transient 6"),
                ("main-0", 7, 0, None, "ok 7"),
                ("main-0", 8, 0, Some(""), "transient 8"),
                ("main-0", 9, 0, Some(""), "ok 9"),
            ],
        )
        .await;
    assert_eq!(
        answer,
        Ok(["main-0 2", "main-0 3", "main-0 6", "main-0 8", "main-0 9"]
            .map(str::to_owned)
            .to_vec())
    );
    let handled = world.seen.handled();
    for (value, expected) in [
        ("ok 1", true),
        ("ok 3", false),
        ("ok 4", true),
        ("ok 5", true),
        ("ok 7", true),
        ("ok 9", false),
    ] {
        assert_eq!(handled.contains(&value.to_owned()), expected, "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_run_beside_each_other_up_to_the_concurrency() {
    let world = World::new(Report);
    let keys: Vec<String> = (0..100).map(|key| key.to_string()).collect();
    let records: Vec<_> = (0..)
        .zip(&keys)
        .map(|(n, key)| ("main-0", n, 0, Some(key.as_str()), "slow 200"))
        .collect();
    assert_eq!(world.invoke(MINUTE, &records).await, Ok(vec![]));
    let passed = world.clock.passed_ms();
    assert!(
        (800..900).contains(&passed),
        "4 rounds of 32 take {passed} ms"
    );
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_away_hands_records_back_and_holds_the_answer_longer_each_time() {
    let world = World::new(Report);
    world.seen.weather("r30s", Weather::Away);
    let mut before = 0;
    for held in [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
        let answer = world
            .invoke(
                MINUTE,
                &[
                    ("main-0", 1, 0, None, "transient"),
                    ("main-0", 2, 0, None, "ok"),
                ],
            )
            .await;
        assert_eq!(answer, Ok(vec!["main-0 1".to_owned()]));
        assert_eq!(world.clock.passed_ms() - before, 5_000 + held);
        before = world.clock.passed_ms();
    }
    assert_eq!(
        world
            .seen
            .handled()
            .iter()
            .filter(|value| *value == "ok")
            .count(),
        1,
        "what is done is not run again"
    );
    world.seen.weather("r30s", Weather::Takes(5));
    assert_eq!(
        world
            .invoke(MINUTE, &[("main-0", 1, 0, None, "transient")])
            .await,
        Ok(vec![])
    );
    assert_eq!(world.seen.produced_to("r30s").len(), 1);
    assert_eq!(world.clock.passed_ms() - before, 5);
}

#[tokio::test(start_paused = true)]
async fn a_hold_never_outlasts_the_answer() {
    let world = World::new(Report);
    world.seen.weather("r30s", Weather::Away);
    for _ in 0..8 {
        let before = world.clock.passed_ms();
        world
            .invoke(20, &[("main-0", 1, 0, None, "transient")])
            .await
            .unwrap();
        assert!(world.clock.passed_ms() - before <= 19_500);
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_answer_is_ignored_the_invocation_fails_and_what_was_done_is_not_run_again() {
    let world = World::new(Raise);
    world.seen.weather("r30s", Weather::Away);
    let records = [
        ("main-0", 1, 0, None, "ok"),
        ("main-0", 2, 0, None, "transient"),
        ("main-1", 3, 0, None, "permanent"),
    ];
    assert_eq!(
        world.invoke(MINUTE, &records).await,
        Err("RecordsHandedBack")
    );
    world.seen.weather("r30s", Weather::Takes(5));
    assert_eq!(world.invoke(MINUTE, &records).await, Ok(vec![]));
    assert_eq!(
        world.seen.handled(),
        ["ok", "transient", "permanent", "transient"]
    );
    assert_eq!(world.seen.produced_to("dlq").len(), 1);
    assert_eq!(world.invoke(MINUTE, &records[..1]).await, Ok(vec![]));
    assert_eq!(
        world.seen.handled().len(),
        5,
        "forgotten after the clean answer"
    );
}

#[tokio::test(start_paused = true)]
async fn the_answer_never_comes_before_the_brokers() {
    let world = World::new(Report);
    world.seen.weather("r30s", Weather::Takes(4_900));
    assert_eq!(
        world
            .invoke(MINUTE, &[("main-0", 1, 0, None, "transient")])
            .await,
        Ok(vec![])
    );
    assert_eq!(world.clock.passed_ms(), 4_900);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_retry_topic_refuses_is_dead_lettered_and_one_that_no_topic_takes_is_spilled()
 {
    let world = World::new(Report);
    world.seen.weather("r30s", Weather::Refuses);
    assert_eq!(
        world
            .invoke(MINUTE, &[("main-0", 1, 0, None, "transient")])
            .await,
        Ok(vec![])
    );
    let dead = world.seen.produced_to("dlq");
    assert_eq!(dead[0].headers.text("dlq-reason"), Some("oversized"));
    world.seen.weather("dlq", Weather::Refuses);
    assert_eq!(
        world
            .invoke(MINUTE, &[("main-0", 2, 0, None, "transient")])
            .await,
        Ok(vec![])
    );
    let keys: Vec<String> = world.seen.objects.lock().unwrap().keys().cloned().collect();
    assert!(
        keys.iter()
            .any(|key| key.starts_with("spill/main-0-00000000000000000002-")),
        "{keys:?}"
    );
    assert!(
        keys.iter().any(|key| key.starts_with("incidents/")),
        "{keys:?}"
    );
    *world.seen.store_away.lock().unwrap() = true;
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("main-0", 3, 0, None, "transient"),
                ("main-0", 4, 0, None, "ok"),
            ],
        )
        .await;
    assert_eq!(answer, Ok(vec!["main-0 3".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_record_of_no_stage_is_handed_back_and_never_forwarded() {
    let world = World::new(Report);
    let answer = world
        .invoke(
            MINUTE,
            &[
                ("other-0", 1, 0, None, "permanent"),
                ("dlq-0", 2, 0, None, "ok"),
            ],
        )
        .await;
    assert_eq!(
        answer,
        Ok(vec!["dlq-0 2".to_owned(), "other-0 1".to_owned()])
    );
    assert!(world.seen.produced.lock().unwrap().is_empty());
    assert_eq!(
        world.clock.passed_ms(),
        1_000,
        "held, so that it does not spin"
    );
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_no_record_is_dead_lettered_as_it_stood_and_its_neighbours_run() {
    let world = World::new(Report);
    let payload = r#"{"records":{"main-0":[{"topic":"main","partition":0,"offset":7,"value":"%%"},"nonsense",
        {"topic":"main","partition":0,"offset":8,"timestamp":1,"value":"b2s="}]}}"#;
    let answer = world.run(payload, 60).await.unwrap();
    assert!(answer.is_all_done());
    assert_eq!(world.seen.handled(), ["ok"]);
    let dead = world.seen.produced_to("dlq");
    let values: Vec<&str> = dead.iter().map(|dead| text(dead.value.as_ref())).collect();
    assert!(
        values.contains(&r#"{"topic":"main","partition":0,"offset":7,"value":"%%"}"#),
        "{values:?}"
    );
    let nameless = dead
        .iter()
        .find(|dead| text(dead.value.as_ref()) == "\"nonsense\"")
        .unwrap();
    assert_eq!(
        nameless.headers.text("error.code"),
        Some("payload.malformed")
    );
    assert_eq!(nameless.headers.text("original.partition"), Some("0"));
    assert_eq!(nameless.headers.text("original.offset"), None);
    world.seen.weather("dlq", Weather::Away);
    let answer = world.run(payload, 60).await;
    assert_eq!(
        answer.unwrap_err().error_type(),
        "EntryNotDone",
        "what cannot be listed fails the invocation"
    );
}

#[tokio::test(start_paused = true)]
async fn a_payload_that_is_no_event_fails_by_name() {
    let world = World::new(Report);
    for payload in ["", "{", "null", "[]", "{}", r#"{"records":[]}"#] {
        let error = world.run(payload, 60).await.unwrap_err();
        assert_eq!(error.error_type(), "InvalidEvent", "{payload}");
    }
    assert!(
        world
            .run(r#"{"records":{}}"#, 60)
            .await
            .unwrap()
            .is_all_done()
    );
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_no_record_is_dead_lettered_once_however_often_it_is_delivered() {
    let world = World::new(Raise);
    world.seen.weather("r30s", Weather::Away);
    let payload = r#"{"records":{"main-0":[{"topic":"main","partition":0,"offset":7,"value":"%%"},
        {"topic":"main","partition":0,"offset":8,"timestamp":1,"value":"dHJhbnNpZW50"}]}}"#;
    for _ in 0..4 {
        assert!(world.run(payload, 60).await.is_err());
    }
    assert_eq!(world.seen.produced_to("dlq").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn entries_without_a_place_that_no_topic_takes_are_spilled_each_by_itself() {
    let world = World::new(Report);
    world.seen.weather("dlq", Weather::Refuses);
    let payload = r#"{"records":{"main-0":["first","second"]}}"#;
    assert!(world.run(payload, 60).await.unwrap().is_all_done());
    let objects = world.seen.objects.lock().unwrap().clone();
    let spilled: Vec<&[u8]> = objects
        .iter()
        .filter(|(key, _)| key.starts_with("spill/"))
        .map(|(_, body)| body.as_slice())
        .collect();
    assert_eq!(spilled.len(), 2);
    for raw in [&br#""first""#[..], br#""second""#] {
        assert!(spilled.contains(&raw));
    }
    assert_eq!(objects.len(), 4, "an incident each");
}
