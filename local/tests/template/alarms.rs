//! What the project's own template raises alarms on and shows: metrics that there are.

use lambda::metrics::definitions;
use pipeline::Timestamp;
use pipeline::replay::{Request, Terms};
use regex::Regex;
use serde_json::Value;

use crate::own::OWN;
use crate::tree::{Kind, Tree};

/// Tells whether functions write a metric with exactly these dimensions.
fn is_ours(name: &str, dimensions: &[&str]) -> bool {
    definitions().iter().any(|metric| {
        let written = metric.dimensions.iter().map(|set| {
            let names = set.iter().map(|dimension| format!("{dimension:?}"));
            names.collect::<Vec<_>>()
        });
        metric.name == name && written.into_iter().any(|set| set == dimensions)
    })
}

/// Returns the metrics of ours that alarms look at, and says which are none.
fn strangers(template: &str) -> (usize, Vec<String>) {
    let (mut looked_at, mut strangers) = (0, Vec::new());
    Tree::read(template).each(&mut |node| {
        if node.get("Namespace").and_then(Tree::text) != Some("BrewPayments") {
            return;
        }
        looked_at += 1;
        let name = node.get("MetricName").and_then(Tree::text).unwrap();
        let Some(Kind::List(dimensions)) = node.get("Dimensions").map(|found| &found.kind) else {
            panic!("{name} has no dimensions")
        };
        let names = dimensions.iter().map(|one| one.get("Name").unwrap());
        let names: Vec<&str> = names.map(|name| name.text().unwrap()).collect();
        if !is_ours(name, &names) {
            strangers.push(format!("{name} by {names:?}"));
        }
    });
    (looked_at, strangers)
}

#[test]
fn every_alarm_looks_at_a_metric_that_functions_write() {
    let (looked_at, strangers) = strangers(OWN);
    assert_eq!(strangers, Vec::<String>::new());
    assert!(looked_at > 20, "{looked_at}");
}

#[test]
fn an_alarm_on_a_metric_that_nobody_writes_is_found() {
    for (from, to) in [
        ("MetricName: RecordsFaulted", "MetricName: RecordFaulted"),
        (
            "{Name: ErrorCode, Value: handler.crashed}",
            "{Name: Code, Value: handler.crashed}",
        ),
        (", {Name: ErrorClass, Value: transient}", ""),
    ] {
        assert!(OWN.contains(from), "{from}");
        let (_, strangers) = strangers(&OWN.replacen(from, to, 1));
        assert_eq!(strangers.len(), 1, "{from} → {to}");
    }
}

/// Who reads a topic can fall behind, in records and in time, and be kept from it.
#[test]
fn every_function_that_reads_a_topic_has_alarms_on_its_lag_its_lateness_and_its_throttles() {
    let mapped =
        Regex::new(r"(?m)^ +(\S+)Mapping:\n +Type: AWS::Lambda::EventSourceMapping$").unwrap();
    let mut readers = 0;
    for captures in mapped.captures_iter(OWN) {
        let reader = &captures[1];
        for (alarm, metric) in [
            ("Lag", "OffsetLag"),
            ("Late", "Lateness"),
            ("Throttled", "Throttles"),
        ] {
            let begins = format!(" {reader}{alarm}:\n");
            let (_, alarm) = OWN
                .split_once(begins.as_str())
                .unwrap_or_else(|| panic!("{begins} is missing"));
            let alarm = alarm.split("Type: AWS::").nth(1).unwrap();
            assert!(alarm.contains(&format!("MetricName: {metric}")), "{alarm}");
            let function = [
                format!("Value: !Ref {reader}}}]"),
                format!("Value: {{Ref: !Sub '{reader}'}}}}]"),
            ];
            assert!(function.iter().any(|it| alarm.contains(it)), "{alarm}");
        }
        readers += 1;
    }
    assert_eq!(readers, 5);
}

/// An alarm that waits for a code which no function writes would never be raised.
#[test]
fn every_alarm_on_a_failure_names_a_code_that_there_is() {
    let codes =
        Regex::new(r"Name: ErrorClass, Value: (\w+)\}, \{Name: ErrorCode, Value: ([\w.]+)\}")
            .unwrap();
    let mut found = 0;
    for captures in codes.captures_iter(OWN) {
        let code = pipeline::ErrorCode::ALL
            .iter()
            .find(|code| code.as_str() == &captures[2])
            .unwrap_or_else(|| panic!("there is no code {}", &captures[2]));
        assert_eq!(code.class().as_str(), &captures[1]);
        found += 1;
    }
    assert!(found > 3, "{found}");
}

#[test]
fn the_dashboard_shows_metrics_that_there_are() {
    let searched =
        Regex::new(r#"SEARCH\('\{BrewPayments,([\w,]+)\} MetricName=\\"(\w+)\\""#).unwrap();
    let named = Regex::new(r#"\["BrewPayments", "(\w+)", "(\w+)""#).unwrap();
    let mut shown = 0;
    for found in searched.captures_iter(OWN) {
        let dimensions: Vec<&str> = found.get(1).unwrap().as_str().split(',').collect();
        assert!(is_ours(&found[2], &dimensions), "{}", &found[0]);
        shown += 1;
    }
    for found in named.captures_iter(OWN) {
        assert!(is_ours(&found[1], &[&found[2]]), "{}", &found[0]);
        shown += 1;
    }
    assert!(shown > 8, "{shown}");
}

/// CloudWatch finds a single word in any case, and so in the name of a stack that is called brew-payments, too.
#[test]
fn a_search_tells_functions_apart_by_more_than_a_word_of_the_stacks_name() {
    let narrowed = Regex::new(r"\$\{AWS::StackName\} ([^']+)'").unwrap();
    let mut found = 0;
    for captures in narrowed.captures_iter(OWN) {
        let words = captures[1].split(['(', ')', ' ']);
        for word in words.filter(|word| !matches!(*word, "" | "OR")) {
            let stage = word.strip_prefix("Payments").unwrap_or_default();
            assert!(!stage.is_empty(), "{}", &captures[0]);
            found += 1;
        }
    }
    assert_eq!(found, 2);
}

/// An invocation that ends with its process writes no metric; Lambda counts it. Where answers are not looked at it counts each wait as well.
#[test]
fn invocations_that_end_without_an_answer_raise_the_alarm_of_every_reader_in_provisioned_mode() {
    let errors = Regex::new(
        r"(?m)^ +- !If\n +- Provisioned\n +- \{Id: m3.*MetricName: Errors, Dimensions: \[\{Name: FunctionName, Value: (.+?)\}\]\}\}\}\n +- !Ref AWS::NoValue$",
    )
    .unwrap();
    let mut seen: Vec<&str> = errors
        .captures_iter(OWN)
        .map(|captures| captures.get(1).unwrap().as_str())
        .collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            "!Ref Dlq",
            "!Ref Orders",
            "!Ref OrdersDlq",
            "!Ref PaymentsMain",
            "{Ref: !Sub 'Payments${Stage}'}",
        ]
    );
    assert_eq!(OWN.matches("MetricName: Errors").count(), seen.len());
}

const DAY_MS: i64 = 86_400_000;

/// What the watch asks replay for, with and without permanent dead letters, as replay itself reads it.
fn watched() -> [Request; 2] {
    let (from, to) = ("dlq".parse().unwrap(), "main".parse().unwrap());
    let terms = Terms {
        from: &from,
        to: &to,
        targets: std::slice::from_ref(&to),
        new_id: "run-1",
        now: Timestamp::from_millis(30 * DAY_MS),
    };
    let tree = Tree::read(OWN);
    let watch = tree.get("Resources").unwrap().get("ReplayWatch").unwrap();
    let target = watch.get("Properties").unwrap().get("Target").unwrap();
    assert_eq!(target.get("Arn").unwrap().texts(), ["!GetAtt Replay.Arn"]);
    let Kind::List(branches) = &target.get("Input").unwrap().kind else {
        panic!("no choice of payloads")
    };
    let [condition, any, transient] = branches.as_slice() else {
        panic!("{branches:?}")
    };
    assert_eq!(condition.text(), Some("WatchPermanent"));
    [any, transient].map(|payload| Request::read(payload.text().unwrap(), &terms).unwrap())
}

#[test]
fn the_watch_publishes_nothing_and_asks_for_what_is_older_than_half_of_the_retention() {
    let retention = Regex::new(r"retention\.ms=(\d+)").unwrap();
    let (_, dlq) = OWN.split_once("\n  DlqMskTopic:\n").unwrap();
    let retention: i64 = retention.captures(dlq).unwrap()[1].parse().unwrap();
    let (_, alarm) = OWN.split_once("\n  ReplayUnreplayed:\n").unwrap();
    let threshold = Regex::new(r"Threshold: (\d+)").unwrap();
    let threshold: i64 = threshold.captures(alarm).unwrap()[1].parse().unwrap();
    assert_eq!(threshold, retention / 2);
    let [any, transient] = watched();
    let class = |request: &Request| request.asked()["error_class"].clone();
    assert_eq!(class(&any), Value::Null);
    assert_eq!(class(&transient), "transient");
    for request in [any, transient] {
        assert!(request.dry_run && !request.again);
        let until = request.selection.window.until.unwrap();
        assert_eq!(30 * DAY_MS - until.millis(), threshold);
        assert_eq!(request.limit.unwrap().each, 100);
        assert!(request.selection.max_replays > Request::MAX_REPLAYS);
    }
}
