mod invocations;

use serde_json::{Value, json};

use super::document::{MOST_METRICS, MOST_VALUES};
use super::*;
use crate::sim::Written;

const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);
const NAME: &str = "payments-main";

/// The units that CloudWatch knows and we use. Source: AWS, API reference, `MetricDatum`.
const UNITS: [&str; 2] = ["Count", "Milliseconds"];

/// How many dimensions a combination may have.
const MOST_DIMENSIONS: usize = 30;

/// Checks a line against AWS's specification, and returns it.
#[track_caller]
fn valid(line: &str) -> Value {
    assert!(line.len() < 256 * 1024, "{} bytes", line.len());
    let document: Value = serde_json::from_str(line).unwrap();
    assert!(document["_aws"]["Timestamp"].is_i64(), "{line}");
    for directive in document["_aws"]["CloudWatchMetrics"].as_array().unwrap() {
        assert_eq!(directive["Namespace"], "BrewPayments");
        let sets = directive["Dimensions"].as_array().unwrap();
        assert!(!sets.is_empty());
        for dimension in sets.iter().flat_map(|set| set.as_array().unwrap()) {
            let value = document[dimension.as_str().unwrap()].as_str().unwrap();
            assert!((1..=1_024).contains(&value.len()) && value.is_ascii());
        }
        for set in sets {
            assert!(set.as_array().unwrap().len() <= MOST_DIMENSIONS);
        }
        let metrics = directive["Metrics"].as_array().unwrap();
        assert!((1..=MOST_METRICS).contains(&metrics.len()));
        for metric in metrics {
            assert!(UNITS.contains(&metric["Unit"].as_str().unwrap()));
            let value = &document[metric["Name"].as_str().unwrap()];
            let values = value.as_array();
            assert!(values.is_none_or(|values| (1..=MOST_VALUES).contains(&values.len())));
            let mut numbers = values
                .map_or_else(|| std::slice::from_ref(value), Vec::as_slice)
                .iter();
            assert!(numbers.all(Value::is_number), "{line}");
        }
    }
    document
}

fn lines(measured: &Measured) -> Vec<String> {
    let heading = Heading {
        level: "INFO",
        message: "metrics",
    };
    document::lines(NAME, heading, NOW, measured)
}

fn failed(reason: &'static str, class: &'static str, code: &'static str) -> Failed {
    Failed {
        reason,
        class,
        code,
    }
}

#[test]
fn what_an_invocation_measured_is_a_line_that_cloudwatch_reads() {
    let mut measured = Measured::default();
    measured.count(Count::RecordsDone, 2);
    measured.count(Count::RecordsForwarded, 1);
    measured.count(Count::RecordsFaulted, 0);
    measured.time(Time::ChargeLatency, 120);
    measured.time(Time::ChargeLatency, -1);
    measured.fail(failed("next-retry", "transient", "provider.timeout"), 1);
    measured.note("kafka.topic", "brew.payments.v1");
    let lines = lines(&measured);
    assert_eq!(
        lines,
        [
            concat!(
                r#"{"level":"INFO","message":"metrics","_aws":{"Timestamp":1755933141855,"CloudWatchMetrics":[{"Namespace":"BrewPayments","Dimensions":[["Function"]],"#,
                r#""Metrics":[{"Name":"RecordsDone","Unit":"Count"},{"Name":"RecordsForwarded","Unit":"Count"},"#,
                r#"{"Name":"ChargeLatency","Unit":"Milliseconds"}]}]},"#,
                r#""Function":"payments-main","kafka.topic":"brew.payments.v1","#,
                r#""RecordsDone":2,"RecordsForwarded":1,"ChargeLatency":[120,0]}"#,
            ),
            concat!(
                r#"{"level":"INFO","message":"metrics","_aws":{"Timestamp":1755933141855,"CloudWatchMetrics":[{"Namespace":"BrewPayments","#,
                r#""Dimensions":[["Function","Reason"],["Function","ErrorClass","ErrorCode"]],"#,
                r#""Metrics":[{"Name":"Failures","Unit":"Count"}]}]},"#,
                r#""Function":"payments-main","Reason":"next-retry","ErrorClass":"transient","ErrorCode":"provider.timeout","#,
                r#""kafka.topic":"brew.payments.v1","Failures":1}"#,
            ),
        ]
    );
    for line in &lines {
        valid(line);
    }
}

#[test]
fn a_line_has_at_most_a_hundred_values_of_a_metric_and_none_is_lost() {
    let mut measured = Measured::default();
    for count in Count::ALL {
        measured.count(*count, 1);
    }
    for ms in 0..10_000 {
        measured.time(Time::ChargeLatency, ms);
        if ms < 101 {
            measured.time(Time::AskLatency, ms);
        }
    }
    let lines = lines(&measured);
    assert_eq!(lines.len(), 100);
    let documents: Vec<Value> = lines.iter().map(|line| valid(line)).collect();
    let all = |name: &str| -> Vec<i64> {
        let values = documents.iter().filter_map(|line| line[name].as_array());
        values.flatten().map(|ms| ms.as_i64().unwrap()).collect()
    };
    assert_eq!(all("ChargeLatency"), (0..10_000).collect::<Vec<_>>());
    assert_eq!(all("AskLatency"), (0..101).collect::<Vec<_>>());
    for count in Count::ALL {
        let told = documents
            .iter()
            .filter(|line| !line[count.name()].is_null());
        assert_eq!(told.count(), 1, "{count} is counted once");
    }
}

#[test]
fn each_kind_of_failure_has_a_line_of_its_own() {
    let mut measured = Measured::default();
    let timeout = failed("next-retry", "transient", "provider.timeout");
    for (kind, many) in [
        (timeout, 2),
        (failed("exhausted", "transient", "provider.timeout"), 3),
        (timeout, 5),
        (failed("permanent", "permanent", "handler.panic"), 0),
    ] {
        measured.fail(kind, many);
    }
    let lines = lines(&measured);
    let told: Vec<Value> = lines
        .iter()
        .map(|line| valid(line))
        .map(|line| json!([line["Reason"], line["ErrorCode"], line["Failures"]]))
        .collect();
    let code = "provider.timeout";
    assert_eq!(
        told,
        [
            json!(["exhausted", code, 3]),
            json!(["next-retry", code, 7])
        ]
    );
}

#[test]
fn where_nothing_was_measured_nothing_is_written() {
    let written = Written::default();
    let metrics = Metrics::new(NAME.parse().unwrap(), Box::new(written.clone()));
    let mut measured = Measured::default();
    measured.count(Count::RecordsDone, 0);
    measured.note("kafka.topic", "brew.payments.v1");
    assert!(measured.is_empty());
    metrics.write(&measured, NOW);
    assert_eq!(written.take(), Vec::<Value>::new());
    measured.count(Count::RecordsDone, 1);
    metrics.write(&measured, NOW);
    assert_eq!(written.take().len(), 1);
}

#[test]
fn what_was_measured_in_two_places_is_added_up() {
    let mut measured = Measured::default();
    measured.count(Count::RecordsDone, 1);
    measured.time(Time::Lateness, 1);
    let mut other = Measured::default();
    other.count(Count::RecordsDone, u64::MAX);
    other.time(Time::Lateness, 2);
    other.fail(failed("failed", "transient", "provider.busy"), 1);
    measured.add(other);
    let [line, failure] = lines(&measured).try_into().unwrap();
    assert_eq!(valid(&line)["RecordsDone"], u64::MAX);
    assert_eq!(valid(&line)["Lateness"], json!([1, 2]));
    assert_eq!(valid(&failure)["Failures"], 1);
}

#[test]
fn only_a_name_that_can_be_a_dimension_is_a_functions_name() {
    let long = "x".repeat(1_024);
    for good in ["payments", "stack-PaymentsMain-A1b2", long.as_str()] {
        assert!(good.parse::<FunctionName>().is_ok(), "{good}");
    }
    let longer = "x".repeat(1_025);
    for wrong in ["", " ", "a b", ":a", "a\n", "ä", longer.as_str()] {
        assert!(wrong.parse::<FunctionName>().is_err(), "{wrong}");
    }
}

#[test]
fn the_table_for_operators_and_the_code_tell_of_the_same_metrics() {
    let docs = include_str!("../../../../docs/metrics.md");
    let (names, _) = docs.split_once("\n## Alarms").unwrap();
    let rows = names.lines().filter_map(|line| line.strip_prefix("| `"));
    let told: Vec<(String, String, String)> = rows
        .map(|row| {
            let mut cells = row.split(" | ").map(|cell| cell.replace('`', ""));
            let mut cell = || cells.next().unwrap();
            (cell(), cell(), cell())
        })
        .collect();
    let known: Vec<(String, String, String)> = definitions()
        .iter()
        .map(|metric| {
            let set = |set: &[Dimension]| {
                let names = set.iter().map(|dimension| format!("{dimension:?}"));
                names.collect::<Vec<_>>().join(", ")
            };
            let sets = metric.dimensions.iter().map(|dimensions| set(dimensions));
            let sets = sets.collect::<Vec<_>>().join("; ");
            (metric.name.to_owned(), metric.unit.to_owned(), sets)
        })
        .collect();
    assert_eq!(told, known);
}

#[test]
fn every_name_is_told_once_and_every_unit_is_one_of_cloudwatchs() {
    let definitions = definitions();
    for metric in &definitions {
        let same = definitions.iter().filter(|other| other.name == metric.name);
        assert_eq!(same.count(), 1, "{}", metric.name);
        assert!(UNITS.contains(&metric.unit), "{}", metric.unit);
    }
}
