use super::*;
use crate::headers::Headers;
use crate::stages::RetryTopic;
use crate::{DlqReason, Header};

const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);
const TOPICS: [&str; 4] = ["main", "r30s", "r5m", "r1h"];

fn stages(retries: usize) -> Stages {
    let retries: Vec<RetryTopic> = [("r30s", "30s"), ("r5m", "5m"), ("r1h", "1h")]
        .into_iter()
        .take(retries)
        .map(|(topic, delay)| RetryTopic {
            topic: topic.parse().unwrap(),
            delay: delay.parse().unwrap(),
        })
        .collect();
    Stages::new(
        "main".parse().unwrap(),
        &retries,
        &[],
        "dlq".parse().unwrap(),
    )
    .unwrap()
}

fn record(topic: &str, headers: &[(&str, Option<&str>)]) -> Record {
    Record {
        coordinates: format!("{topic}/7/123").parse().unwrap(),
        timestamp: Timestamp::from_millis(1_755_933_000_000),
        key: Some(Bytes::from_static(b"\x00\xff\x10")),
        value: Some(Bytes::from_static(b"value")),
        headers: headers
            .iter()
            .map(|(name, value)| Header {
                name: (*name).to_owned(),
                value: value.map(|value| Bytes::copy_from_slice(value.as_bytes())),
            })
            .collect(),
    }
}

fn moved(stages: &Stages, record: &Record, failure: Failure) -> Forward {
    match decide(stages, record, failure.into()) {
        Decision::Forward(forward) | Decision::DeadLetter(forward) => forward,
        other @ (Decision::Done | Decision::HandBack) => panic!("{other:?}"),
    }
}

/// Moves a record on with a failure and reads it back as the next stage would.
fn hop(stages: &Stages, from: &Record, code: ErrorCode) -> Record {
    let outgoing = moved(stages, from, Failure::new(code, code.as_str())).outgoing(
        from,
        NOW,
        &Masker::default(),
    );
    Record {
        coordinates: format!("{}/0/{}", outgoing.topic, from.coordinates.offset.get())
            .parse()
            .unwrap(),
        timestamp: NOW,
        key: outgoing.key,
        value: outgoing.value,
        headers: outgoing.headers,
    }
}

fn told(headers: &Headers) -> Vec<(&str, &str)> {
    headers
        .iter()
        .map(|header| {
            (
                header.name.as_str(),
                std::str::from_utf8(header.value.as_deref().unwrap()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_verdict_on_every_stage_of_every_ladder_goes_to_one_place_for_one_reason() {
    for length in 0..=3 {
        let stages = stages(length);
        for (position, topic) in TOPICS.iter().enumerate().take(length + 1) {
            let record = record(topic, &[("retry.count", Some("9999"))]);
            assert_eq!(decide(&stages, &record, Verdict::Done), Decision::Done);
            for code in ErrorCode::ALL {
                let forward = moved(&stages, &record, Failure::new(*code, ""));
                let last = position == length;
                let (to, reason, dlq_reason, count) = match code.class() {
                    ErrorClass::Permanent => {
                        ("dlq", Reason::Permanent, Some(code.dlq_reason()), position)
                    }
                    ErrorClass::Transient if last => (
                        "dlq",
                        Reason::Exhausted,
                        Some(DlqReason::Exhausted),
                        position,
                    ),
                    ErrorClass::Transient => {
                        (TOPICS[position + 1], Reason::NextRetry, None, position + 1)
                    }
                };
                assert_eq!(forward.to().as_str(), to, "{code} on {topic} of {length}");
                assert_eq!(forward.reason(), reason);
                assert_eq!(forward.dlq_reason(), dlq_reason);
                assert_eq!(forward.retry_count, u32::try_from(count).unwrap());
            }
        }
    }
}

#[test]
fn a_record_of_a_topic_that_is_no_stage_is_handed_back_whatever_the_verdict() {
    let failure = Failure::new(ErrorCode::ProviderTimeout, "");
    for topic in ["dlq", "other", "brew.payments.v1"] {
        for verdict in [
            Verdict::Done,
            failure.clone().into(),
            Verdict::Permanent(failure.clone()),
        ] {
            assert_eq!(
                decide(&stages(3), &record(topic, &[]), verdict),
                Decision::HandBack
            );
        }
    }
}

#[test]
fn a_first_failure_tells_where_why_and_when_in_order_after_the_foreign_headers() {
    let from = record(
        "main",
        &[
            ("traceparent", Some("00-ab")),
            ("retry.count", Some("7")),
            ("dlq-reason", Some("x")),
        ],
    );
    let outgoing = moved(
        &stages(3),
        &from,
        Failure::new(ErrorCode::ProviderTimeout, "no answer"),
    )
    .outgoing(&from, NOW, &Masker::default());
    assert_eq!(
        told(&outgoing.headers),
        [
            ("traceparent", "00-ab"),
            ("error.class", "transient"),
            ("error.code", "provider.timeout"),
            ("error.message", "no answer"),
            ("error.timestamp", "2025-08-23T07:12:21.855Z"),
            ("retry.count", "1"),
            ("previous.topic", "main"),
            ("original.topic", "main"),
            ("original.partition", "7"),
            ("original.offset", "123"),
            ("original.timestamp", "1755933000000"),
        ]
    );
    assert_eq!(
        (outgoing.topic.as_str(), &outgoing.key, &outgoing.value),
        ("r30s", &from.key, &from.value)
    );
}

#[test]
fn three_hops_leave_one_of_each_header_the_newest_value_and_the_oldest_origin() {
    let stages = stages(3);
    let mut record = record(
        "main",
        &[
            ("a", Some("1")),
            ("b", None),
            ("a", Some("2")),
            ("traceparent", Some("00-ab")),
        ],
    );
    for _ in 0..3 {
        record = hop(&stages, &record, ErrorCode::ProviderUnavailable);
    }
    assert_eq!(record.coordinates.topic.as_str(), "r1h");
    let dead = hop(&stages, &record, ErrorCode::ProviderTimeout);
    let foreign: Vec<_> = dead
        .headers
        .foreign()
        .iter()
        .map(|header| header.name.clone())
        .collect();
    assert_eq!(foreign, ["a", "b", "a", "traceparent"]);
    assert_eq!(dead.headers.last("b").unwrap().value, None);
    for name in &names::ALL[..11] {
        assert!(dead.headers.only_text(name).is_some(), "{name}");
    }
    assert_eq!(dead.headers.text("error.code"), Some("provider.timeout"));
    assert_eq!(dead.headers.text("previous.topic"), Some("r1h"));
    assert_eq!(dead.headers.text("retry.count"), Some("3"));
    assert_eq!(dead.headers.text("dlq-reason"), Some("exhausted"));
    assert_eq!(
        Origin::told_by(&dead.headers)
            .unwrap()
            .coordinates
            .to_string(),
        "main/7/123"
    );
}

#[test]
fn a_refusal_on_the_last_stage_keeps_its_cause() {
    let dead = hop(&stages(3), &record("r1h", &[]), ErrorCode::ProviderRejected);
    assert_eq!(dead.headers.text("dlq-reason"), Some("validation"));
    assert_eq!(dead.headers.text("error.code"), Some("provider.rejected"));
}

#[test]
fn replay_headers_are_carried_on_once_and_a_dlq_reason_is_not_carried_to_a_retry_topic() {
    let from = record(
        "main",
        &[
            ("replay.count", Some("1")),
            ("replay.id", Some("run")),
            ("replay.count", Some("2")),
            ("dlq-reason", Some("json")),
        ],
    );
    let forwarded = hop(&stages(1), &from, ErrorCode::ProviderTimeout);
    let ours: Vec<_> = told(&forwarded.headers).into_iter().skip(10).collect();
    assert_eq!(ours, [("replay.id", "run"), ("replay.count", "2")]);
}

#[test]
fn an_origin_is_kept_only_when_all_of_it_is_there_once_and_well_formed() {
    let whole = [
        ("original.topic", Some("t")),
        ("original.partition", Some("1")),
        ("original.offset", Some("2")),
        ("original.timestamp", Some("-1")),
    ];
    let check = |headers: &[(&str, Option<&str>)], expected: &str| {
        assert_eq!(
            Origin::of(&record("main", headers)).coordinates.to_string(),
            expected,
            "{headers:?}"
        );
    };
    check(&whole, "t/1/2");
    for missing in 0..4 {
        let mut headers = whole.to_vec();
        headers.remove(missing);
        check(&headers, "main/7/123");
    }
    for twice in 0..4 {
        let mut headers = whole.to_vec();
        headers.push(whole[twice]);
        check(&headers, "main/7/123");
    }
    for broken in [
        None,
        Some(""),
        Some("a b"),
        Some("+1"),
        Some("1.0"),
        Some("--1"),
        Some("-"),
    ] {
        for at in 0..4 {
            if at == 0 && broken.is_some_and(|text| text.parse::<Topic>().is_ok()) {
                continue;
            }
            let mut headers = whole.to_vec();
            headers[at].1 = broken;
            check(&headers, "main/7/123");
        }
    }
}

#[test]
fn a_record_refused_on_the_way_to_a_retry_topic_is_dead_lettered_with_both_causes() {
    let stages = stages(3);
    let record = record("r30s", &[]);
    let forward = moved(
        &stages,
        &record,
        Failure::new(ErrorCode::ProviderTimeout, "no answer"),
    );
    let dead = refused_by_broker(stages.dlq(), &forward, "too large").unwrap();
    assert_eq!(dead.dlq_reason(), Some(DlqReason::Oversized));
    assert_eq!(dead.retry_count, 1);
    assert_eq!(dead.failure().code, ErrorCode::BrokerRejected);
    for part in ["r5m", "too large", "provider.timeout: no answer"] {
        assert!(dead.failure().message.contains(part), "{part}");
    }
    assert_eq!(refused_by_broker(stages.dlq(), &dead, "too large"), None);
}

#[test]
fn our_headers_stay_small_on_every_hop_whatever_the_message() {
    let stages = stages(3);
    let mut from = record("main", &[]);
    let long = "é".repeat(150_000);
    for _ in 0..4 {
        let forward = moved(
            &stages,
            &from,
            Failure::new(ErrorCode::ProviderUnavailable, &long),
        );
        let outgoing = forward.outgoing(&from, NOW, &Masker::default());
        let bytes: usize = outgoing
            .headers
            .iter()
            .map(|header| header.name.len() + header.value.as_ref().map_or(0, Bytes::len))
            .sum();
        assert!(bytes <= 4096, "{bytes}");
        from = Record {
            coordinates: format!("{}/0/0", outgoing.topic).parse().unwrap(),
            headers: outgoing.headers,
            ..from
        };
        if from.coordinates.topic == *stages.dlq() {
            return;
        }
    }
    panic!("the ladder has no end");
}

#[test]
fn an_empty_message_is_still_a_whole_story() {
    let dead = hop(&stages(0), &record("main", &[]), ErrorCode::HandlerPanic);
    let empty = moved(
        &stages(0),
        &dead_on_main(&dead),
        Failure::new(ErrorCode::HandlerPanic, ""),
    )
    .outgoing(&dead_on_main(&dead), NOW, &Masker::default());
    assert_eq!(empty.headers.only_text("error.message"), Some(""));
    assert_eq!(empty.headers.only_text("error.class"), Some("permanent"));
    assert_eq!(empty.headers.only_text("error.code"), Some("handler.panic"));
}

fn dead_on_main(dead: &Record) -> Record {
    Record {
        coordinates: "main/0/1".parse().unwrap(),
        ..dead.clone()
    }
}
