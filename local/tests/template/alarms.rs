//! What the project's own template raises alarms on and shows: metrics that there are.

use lambda::metrics::definitions;
use regex::Regex;

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
