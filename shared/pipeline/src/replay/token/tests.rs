use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::replay::request::Terms;
use crate::{ErrorClass, ErrorCode, Topic};

fn topic(name: &str) -> Topic {
    name.parse().unwrap()
}

fn read(payload: &serde_json::Value) -> Result<Request, crate::replay::InvalidReplay> {
    let (from, to) = (topic("dlq"), topic("main"));
    Request::read(
        &payload.to_string(),
        &Terms {
            from: &from,
            to: &to,
            targets: &[topic("main")],
            new_id: "run-2",
            now: Timestamp::from_millis(1_755_933_141_855),
        },
    )
}

fn place() -> impl Strategy<Value = (Partition, Offset)> {
    (0..64, 0..1_000_i64).prop_map(|(p, o)| super::place(p, o).unwrap())
}

fn progress() -> impl Strategy<Value = Progress> {
    let lane = (0..500_i64, 500..=i64::MAX).prop_map(|(next, end)| Lane {
        next: Offset::new(next).unwrap(),
        end: Offset::new(end).unwrap(),
    });
    let partition = (0..64).prop_map(|p| Partition::new(p).unwrap());
    (btree_map(partition, lane, 0..64), btree_set(place(), 0..32))
        .prop_map(|(lanes, done)| Progress::new(lanes, done))
}

fn selection() -> impl Strategy<Value = Selection> {
    let time = || option::of(any::<i64>().prop_map(Timestamp::from_millis));
    let class = prop_oneof![
        Just(Told::Unknown),
        prop::sample::select(&ErrorClass::ALL[..]).prop_map(Told::Known)
    ];
    let code = prop_oneof![
        Just(Told::Unknown),
        prop::sample::select(ErrorCode::ALL).prop_map(Told::Known)
    ];
    let origin = "[a-z.]{3,9}x".prop_map(|name| topic(&name));
    (
        (time(), time()),
        option::of(class),
        option::of(code),
        option::of(any::<String>()),
        option::of(origin),
        option::of(btree_set(place(), 1..9)),
        1..=u64::MAX,
    )
        .prop_map(
            |((since, until), error_class, error_code, key, original_topic, records, max)| {
                Selection {
                    window: Window { since, until },
                    error_class,
                    error_code,
                    key,
                    original_topic,
                    records,
                    max_replays: max,
                }
            },
        )
}

proptest! {
    #[test]
    fn a_run_comes_back_from_its_token(
        selection in selection(),
        progress in progress(),
        dry_run: bool,
        limit in option::of((1..=u64::MAX, 0..=u64::MAX)),
        rate in 0_u32..10_000,
        again: bool,
        planned: bool,
        unrecorded in proptest::collection::vec((place(), any::<i64>()), 0..9),
    ) {
        let sha256 = "0123456789abcdef".repeat(4);
        let limit = limit.map(|(each, left)| Limit { each, left: left.min(each) });
        let request = Request {
            replay_id: "0b5e3f1c-run".to_owned(),
            from: topic("dlq"),
            to: topic("main"),
            dry_run,
            selection,
            limit,
            rate: Rate::per_second(f64::from(rate) / 4.0).unwrap(),
            again,
            plan: planned.then(|| format!("run-1@{sha256}").parse().unwrap()),
            progress: Some(progress.clone()),
            carried: Carried {
                unrecorded: unrecorded
                    .into_iter()
                    .map(|((partition, offset), time)| Place {
                        partition,
                        offset,
                        time: Timestamp::from_millis(time),
                    })
                    .collect(),
                parts: vec![PlanPart { sha256, records: 5, bytes: 7 }],
                not_before: Some(Timestamp::from_millis(7)),
            },
        };
        let token = request.token(&progress, &request.carried, limit);
        prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        prop_assert_eq!(read(&json!({ "resume": token })).unwrap(), request);
    }

    #[test]
    fn no_text_makes_a_token_that_does_harm(text: String) {
        let refused = read(&json!({ "resume": text }));
        prop_assert!(refused.is_err());
    }
}

fn wire() -> serde_json::Value {
    json!({
        "form": 1, "replay_id": "run-1", "from": "dlq", "to": "main", "dry_run": false, "max_replays": 3,
        "rate": 100.0, "limit": [10, 4], "lanes": [[0, 5, 9], [1, 0, 3]], "done_ahead": [[0, 7]],
    })
}

fn token(wire: &serde_json::Value) -> String {
    URL_SAFE_NO_PAD.encode(wire.to_string())
}

#[test]
fn a_token_that_no_run_can_have_written_is_refused() {
    assert!(read(&json!({ "resume": token(&wire()) })).is_ok());
    for (field, wrong) in [
        ("form", json!(2)),
        ("replay_id", json!("")),
        ("replay_id", json!("../plan")),
        ("replay_id", json!("x".repeat(65))),
        ("from", json!("a b")),
        ("to", json!("dlq")),
        ("to", json!("elsewhere")),
        ("dry_run", json!("no")),
        ("max_replays", json!(0)),
        ("rate", json!(-1)),
        ("limit", json!([0, 0])),
        ("limit", json!([4, 5])),
        ("error_class", json!("Transient")),
        ("error_code", json!("x")),
        ("original_topic", json!("..")),
        ("records", json!([[-1, 0]])),
        ("lanes", json!([[0, 5, 9], [0, 0, 3]])),
        ("lanes", json!([[0, -5, 9]])),
        ("lanes", json!([[0, 5]])),
        ("done_ahead", json!([[0, -7]])),
        ("plan", json!("run-1@x")),
        ("unrecorded", json!([[0, -1, 5]])),
        (
            "parts",
            json!([{ "sha256": "../x", "records": 1, "bytes": 1 }]),
        ),
        ("bogus", json!(1)),
    ] {
        let mut forged = wire();
        forged[field] = wrong;
        assert!(
            read(&json!({ "resume": token(&forged) })).is_err(),
            "{forged}"
        );
    }
    let whole = token(&wire());
    for length in 0..whole.len() {
        assert!(
            read(&json!({ "resume": whole[..length] })).is_err(),
            "cut to {length}"
        );
    }
}

#[test]
fn beside_a_token_stand_only_pace_and_limit_and_what_it_says_itself() {
    let check = |beside: serde_json::Value, named: &str| {
        let mut payload = beside.clone();
        payload["resume"] = json!(token(&wire()));
        let refused = read(&payload).err().map(|error| error.to_string());
        let first = refused.as_deref().and_then(|text| text.split(' ').next());
        assert_eq!(first.unwrap_or("good"), named, "{beside}: {refused:?}");
    };
    for (name, value) in [
        ("since", json!("1h")),
        ("until", json!("1h")),
        ("error_class", json!("transient")),
        ("error_code", json!("provider.timeout")),
        ("key", json!("k")),
        ("original_topic", json!("main")),
        ("records", json!(["dlq/0/1"])),
        ("plan", json!("x")),
        ("again", json!(true)),
        ("from_topic", json!("other")),
        ("to_topic", json!("other")),
        ("dry_run", json!(true)),
        ("max_replays", json!(4)),
        ("limit", json!(0)),
        ("rate_per_second", json!(-1)),
        ("all", json!(1)),
    ] {
        check(json!({ name: value }), name);
    }
    check(
        json!({
            "from_topic": "dlq", "to_topic": "main", "dry_run": false, "max_replays": 3, "limit": 7,
            "rate_per_second": 0, "all": true,
        }),
        "good",
    );
    let request =
        read(&json!({ "resume": token(&wire()), "limit": 7, "rate_per_second": 0.5 })).unwrap();
    assert_eq!(request.limit, Some(Limit { each: 7, left: 7 }));
    assert_eq!(request.rate, Rate::per_second(0.5).unwrap());
    let request = read(&json!({ "resume": token(&wire()) })).unwrap();
    assert_eq!(request.limit, Some(Limit { each: 10, left: 4 }));
    assert_eq!(request.replay_id, "run-1");
}
