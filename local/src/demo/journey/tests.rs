//! Lines as the functions write them, and what is shown of them.

use std::time::Duration;

use pipeline::alert::alert_text;
use pipeline::{Header, Headers, Incident, Masker, Offset, Partition, Record, Timestamp};

use super::*;
use crate::mapping::Portion;
use crate::provider::Mode;

fn cast() -> Cast {
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(one, other)| ((*one).to_owned(), (*other).to_owned()))
            .collect()
    };
    Cast {
        kinds: [("k-9".to_owned(), Kind::Payment(Mode::Flap))].into(),
        labels: owned(&[
            ("x.brew.payments.v1", "main"),
            ("x.brew.payments.retry.30s", "retry.30s"),
            ("x.brew.payments.dlq", "dlq"),
        ]),
        delays: owned(&[("retry.30s", "1 s")]),
        done: "charged",
    }
}

fn wrote(stream: Stream, text: &str) -> Line {
    Line {
        function: "payments".into(),
        sandbox: 0,
        stream,
        text: text.to_owned(),
    }
}

/// Shows a step as `WORD key kind place text`.
fn told(step: Option<Step>) -> Option<String> {
    let step = step?;
    let kind = step.kind.map_or("-", Kind::as_str);
    let word = step.word.as_str();
    Some(format!(
        "{word}|{}|{kind}|{}|{}",
        step.key, step.place, step.text
    ))
}

#[track_caller]
fn check_log(line: &str, expected: Option<&str>) {
    let step = Journey::of(cast()).line(&wrote(Stream::Err, line));
    assert_eq!(told(step).as_deref(), expected, "{line}");
}

#[test]
fn a_record_that_is_done_is_ok_on_main_and_tells_how_late_it_was_on_a_retry_stage() {
    check_log(
        r#"{"timestamp":"t","level":"DEBUG","message":"record done","kafka.topic":"x.brew.payments.v1","kafka.partition":1,"kafka.offset":7,"kafka.key":"k-9","decision":"done","late_ms":3,"target":"lambda::forwarding"}"#,
        Some("OK|k-9|flap|main|charged"),
    );
    check_log(
        r#"{"level":"DEBUG","message":"record done","kafka.topic":"x.brew.payments.retry.30s","kafka.partition":1,"kafka.offset":7,"decision":"done","late_ms":3}"#,
        Some("OK|1/7|-|retry.30s|charged, 3 ms after it was due"),
    );
}

#[test]
fn a_record_that_moved_tells_why_and_where() {
    check_log(
        r#"{"level":"INFO","message":"record moved","kafka.topic":"x.brew.payments.v1","kafka.partition":1,"kafka.offset":7,"kafka.key":"k-9","decision":"forward","reason":"next-retry","to":"x.brew.payments.retry.30s","error.class":"transient","error.code":"provider.unavailable","error.message":"m"}"#,
        Some("FAIL|k-9|flap|main|provider.unavailable → retry.30s"),
    );
    check_log(
        r#"{"level":"INFO","message":"record moved","kafka.topic":"elsewhere","kafka.key":"k-1","decision":"dead-letter","reason":"permanent","to":"x.brew.payments.dlq","error.code":"provider.declined","dlq_reason":"declined"}"#,
        Some("FAIL|k-1|-|elsewhere|provider.declined → dlq (declined)"),
    );
}

#[test]
fn what_was_handed_back_or_is_wrong_is_shown_and_routine_is_not() {
    check_log(
        r#"{"level":"INFO","message":"handed back: it is not due yet","kafka.topic":"x.brew.payments.retry.30s","kafka.partition":0,"kafka.offset":2,"decision":"hand-back","reason":"not-due"}"#,
        Some("BACK|0/2|-|retry.30s|handed back: it is not due yet"),
    );
    check_log(
        r#"{"level":"ERROR","message":"GATEWAY_URL is not set"}"#,
        Some("TROUBLE||-|payments|GATEWAY_URL is not set"),
    );
    check_log("a panic below", Some("TROUBLE||-|payments|a panic below"));
    check_log(r#"{"level":"INFO","message":"batch","records":3}"#, None);
    check_log(
        r#"{"level":"INFO","message":"dead letter recorded","kafka.topic":"x.brew.payments.dlq"}"#,
        None,
    );
    check_log("", None);
}

/// Builds the alert as the dlq function writes it.
fn alert(number: u64, key: &str) -> String {
    let text = |name: &str, value: &str| Header {
        name: name.to_owned(),
        value: Some(value.to_owned().into()),
    };
    let record = Record {
        coordinates: pipeline::Coordinates {
            topic: "x.brew.payments.dlq".parse().unwrap(),
            partition: Partition::new(1).unwrap(),
            offset: Offset::new(2).unwrap(),
        },
        timestamp: Timestamp::from_millis(1_755_933_141_855),
        key: Some(key.to_owned().into()),
        value: None,
        headers: Headers::new(vec![
            text("error.class", "permanent"),
            text("error.message", "no \"funds\"\n[ALERT] #9"),
        ]),
    };
    let masker = Masker::default();
    alert_text(&Incident::of(&record, &masker), number, &masker)
}

#[test]
fn an_alert_is_one_step_and_is_counted_once() {
    let mut journey = Journey::of(cast());
    let text = format!("{}\n{}\n", alert(1, "k-9"), alert(2, "k-10"));
    let steps = text
        .lines()
        .filter_map(|line| told(journey.line(&wrote(Stream::Out, line))));
    let message = r#"class=permanent message="no \"funds\" [ALERT] #9""#;
    let steps: Vec<String> = steps.collect();
    assert_eq!(
        steps
            .iter()
            .map(|step| step.replace("\\n", " "))
            .collect::<Vec<_>>(),
        [
            format!("ALERT|k-9|flap|dlq 1/2|{message}"),
            format!("ALERT|k-10|-|dlq 1/2|{message}")
        ]
    );
    assert_eq!(journey.alerts(), 2);
}

#[test]
fn alerts_of_two_sandboxes_do_not_mix() {
    let mut journey = Journey::of(cast());
    let (one, other) = (alert(1, "k-9"), alert(1, "k-10"));
    let mut keys = Vec::new();
    for (first, second) in one.lines().zip(other.lines()) {
        for (sandbox, text) in [(0, first), (1, second)] {
            let line = Line {
                sandbox,
                ..wrote(Stream::Out, text)
            };
            keys.extend(journey.line(&line).map(|step| step.key));
        }
    }
    assert_eq!(keys, ["k-9", "k-10"]);
    assert_eq!(journey.alerts(), 2);
}

#[track_caller]
fn check_report(mapping: &str, progress: Progress, expected: Option<&str>) {
    let report = Report {
        mapping: mapping.into(),
        progress,
    };
    let step = Journey::of(cast()).report(&report);
    assert_eq!(told(step).as_deref(), expected);
}

fn delivered(records: usize, delivery: u32) -> Progress {
    Progress::Delivered {
        invocation: 1,
        parts: vec![Portion {
            partition: Partition::FIRST,
            first: Offset::FIRST,
            last: Offset::FIRST,
            records,
            delivery,
        }],
    }
}

#[test]
fn a_batch_on_a_retry_stage_waits_and_says_so_once() {
    check_report(
        "retry.30s",
        delivered(3, 1),
        Some("WAIT||-|retry.30s|3 records wait until they are 1 s old"),
    );
    check_report(
        "retry.30s",
        delivered(1, 1),
        Some("WAIT||-|retry.30s|1 record waits until it is 1 s old"),
    );
    check_report("retry.30s", delivered(3, 2), None);
    check_report("main", delivered(3, 1), None);
}

#[test]
fn an_invocation_without_an_answer_is_trouble_and_only_a_failed_start_is_the_end() {
    let answered = |verdict| Progress::Answered {
        invocation: 1,
        took: Duration::ZERO,
        verdict,
        answer: None,
        commits: Vec::new(),
    };
    check_report("main", answered(BatchVerdict::AllDone), None);
    check_report("main", answered(BatchVerdict::HandedBack(2)), None);
    let init = BatchVerdict::Failed(Fault::Init("no such file".to_owned()));
    let crash = BatchVerdict::Failed(Fault::Crashed("signal 9".to_owned()));
    for (verdict, expected) in [(init, Some("no such file")), (crash, None)] {
        let report = Report {
            mapping: "main".into(),
            progress: answered(verdict),
        };
        assert_eq!(cannot_start(&report), expected);
        assert_eq!(
            Journey::of(cast()).report(&report).map(|step| step.word),
            Some(Word::Trouble)
        );
    }
}

#[test]
fn a_long_text_is_cut_to_a_line() {
    let long = "ü".repeat(200);
    assert_eq!(shortened(&long).chars().count(), 96);
    assert_eq!(shortened("short"), "short");
}
