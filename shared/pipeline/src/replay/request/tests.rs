use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);
const HOUR: i64 = 3_600_000;

fn named(name: &str) -> Topic {
    name.parse().unwrap()
}

fn read(payload: &str) -> Result<Request, InvalidReplay> {
    let (from, to) = (named("dlq"), named("main"));
    Request::read(
        payload,
        &Terms {
            from: &from,
            to: &to,
            targets: &[named("main"), named("other")],
            new_id: "run-1",
            now: NOW,
        },
    )
}

fn good(payload: &Value) -> Request {
    read(&payload.to_string()).unwrap_or_else(|error| panic!("{payload}: {error}"))
}

/// Checks that a payload is refused and that exactly these fields are named, one problem each.
fn check_refused(payload: &str, named: &[&str]) {
    let refused = read(payload).expect_err(payload);
    let starts: Vec<&str> = refused
        .problems
        .iter()
        .filter_map(|problem| problem.split(' ').next())
        .collect();
    assert_eq!(starts, named, "{payload}: {refused}");
}

#[test]
fn every_field_refuses_every_value_that_is_wrong_for_it() {
    let not_text = [
        json!(null),
        json!(true),
        json!(5),
        json!(1.5),
        json!([]),
        json!({}),
    ];
    let not_flag = [json!(null), json!("true"), json!(1), json!([]), json!({})];
    let not_count = [
        json!(null),
        json!(true),
        json!("5"),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(3.0),
        json!([]),
        json!({}),
        json!(1e30),
    ];
    let not_rate = [
        json!(null),
        json!(true),
        json!("5"),
        json!(-1),
        json!(-0.5),
        json!([]),
        json!({}),
    ];
    let not_time = [
        json!(""),
        json!("yesterday"),
        json!("0h"),
        json!("-1h"),
        json!("1 h"),
        json!("2025-08-23"),
    ];
    let not_class = [json!(""), json!("Transient"), json!("x")];
    let not_code = [json!(""), json!("provider.timout")];
    let not_topic = [json!(""), json!("a b"), json!(".."), json!("x".repeat(250))];
    let not_records = [
        json!(null),
        json!("dlq/0/1"),
        json!({}),
        json!([]),
        json!([1]),
        json!(["dlq/0"]),
        json!(["dlq/0/1", "main/0/1"]),
        json!(["dlq/0/-1"]),
        json!([["dlq", 0, 1]]),
    ];
    let not_uuid = [json!(""), json!("run-1"), json!("../x")];
    let fields: [(&str, Vec<&[Value]>); 15] = [
        (field::FROM_TOPIC, vec![&not_text, &not_topic]),
        (field::TO_TOPIC, vec![&not_text, &not_topic]),
        (field::SINCE, vec![&not_text, &not_time]),
        (field::UNTIL, vec![&not_text, &not_time]),
        (field::ERROR_CLASS, vec![&not_text, &not_class]),
        (field::ERROR_CODE, vec![&not_text, &not_code]),
        (field::KEY, vec![&not_text]),
        (field::ORIGINAL_TOPIC, vec![&not_text, &not_topic]),
        (field::RECORDS, vec![&not_records]),
        (field::LIMIT, vec![&not_count]),
        (field::RATE, vec![&not_rate]),
        (field::DRY_RUN, vec![&not_flag]),
        (field::MAX_REPLAYS, vec![&not_count]),
        (field::ALL, vec![&not_flag]),
        (field::REPLAY_ID, vec![&not_text, &not_uuid]),
    ];
    let left_out = [field::RESUME, field::PLAN, field::AGAIN];
    assert_eq!(fields.len() + left_out.len(), field::NAMES.len());
    for (name, wrong) in fields {
        for value in wrong.into_iter().flatten() {
            // Another filter stands beside it, so that this is the only thing wrong.
            let beside = if name == field::KEY {
                field::LIMIT
            } else {
                field::KEY
            };
            let other = if name == field::KEY {
                json!(1)
            } else {
                json!("k")
            };
            check_refused(&json!({ name: value, beside: other }).to_string(), &[name]);
        }
    }
}

#[test]
fn what_is_no_object_is_refused() {
    for payload in [
        "",
        "null",
        "[]",
        "5",
        "\"all\"",
        "{",
        "{\"all\":true}x",
        "true",
    ] {
        check_refused(payload, &["the"]);
    }
}

#[test]
fn nothing_selected_is_never_everything() {
    for payload in [
        json!({}),
        json!({ "all": false }),
        json!({ "dry_run": false }),
        json!({ "max_replays": 1, "rate_per_second": 5 }),
        json!({ "from_topic": "dlq", "to_topic": "main" }),
    ] {
        check_refused(&payload.to_string(), &["all"]);
    }
    for payload in [
        json!({ "all": true }),
        json!({ "dry_run": true }),
        json!({ "limit": 1 }),
        json!({ "key": "" }),
        json!({ "since": "1h" }),
        json!({ "until": "1h" }),
        json!({ "error_class": "unknown" }),
        json!({ "error_code": "provider.timeout" }),
        json!({ "original_topic": "main" }),
        json!({ "records": ["dlq/0/1"] }),
    ] {
        good(&payload);
    }
}

#[test]
fn unknown_and_doubled_fields_are_named() {
    check_refused(r#"{"all":true,"sinc":"1h"}"#, &["\"sinc\""]);
    check_refused(
        r#"{"dry_run":true,"dry_run":false,"all":true}"#,
        &["dry_run"],
    );
    let long = format!("{{\"all\":true,\"{}\":1}}", "x".repeat(5_000));
    assert!(read(&long).unwrap_err().to_string().len() < 200);
}

#[test]
fn every_problem_is_named_at_once() {
    check_refused(
        r#"{"limit":0,"since":"1h","until":"2h","to_topic":"elsewhere","bogus":1,"again":7,"key":7}"#,
        &["\"bogus\"", "since", "key", "limit", "again", "to_topic"],
    );
}

#[test]
fn since_must_be_before_until() {
    let check = |since: &str, until: &str, good: bool| {
        let payload = json!({ "since": since, "until": until }).to_string();
        assert_eq!(read(&payload).is_ok(), good, "{payload}");
    };
    check("2h", "1h", true);
    check("1h", "1h", false);
    check("1h", "2h", false);
    check("2025-08-23T07:12:21.805Z", "2025-08-23T07:12:21.806Z", true);
    check(
        "2025-08-23T07:12:21.805Z",
        "2025-08-23T07:12:21.805Z",
        false,
    );
    check("2025-08-23T09:12:21+02:00", "2025-08-23T07:12:20Z", false);
}

#[test]
fn a_target_must_be_allowed_in_a_dry_run_as_in_a_real_one() {
    for dry_run in [true, false] {
        let payload = |to: &str| json!({ "to_topic": to, "dry_run": dry_run, "all": true });
        good(&payload("main"));
        good(&payload("other"));
        check_refused(&payload("mian").to_string(), &["to_topic"]);
        check_refused(
            &json!({ "from_topic": "other", "to_topic": "other", "dry_run": dry_run, "all": true })
                .to_string(),
            &["to_topic"],
        );
        // The dead-letter topic is neither allowed nor another topic.
        check_refused(&payload("dlq").to_string(), &["to_topic", "to_topic"]);
    }
}

#[test]
fn what_is_asked_is_what_is_read() {
    let request = good(&json!({
        "from_topic": "orders.dlq", "to_topic": "other", "since": "24h", "until": "2025-08-23T07:12:21.805Z",
        "error_class": "transient", "error_code": "provider.timeout", "key": "k-7", "original_topic": "orders",
        "records": ["orders.dlq/7/123", "orders.dlq/0/1", "orders.dlq/0/1"], "limit": 5, "rate_per_second": 0.5,
        "dry_run": true, "max_replays": 9, "all": true,
    }));
    assert_eq!(request.replay_id, "run-1");
    assert_eq!(
        (request.from.as_str(), request.to.as_str()),
        ("orders.dlq", "other")
    );
    let selection = &request.selection;
    assert_eq!(selection.window.since, Some(NOW.plus_millis(-24 * HOUR)));
    assert_eq!(
        selection.window.until,
        Some(Timestamp::from_millis(1_755_933_141_805))
    );
    assert_eq!(
        selection.error_class,
        Some(Told::Known(ErrorClass::Transient))
    );
    assert_eq!(
        selection.error_code,
        Some(Told::Known(ErrorCode::ProviderTimeout))
    );
    assert_eq!(selection.key.as_deref(), Some("k-7"));
    assert_eq!(selection.original_topic, Some(named("orders")));
    assert_eq!(selection.records.as_ref().unwrap().len(), 2);
    assert_eq!(selection.max_replays, 9);
    assert_eq!(request.limit, Some(Limit { each: 5, left: 5 }));
    assert_eq!(request.rate, Rate::per_second(0.5).unwrap());
    assert!(request.dry_run && request.progress.is_none());
}

#[test]
fn what_is_not_asked_has_its_default() {
    let request = good(&json!({ "all": true }));
    assert_eq!(
        (request.from.as_str(), request.to.as_str()),
        ("dlq", "main")
    );
    assert_eq!(
        request.selection,
        Selection {
            max_replays: 3,
            ..Selection::default()
        }
    );
    assert_eq!(
        (request.limit, request.rate, request.dry_run),
        (None, Rate::default(), false)
    );
    assert_eq!(
        good(&json!({ "all": true, "rate_per_second": 0 }))
            .rate
            .interval(),
        None
    );
}

#[test]
fn a_plan_keeps_filters_and_topics_and_leaves_pace_and_limit() {
    let plan = format!("run-1@{}", "0123456789abcdef".repeat(4));
    let request = good(&json!({ "plan": plan, "limit": 7, "rate_per_second": 0, "dry_run": true }));
    assert_eq!(request.plan.unwrap().to_string(), plan);
    assert!(!request.again);
    for (name, value) in [
        ("from_topic", json!("other")),
        ("to_topic", json!("main")),
        ("since", json!("1h")),
        ("until", json!("1h")),
        ("error_class", json!("transient")),
        ("error_code", json!("provider.timeout")),
        ("key", json!("k")),
        ("original_topic", json!("main")),
        ("records", json!(["dlq/0/1"])),
        ("max_replays", json!(3)),
        ("again", json!(true)),
    ] {
        let payload = json!({ "plan": plan, name: value }).to_string();
        let refused = read(&payload).expect_err(&payload).to_string();
        assert!(
            refused.contains(&format!("{name} cannot stand beside plan")),
            "{refused}"
        );
    }
    for wrong in ["", "x", "run-1@x", "../run@0123"] {
        check_refused(&json!({ "plan": wrong }).to_string(), &["plan"]);
    }
}

#[test]
fn a_plan_says_where_and_its_target_must_be_allowed() {
    let plan = format!("run-1@{}", "0123456789abcdef".repeat(4));
    let (from, to) = (named("dlq"), named("main"));
    let targets = [named("main"), named("other")];
    let terms = Terms {
        from: &from,
        to: &to,
        targets: &targets,
        new_id: "run-2",
        now: NOW,
    };
    let head = |to: &str| PlanHead {
        replay_id: "run-1".to_owned(),
        made: String::new(),
        from: named("orders.dlq"),
        to: named(to),
        max_replays: 9,
        again: true,
        asked: json!({}),
    };
    let mut request = good(&json!({ "plan": plan }));
    request.follow(&head("other"), &terms).unwrap();
    assert_eq!(
        (request.from.as_str(), request.to.as_str()),
        ("orders.dlq", "other")
    );
    assert_eq!((request.selection.max_replays, request.again), (9, true));
    let refused = request.follow(&head("elsewhere"), &terms).unwrap_err();
    assert!(refused.to_string().contains("REPLAY_TARGETS"), "{refused}");
}

#[test]
fn what_was_asked_is_told_with_its_times_fixed() {
    let asked = good(&json!({ "since": "24h", "error_class": "transient", "limit": 5, "records": ["dlq/7/123"] })).asked();
    assert_eq!(
        asked,
        json!({
            "since": NOW.plus_millis(-24 * HOUR).to_rfc3339(), "error_class": "transient", "limit": 5,
            "records": ["dlq/7/123"], "rate_per_second": 100.0, "max_replays": 3, "again": false,
        })
    );
}
