use std::collections::BTreeSet;

use bytes::Bytes;
use pipeline::headers::names;
use serde_json::json;

use super::world::*;
use crate::Entry;

#[tokio::test(start_paused = true)]
async fn every_dead_letter_goes_back_whole_and_says_where_from() {
    let world = world(3, 40);
    let answer = world.run(&json!({ "all": true })).await;
    check_once(&world.returned(), &places(3, 40));
    assert_eq!(
        (answer.matched, answer.published, answer.complete),
        (120, 120, true)
    );
    let produced = world.main.produced.lock().unwrap();
    for (time, outgoing) in produced.iter() {
        let headers = &outgoing.headers;
        let from = headers.only_text(names::REPLAY_FROM_DLQ).unwrap();
        assert_eq!(outgoing.value.as_deref(), Some(from.as_bytes()));
        assert_eq!(outgoing.topic, topic("main"));
        assert!(outgoing.key.is_some());
        assert_eq!(headers.only_text(names::RETRY_COUNT), Some("0"));
        assert_eq!(headers.only_text(names::REPLAY_COUNT), Some("1"));
        assert_eq!(
            headers.only_text(names::REPLAY_ID),
            Some(answer.replay_id.as_str())
        );
        assert_eq!(
            headers.only_text(names::REPLAY_TIMESTAMP),
            time.to_rfc3339().as_deref()
        );
        assert_eq!(headers.only_text("traceparent"), Some("00-1-1-00"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_publishes_nothing_and_counts_what_a_real_one_does() {
    let world = world(2, 700);
    let dry = world.run(&json!({ "dry_run": true })).await;
    assert_eq!(world.returned(), [""; 0]);
    assert_eq!((dry.published, dry.to_publish), (0, Some(1_400)));
    let real = world
        .run(&json!({ "all": true, "rate_per_second": 0 }))
        .await;
    assert_eq!((real.published, real.to_publish), (1_400, None));
    assert_eq!(
        (
            dry.matched,
            &dry.skipped,
            &dry.by_error_class,
            &dry.by_error_code,
            dry.bytes
        ),
        (
            real.matched,
            &real.skipped,
            &real.by_error_class,
            &real.by_error_code,
            real.bytes
        )
    );
    assert_eq!(
        (dry.oldest, dry.newest, dry.sample),
        (real.oldest, real.newest, real.sample)
    );
}

#[tokio::test(start_paused = true)]
async fn row_79_the_answer_says_that_nothing_matched() {
    let world = world(2, 10);
    for dry_run in [false, true] {
        let answer = world
            .run(&json!({ "key": "nobody", "dry_run": dry_run }))
            .await;
        let mut expected = json!({
            "replay_id": answer.replay_id, "dry_run": dry_run, "matched": 0, "published": 0,
            "skipped": { "already-replayed": 0, "max-replays": 0, "unreadable-headers": 0 },
            "failed": 0, "by_error_class": {}, "by_error_code": {}, "bytes": 0, "oldest": null, "newest": null,
            "sample": [], "complete": true,
        });
        if dry_run {
            expected["to_publish"] = json!(0);
            expected["plan"] = json!(answer.plan);
        }
        assert_eq!(serde_json::to_value(&answer).unwrap(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_tells_what_it_did() {
    let world = world(1, 12);
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!(
        serde_json::to_value(&answer).unwrap(),
        json!({
            "replay_id": answer.replay_id, "dry_run": false, "matched": 12, "published": 12,
            "skipped": { "already-replayed": 0, "max-replays": 0, "unreadable-headers": 0 },
            "failed": 0, "by_error_class": { "transient": 12 }, "by_error_code": { "provider.timeout": 12 },
            "bytes": 10 * 7 + 2 * 8, "oldest": "2025-08-23T07:10:41.805Z", "newest": "2025-08-23T07:10:41.816Z",
            "sample": (0..10).map(|o| format!("dlq/0/{o}")).collect::<Vec<_>>(), "complete": true,
        })
    );
}

#[tokio::test(start_paused = true)]
async fn row_81_empty_polls_and_gaps_are_not_the_end() {
    let world = world(3, 30);
    {
        let mut dlq = world.dlq.lock().unwrap();
        (dlq.empty_polls, dlq.chunk) = (3, 7);
        for slots in dlq.partitions.values_mut() {
            slots.extend([Slot::Gap, Slot::Gap]);
            slots[5] = Slot::Gap;
        }
        dlq.partitions.insert(3, vec![Slot::Gap; 4]);
        dlq.partitions.insert(4, vec![]);
    }
    let answer = world.run(&json!({ "all": true })).await;
    let without_gap: BTreeSet<String> = places(3, 30)
        .into_iter()
        .filter(|place| !place.ends_with("/5"))
        .collect();
    check_once(&world.returned(), &without_gap);
    assert!(answer.complete);
}

#[tokio::test(start_paused = true)]
async fn what_dies_while_the_run_goes_on_is_not_read() {
    let world = world(2, 50);
    let dlq = std::sync::Arc::clone(&world.dlq);
    world.set_rule(move |_| {
        let mut dlq = dlq.lock().unwrap();
        let slots = dlq.partitions.get_mut(&0).unwrap();
        slots.push(slot(dead_letter(0, i64::try_from(slots.len()).unwrap())));
        Reply::Ok
    });
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!((answer.matched, answer.complete), (100, true));
    check_once(&world.returned(), &places(2, 50));
}

#[tokio::test(start_paused = true)]
async fn row_86_a_payment_whose_cause_is_not_mended_stops_cycling() {
    let world = world(1, 1);
    let mut published = 0;
    for round in 1..=6_i64 {
        let answer = world.run(&json!({ "all": true })).await;
        published += answer.published;
        assert_eq!(
            answer.skipped["max-replays"],
            u64::from(round > 3),
            "round {round}"
        );
        // It dies again, with the headers it went back with.
        let last = world.main.produced.lock().unwrap().last().cloned();
        let mut dead = dead_letter(0, 0);
        dead.headers = last.unwrap().1.headers;
        dead.timestamp = BEGIN.plus_millis(round);
        world
            .dlq
            .lock()
            .unwrap()
            .partitions
            .insert(0, vec![slot(dead)]);
    }
    assert_eq!(published, 3);
}

#[tokio::test(start_paused = true)]
async fn row_86_null_or_garbage_in_the_count_stays_and_nothing_crashes() {
    let world = world(1, 3);
    for (index, value) in [None, Some(&b"many"[..]), Some(&[0xff][..])]
        .into_iter()
        .enumerate()
    {
        let mut dead = dead_letter(0, i64::try_from(index).unwrap());
        dead.headers
            .push(names::REPLAY_COUNT, value.map(Bytes::from_static));
        world.dlq.lock().unwrap().partitions.get_mut(&0).unwrap()[index] = slot(dead);
    }
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!(
        (
            answer.matched,
            answer.skipped["max-replays"],
            answer.published
        ),
        (3, 3, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_stays_and_the_run_goes_on() {
    let world = world(1, 5);
    let unreadable = Entry::Unreadable {
        at: "dlq/0/2".parse().unwrap(),
        time: BEGIN,
    };
    world.dlq.lock().unwrap().partitions.get_mut(&0).unwrap()[2] = Slot::Entry(unreadable);
    let answer = world.run(&json!({ "error_class": "transient" })).await;
    assert_eq!(
        (answer.published, answer.skipped["unreadable-headers"]),
        (4, 1)
    );
    assert_eq!(answer.by_error_class["unknown"], 1);
}

#[tokio::test(start_paused = true)]
async fn filters_and_lists_choose_exactly() {
    let check = async |payload: serde_json::Value, expected: &[&str]| {
        let world = world(3, 5);
        let answer = world.run(&payload).await;
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        check_once(&world.returned(), &expected);
        assert!(answer.complete, "{payload}");
    };
    check(
        json!({ "records": ["dlq/0/1", "dlq/2/0", "dlq/2/4", "dlq/2/5", "dlq/9/0"] }),
        &["dlq/0/1", "dlq/2/0", "dlq/2/4"],
    )
    .await;
    check(
        json!({ "key": "k-1", "records": ["dlq/0/1", "dlq/1/3"] }),
        &["dlq/1/3"],
    )
    .await;
    // Dead letters die 1 ms apart, from 100 s ago on.
    check(
        json!({ "since": "2025-08-23T07:10:41.806Z", "until": "2025-08-23T07:10:41.808Z", "key": "k-0" }),
        &["dlq/0/1", "dlq/0/2"],
    )
    .await;
    check(json!({ "since": "1s" }), &[]).await;
    check(json!({ "until": "2m" }), &[]).await;
    check(json!({ "error_code": "provider.declined" }), &[]).await;
}

#[tokio::test(start_paused = true)]
async fn times_that_are_not_in_order_are_each_looked_at() {
    let world = world(1, 6);
    {
        let mut dlq = world.dlq.lock().unwrap();
        let slots = dlq.partitions.get_mut(&0).unwrap();
        for (index, ago) in [50, 500, 40, 700, 30, 600].into_iter().enumerate() {
            let mut dead = dead_letter(0, i64::try_from(index).unwrap());
            dead.timestamp = BEGIN.plus_millis(-ago * 1_000);
            slots[index] = slot(dead);
        }
    }
    world.run(&json!({ "since": "100s" })).await;
    assert_eq!(world.returned(), ["dlq/0/0", "dlq/0/2", "dlq/0/4"]);
}

#[tokio::test(start_paused = true)]
async fn places_that_hold_no_dead_letter_are_named_and_not_matched() {
    let check = async |records: &[&str], since: Option<&str>, published: u64, missing: &[&str]| {
        let world = world(2, 30);
        {
            let mut dlq = world.dlq.lock().unwrap();
            dlq.chunk = 7;
            let slots = dlq.partitions.get_mut(&0).unwrap();
            (slots[5], slots[29]) = (Slot::Gap, Slot::Gap);
        }
        for dry_run in [true, false] {
            let mut payload = json!({ "records": records, "dry_run": dry_run });
            if let Some(since) = since {
                payload["since"] = since.into();
            }
            let answer = world.run(&payload).await;
            let sent = answer.to_publish.unwrap_or(answer.published);
            assert_eq!(
                (answer.matched, sent),
                (published, published),
                "{records:?}"
            );
            assert_eq!(answer.missing, missing, "{records:?}");
            assert!(answer.complete, "{records:?}");
        }
    };
    check(&["dlq/0/3"], None, 1, &[]).await;
    check(
        &["dlq/0/30", "dlq/0/9999", "dlq/7/0"],
        None,
        0,
        &["dlq/0/30", "dlq/0/9999", "dlq/7/0"],
    )
    .await;
    check(
        &["dlq/0/4", "dlq/0/5", "dlq/0/6", "dlq/0/28", "dlq/1/5"],
        None,
        4,
        &["dlq/0/5"],
    )
    .await;
    check(&["dlq/0/5"], None, 0, &["dlq/0/5"]).await;
    check(&["dlq/0/29", "dlq/1/29"], None, 1, &["dlq/0/29"]).await;
    // It is there, and another filter leaves it out.
    check(
        &["dlq/1/0", "dlq/1/29"],
        Some("2025-08-23T07:10:41.806Z"),
        1,
        &[],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_expires_between_two_invocations_is_named_by_the_second() {
    let world = world(1, 30);
    let records: Vec<String> = (0..20).map(|offset| format!("dlq/0/{offset}")).collect();
    let first = world.run(&json!({ "records": records, "limit": 5 })).await;
    assert_eq!((first.published, first.missing.len()), (5, 0));
    for slot in &mut world.dlq.lock().unwrap().partitions.get_mut(&0).unwrap()[..8] {
        *slot = Slot::Gap;
    }
    let payload = json!({ "resume": first.resume, "limit": 50 });
    let second = world.run(&payload).await;
    assert_eq!(second.missing, ["dlq/0/5", "dlq/0/6", "dlq/0/7"]);
    assert_eq!((second.published, second.complete), (12, true));
}
