use bytes::Bytes;
use pipeline::{Offset, Partition};
use serde_json::json;

use super::*;
use crate::invoke::Fault;
use crate::mapping::{Discard, Portion};
use crate::runner::plan::tests::{function, mapping};
use crate::runner::{RunOptions, Speed};
use crate::template::{Template, TemplateFunction, TemplateMapping};

/// What a mapping of topic `orders` reports, and what is told of it.
struct Run {
    chronicle: Chronicle,
    told: Vec<Told>,
}

fn partition(number: i32) -> Partition {
    Partition::new(number).unwrap()
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn part(number: i32, first: i64, last: i64, delivery: u32) -> Portion {
    Portion {
        partition: partition(number),
        first: offset(first),
        last: offset(last),
        records: (first..=last).count(),
        delivery,
    }
}

fn answered(
    verdict: BatchVerdict,
    answer: Option<&'static str>,
    commits: &[(i32, i64)],
) -> Progress {
    Progress::Answered {
        invocation: 1,
        took: Duration::from_millis(120),
        verdict,
        answer: answer.map(|text| Bytes::from_static(text.as_bytes())),
        commits: commits
            .iter()
            .map(|(number, next)| (partition(*number), offset(*next)))
            .collect(),
    }
}

fn delivered(parts: &[Portion]) -> Progress {
    Progress::Delivered {
        invocation: 1,
        parts: parts.to_vec(),
    }
}

fn committed(number: i32, next: i64) -> Progress {
    Progress::Committed {
        partition: partition(number),
        offset: offset(next),
    }
}

impl Run {
    fn new(report_batch_item_failures: bool, stages: &str) -> Self {
        let mapping = TemplateMapping {
            report_batch_item_failures,
            ..mapping("orders")
        };
        let function = TemplateFunction {
            binary: Some("orders".to_owned()),
            env: [("RETRY_STAGES".to_owned(), stages.to_owned())].into(),
            mappings: vec![mapping],
            ..function("Main", &[])
        };
        let template = Template {
            functions: vec![function],
            notes: Vec::new(),
        };
        let options = RunOptions {
            speed: Speed::Real,
            ..RunOptions::default()
        };
        let plan = Plan::new(template, &options, |_| true).unwrap();
        Self {
            chronicle: Chronicle::new(&plan),
            told: Vec::new(),
        }
    }

    fn take(&mut self, progress: Progress) {
        let report = Report {
            mapping: "Main.Records".into(),
            progress,
        };
        let told = self.chronicle.take(&report, Instant::now());
        self.told.extend(told);
    }

    fn lines(&self) -> Vec<&InvocationLine> {
        let told = self.told.iter();
        told.filter_map(|told| match told {
            Told::Invocation(line) => Some(&**line),
            Told::Note(_) | Told::Loud(_) => None,
        })
        .collect()
    }

    fn loud(&self) -> Vec<&str> {
        let told = self.told.iter();
        told.filter_map(|told| match told {
            Told::Loud(text) => Some(text.as_str()),
            Told::Invocation(_) | Told::Note(_) => None,
        })
        .collect()
    }
}

#[test]
fn an_invocation_is_told_as_json_once_its_offsets_are_committed() {
    let mut run = Run::new(true, "");
    run.take(delivered(&[part(0, 3, 7, 2), part(1, 0, 0, 1)]));
    let partial = BatchVerdict::HandedBack(1);
    let answer = r#"{"batchItemFailures": [{}]}"#;
    run.take(answered(partial, Some(answer), &[(0, 5), (1, 1)]));
    run.take(committed(0, 4));
    run.take(committed(1, 9));
    assert!(run.lines().is_empty());
    run.take(committed(0, 5));
    let [line] = run.lines()[..] else {
        panic!("{:?}", run.told);
    };
    let expected = json!({
        "mapping": "Main.Records", "function": "Main", "topic": "orders", "invocation": 1,
        "partitions": [
            {"partition": 0, "first_offset": 3, "last_offset": 7, "records": 5, "delivery": 2, "committed": 5},
            {"partition": 1, "first_offset": 0, "last_offset": 0, "records": 1, "delivery": 1, "committed": 1},
        ],
        "took_ms": 120, "outcome": "partial", "answer": {"batchItemFailures": [{}]},
    });
    assert_eq!(serde_json::to_value(line).unwrap(), expected);
    assert_eq!(
        line.summary(),
        "Main.Records #1: orders-0 3–7 (delivery 2), orders-1 0: 1 of 6 handed back in 0.1 s, orders-0 committed 5, orders-1 committed 1"
    );
}

fn check_outcome(
    verdict: BatchVerdict,
    answer: Option<&'static str>,
    outcome: &str,
    error: Option<&str>,
) {
    let mut run = Run::new(true, "");
    run.take(delivered(&[part(0, 3, 3, 1)]));
    run.take(answered(verdict, answer, &[]));
    let line = serde_json::to_value(run.lines()[0]).unwrap();
    assert_eq!(line["outcome"], outcome);
    assert_eq!(line.get("error").and_then(Value::as_str), error);
    let told = answer.map(|text| serde_json::from_str(text).unwrap_or(json!(text)));
    assert_eq!(line.get("answer"), told.as_ref());
    assert_eq!(line["partitions"][0]["committed"], Value::Null);
}

#[test]
fn every_end_has_its_word() {
    let failed = |fault| BatchVerdict::Failed(fault);
    check_outcome(BatchVerdict::AllDone, Some("null"), "done", None);
    check_outcome(BatchVerdict::AllDone, Some("no json"), "done", None);
    check_outcome(BatchVerdict::AllDone, Some(""), "done", None);
    check_outcome(
        BatchVerdict::Malformed("odd".to_owned()),
        Some("7"),
        "malformed",
        Some("odd"),
    );
    let error = Fault::Error {
        error_type: "T".to_owned(),
        message: "m".to_owned(),
    };
    check_outcome(
        failed(error),
        None,
        "error",
        Some("the function failed: T: m"),
    );
    let crashed = Fault::Crashed("signal: 9".to_owned());
    check_outcome(
        failed(crashed),
        None,
        "crashed",
        Some("the function's process ended during the invocation: signal: 9"),
    );
    let timed_out = Fault::TimedOut(Duration::from_secs(3));
    check_outcome(
        failed(timed_out),
        None,
        "timed-out",
        Some("the invocation timed out after 3 s"),
    );
    check_outcome(
        failed(Fault::AnswerTooLarge),
        None,
        "too-large",
        Some("its answer, or the error that it reports, is larger than 6 MB"),
    );
    check_outcome(
        failed(Fault::Init("x".to_owned())),
        None,
        "init",
        Some("the function did not start: x"),
    );
    for fault in [
        Fault::Endpoint("x".to_owned()),
        Fault::Throttled("x".to_owned()),
        Fault::Unreachable("x".to_owned()),
    ] {
        let text = fault.to_string();
        check_outcome(failed(fault), None, "unreachable", Some(&text));
    }
}

#[test]
fn offsets_that_a_rebalance_took_away_are_told_as_not_committed() {
    let mut run = Run::new(true, "");
    run.take(delivered(&[part(0, 3, 7, 1)]));
    run.take(answered(BatchVerdict::AllDone, None, &[(0, 8)]));
    assert!(run.lines().is_empty());
    run.take(Progress::Assigned(Vec::new()));
    assert_eq!(run.lines()[0].partitions[0].committed, None);
}

#[test]
fn what_ended_and_was_not_committed_before_the_end_is_told_at_the_end() {
    let mut run = Run::new(true, "");
    run.take(delivered(&[part(0, 3, 7, 1)]));
    assert!(run.chronicle.rest().is_empty());
    run.take(answered(BatchVerdict::AllDone, None, &[(0, 8)]));
    assert_eq!(run.chronicle.rest().len(), 1);
    assert!(run.chronicle.rest().is_empty());
}

#[test]
fn a_poison_record_is_told_once_by_its_place() {
    let mut run = Run::new(true, "");
    for delivery in 1..=8 {
        run.take(delivered(&[part(0, 3, 4, delivery)]));
    }
    let [told] = run.loud()[..] else {
        panic!("{:?}", run.told);
    };
    assert!(
        told.starts_with("offset 3 of orders-0 delivered 5 times: poison record"),
        "{told}"
    );
}

#[test]
fn what_does_not_reach_its_function_is_no_poison() {
    for fault in [
        Fault::Unreachable("x".to_owned()),
        Fault::Init("x".to_owned()),
    ] {
        let mut run = Run::new(true, "");
        for delivery in 1..=8 {
            run.take(delivered(&[part(0, 3, 4, delivery)]));
            run.take(answered(BatchVerdict::Failed(fault.clone()), None, &[]));
        }
        assert!(run.loud().is_empty(), "{:?}", run.told);
        for delivery in 9..=13 {
            run.take(delivered(&[part(0, 3, 4, delivery)]));
        }
        assert_eq!(run.loud().len(), 1, "{:?}", run.told);
    }
}

#[test]
fn what_waits_on_its_stage_is_no_poison() {
    let mut run = Run::new(true, "orders=1h");
    for delivery in 1..=8 {
        run.take(delivered(&[part(0, 3, 4, delivery)]));
    }
    assert!(run.loud().is_empty());
}

#[test]
fn failures_in_an_answer_that_nobody_reads_are_told_once() {
    let mut run = Run::new(false, "");
    let failures =
        r#"{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":3}}]}"#;
    for answer in ["{}", r#"{"batchItemFailures":[]}"#, failures, failures] {
        run.take(delivered(&[part(0, 3, 7, 1)]));
        run.take(answered(BatchVerdict::AllDone, Some(answer), &[]));
    }
    assert_eq!(run.lines().len(), 4);
    let [told] = run.loud()[..] else {
        panic!("{:?}", run.told);
    };
    assert!(told.contains("COUNT AS DONE"), "{told}");
}

#[test]
fn troubles_that_take_turns_are_told_once_until_something_is_delivered() {
    let mut run = Run::new(true, "");
    let trouble = |text: &str| Progress::Trouble(text.to_owned());
    for text in ["a", "b", "a", "b"] {
        run.take(trouble(text));
    }
    run.take(delivered(&[part(0, 3, 7, 1)]));
    run.take(trouble("a"));
    assert_eq!(
        run.loud(),
        ["Main.Records: a", "Main.Records: b", "Main.Records: a"]
    );
}

#[test]
fn what_is_gone_for_good_is_told_with_its_place_and_why() {
    let mut run = Run::new(true, "");
    for (reason, why) in [
        (Discard::TooLarge, "larger"),
        (Discard::RetriesExhausted, "MaximumRetryAttempts"),
        (Discard::TooOld, "MaximumRecordAgeInSeconds"),
    ] {
        run.take(Progress::Discarded {
            record: "orders/1/5".parse().unwrap(),
            reason,
        });
        let told = *run.loud().last().unwrap();
        assert!(
            told.contains("DISCARDED offset 5 of orders-1") && told.contains(why),
            "{told}"
        );
    }
}

#[test]
fn a_new_topic_and_an_offset_that_is_gone_are_told_loudly() {
    let mut run = Run::new(true, "");
    run.take(Progress::Recreated);
    run.take(Progress::Gone {
        partition: partition(1),
        committed: offset(300),
        oldest: offset(400),
    });
    let [recreated, gone] = run.loud()[..] else {
        panic!("{:?}", run.told);
    };
    assert!(
        recreated.contains("topic orders was deleted and created again"),
        "{recreated}"
    );
    assert!(
        gone.contains("offset 300 of orders-1") && gone.contains("offset 400"),
        "{gone}"
    );
}

#[test]
fn a_mapping_has_joined_once_it_was_assigned_something_or_nothing() {
    let mut run = Run::new(true, "");
    assert_eq!(run.chronicle.not_joined(), ["Main.Records"]);
    run.take(Progress::Trouble("away".to_owned()));
    assert_eq!(run.chronicle.not_joined(), ["Main.Records"]);
    run.take(Progress::Assigned(Vec::new()));
    assert!(run.chronicle.not_joined().is_empty());
    assert_eq!(
        run.told.last(),
        Some(&Told::Note(
            "Main.Records: reads no partition of orders now".to_owned()
        ))
    );
}
