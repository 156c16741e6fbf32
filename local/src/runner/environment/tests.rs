use std::time::Duration;

use super::*;
use crate::runner::plan::tests::{function, mapping};

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let entries = entries.iter();
    entries
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn check(function: &TemplateFunction, options: &RunOptions, expected: &[(&str, &str)]) {
    let environment = Environment::of(function, options).unwrap();
    assert_eq!(environment.variables, map(expected));
}

#[test]
fn the_template_wins_over_credentials_that_were_found() {
    let options = RunOptions {
        credentials: map(&[("AWS_ACCESS_KEY_ID", "found"), ("AWS_SESSION_TOKEN", "t")]),
        ..RunOptions::default()
    };
    let function = TemplateFunction {
        env: map(&[("A", "1"), ("AWS_ACCESS_KEY_ID", "own")]),
        ..function("Main", &[])
    };
    let expected = [
        ("A", "1"),
        ("AWS_ACCESS_KEY_ID", "own"),
        ("AWS_SESSION_TOKEN", "t"),
    ];
    check(&function, &options, &expected);
}

fn climbing(binary: &str, stages: Option<&str>) -> TemplateFunction {
    let stages: Vec<(&str, &str)> = stages
        .map(|stages| (RETRY_STAGES, stages))
        .into_iter()
        .collect();
    TemplateFunction {
        binary: Some(binary.to_owned()),
        env: map(&stages),
        ..function("Main", &[])
    }
}

#[test]
fn fast_rewrites_the_ladder_that_a_function_has_and_gives_one_to_those_that_climb_the_default() {
    let fast = RunOptions {
        speed: Speed::Fast,
        ..RunOptions::default()
    };
    let default = "brew.payments.retry.30s=1s,brew.payments.retry.5m=2s,brew.payments.retry.1h=3s";
    check(
        &climbing("any", Some("a=1h,b=2h")),
        &fast,
        &[(RETRY_STAGES, "a=1s,b=2s")],
    );
    check(
        &climbing("payments", Some("a=1h")),
        &fast,
        &[(RETRY_STAGES, "a=1s")],
    );
    check(
        &climbing("payments", Some("")),
        &fast,
        &[(RETRY_STAGES, "")],
    );
    check(
        &climbing("payments", None),
        &fast,
        &[(RETRY_STAGES, default)],
    );
    check(&climbing("replay", None), &fast, &[(RETRY_STAGES, default)]);
    check(&climbing("dlq", None), &fast, &[]);
    let real = RunOptions::default();
    check(&climbing("payments", None), &real, &[]);
    check(
        &climbing("payments", Some("a=1h")),
        &real,
        &[(RETRY_STAGES, "a=1h")],
    );
}

#[test]
fn a_ladder_from_the_command_line_is_not_made_faster() {
    let options = RunOptions {
        speed: Speed::Fast,
        env: map(&[(RETRY_STAGES, "a=1h")]),
        ..RunOptions::default()
    };
    // As the template's reader puts it there; it comes again with what wins.
    check(
        &climbing("payments", Some("a=1h")),
        &options,
        &[(RETRY_STAGES, "a=1h")],
    );
}

#[test]
fn a_ladder_that_is_none_is_told_by_its_variable() {
    let fast = RunOptions {
        speed: Speed::Fast,
        ..RunOptions::default()
    };
    let problem = Environment::of(&climbing("any", Some("nonsense")), &fast).unwrap_err();
    assert!(
        problem.starts_with("RETRY_STAGES: \"nonsense\""),
        "{problem}"
    );
}

/// Returns what becomes of `BATCH_FAILURES` and whether it is told, for mappings that read answers or do not.
fn failures(reading: &[bool], template: &str, flag: Option<&str>) -> (String, Option<String>) {
    let mappings = reading
        .iter()
        .map(|reads| crate::template::TemplateMapping {
            report_batch_item_failures: *reads,
            ..mapping("orders")
        });
    let function = TemplateFunction {
        env: map(&[(BATCH_FAILURES, template)]),
        mappings: mappings.collect(),
        timeout: Duration::from_secs(3),
        ..function("Main", &[])
    };
    let flags: Vec<(&str, &str)> = flag
        .map(|value| (BATCH_FAILURES, value))
        .into_iter()
        .collect();
    let options = RunOptions {
        env: map(&flags),
        ..RunOptions::default()
    };
    let Environment { variables, note } = Environment::of(&function, &options).unwrap();
    (variables[BATCH_FAILURES].clone(), note)
}

#[test]
fn a_function_whose_answers_are_ignored_must_raise_what_it_does_not_do() {
    let check = |reading: &[bool], template: &str, expected: &str, told: bool| {
        let (value, note) = failures(reading, template, None);
        assert_eq!(
            (value.as_str(), note.is_some()),
            (expected, told),
            "{reading:?} {note:?}"
        );
    };
    check(&[true], "report", "report", false);
    check(&[false], "raise", "raise", false);
    check(&[false], "report", "raise", true);
    check(&[true, false], "report", "raise", true);
}

#[test]
fn what_the_command_line_says_of_failures_holds_and_is_told_where_it_loses_records() {
    let (_, note) = failures(&[false], "raise", Some("report"));
    assert!(note.unwrap().contains("LOST"));
    assert_eq!(failures(&[false], "report", Some("raise")).1, None);
    assert_eq!(failures(&[true], "raise", Some("report")).1, None);
}
