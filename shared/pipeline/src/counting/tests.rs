use bytes::Bytes;

use super::*;
use crate::{DlqReason, Headers, Masker, Timestamp};

const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);

fn counting(max_fails: u32) -> Counting {
    Counting::new(
        "orders".parse().unwrap(),
        "orders.dlq".parse().unwrap(),
        NonZeroU32::new(max_fails).unwrap(),
    )
    .unwrap()
}

fn record(topic: &str) -> Record {
    Record {
        coordinates: format!("{topic}/7/123").parse().unwrap(),
        timestamp: NOW,
        key: Some(Bytes::from_static(b"key")),
        value: Some(Bytes::from_static(b"value")),
        headers: Headers::default(),
    }
}

/// Every verdict that is a failure: each class with each code, those included that nobody should join.
fn failures() -> impl Iterator<Item = (ErrorClass, ErrorCode, Verdict)> {
    ErrorCode::ALL.iter().flat_map(|code| {
        let failure = Failure::new(*code, "why");
        [
            (
                ErrorClass::Transient,
                *code,
                Verdict::Transient(failure.clone()),
            ),
            (ErrorClass::Permanent, *code, Verdict::Permanent(failure)),
        ]
    })
}

#[test]
fn every_failure_hands_back_below_the_limit_and_dead_letters_at_it() {
    for max_fails in 1..=5 {
        let counting = counting(max_fails);
        for (class, code, verdict) in failures() {
            let at_once = class == ErrorClass::Permanent
                && [ErrorCode::PayloadSchemaVersion, ErrorCode::HandlerCrashed].contains(&code);
            for before in (0..=max_fails + 1).chain([u32::MAX]) {
                let told = format!("{class} {code}, {before} of {max_fails} before");
                match decide_counted(&counting, &record("orders"), verdict.clone(), before) {
                    CountedDecision::TryAgain(failed) => {
                        assert!(!at_once && before + 1 < max_fails, "{told}");
                        assert_eq!(failed.failures, before + 1, "{told}");
                        assert_eq!(failed.of.get(), max_fails, "{told}");
                        assert_eq!((failed.class, failed.failure.code), (class, code), "{told}");
                    }
                    CountedDecision::DeadLetter(forward) => {
                        assert!(at_once || before.saturating_add(1) >= max_fails, "{told}");
                        let (reason, dlq_reason) = match class {
                            ErrorClass::Transient => (Reason::Exhausted, DlqReason::Exhausted),
                            ErrorClass::Permanent => (Reason::Permanent, code.dlq_reason()),
                        };
                        assert_eq!(forward.to().as_str(), "orders.dlq", "{told}");
                        assert_eq!(forward.reason(), reason, "{told}");
                        assert_eq!(forward.dlq_reason(), Some(dlq_reason), "{told}");
                        assert_eq!(forward.class(), class, "{told}");
                    }
                    other @ (CountedDecision::Done | CountedDecision::HandBack) => {
                        panic!("{told}: {other:?}")
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_handled_is_done_however_often_it_had_failed() {
    for before in [0, 1, 2, 3, u32::MAX] {
        assert_eq!(
            decide_counted(&counting(3), &record("orders"), Verdict::Done, before),
            CountedDecision::Done
        );
    }
}

#[test]
fn a_record_of_another_topic_is_handed_back_whatever_the_verdict_and_the_count() {
    for topic in ["orders.dlq", "order", "ORDERS", "brew.payments.v1"] {
        for before in [0, 2, u32::MAX] {
            let verdicts = failures().map(|(_, _, verdict)| verdict);
            for verdict in verdicts.chain([Verdict::Done]) {
                assert_eq!(
                    decide_counted(&counting(3), &record(topic), verdict, before),
                    CountedDecision::HandBack
                );
            }
        }
        let failure = Failure::new(ErrorCode::PayloadMalformed, "");
        let topic = topic.parse().unwrap();
        assert_eq!(
            counting(3).give_up(&topic, failure),
            CountedDecision::HandBack
        );
    }
}

#[test]
fn what_cannot_be_read_is_dead_lettered_without_a_count() {
    let failure = Failure::new(ErrorCode::PayloadMalformed, "no base64");
    let counting = counting(1_000);
    let CountedDecision::DeadLetter(forward) = counting.give_up(counting.topic(), failure) else {
        panic!("not dead-lettered");
    };
    assert_eq!(forward.dlq_reason(), Some(DlqReason::Json));
    assert_eq!(forward.class(), ErrorClass::Permanent);
}

#[test]
fn a_topic_is_not_its_own_dead_letter_topic() {
    let orders: Topic = "orders".parse().unwrap();
    let error = Counting::new(orders.clone(), orders, NonZeroU32::MIN).unwrap_err();
    assert!(error.to_string().contains("orders"), "{error}");
}

#[test]
fn the_dead_letter_says_that_it_entered_no_retry_topic_whatever_came_in() {
    let mut order = record("orders");
    order
        .headers
        .push("retry.count", Some(Bytes::from_static(b"9")));
    let verdict = Verdict::Permanent(Failure::new(ErrorCode::PayloadMalformed, "no object"));
    let CountedDecision::DeadLetter(forward) = decide_counted(&counting(3), &order, verdict, 2)
    else {
        panic!("not dead-lettered");
    };
    let dead = forward.outgoing(&order, NOW, &Masker::default());
    let header = |name| dead.headers.only_text(name);
    assert_eq!(header("retry.count"), Some("0"));
    assert_eq!(header("previous.topic"), Some("orders"));
    assert_eq!(header("original.topic"), Some("orders"));
    assert_eq!(header("original.partition"), Some("7"));
    assert_eq!(header("original.offset"), Some("123"));
    assert_eq!(header("error.class"), Some("permanent"));
    assert_eq!(header("error.code"), Some("payload.malformed"));
    assert_eq!(header("dlq-reason"), Some("json"));
    assert_eq!((dead.key, dead.value), (order.key, order.value));
}
