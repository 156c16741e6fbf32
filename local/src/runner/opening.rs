//! What a run begins with.

use pipeline::Timestamp;

use super::plan::Plan;
use super::planned::{PlannedFunction, Way};
use crate::mapping::{Answers, Bisect, MappingSettings, Pollers, Redelivery, StartingPosition};

/// Returns what runs, and how: a line for each function, and one below it for each of its mappings.
pub fn opening(template: &str, plan: &Plan) -> Vec<String> {
    let mut lines = vec![format!("template {template}")];
    for function in &plan.functions {
        lines.push(of_function(function));
        lines.extend(function.mappings.iter().map(of_mapping));
    }
    lines
}

fn of_function(function: &PlannedFunction) -> String {
    let PlannedFunction { id, way, .. } = function;
    let limits = match way {
        Way::Command(_) | Way::Package(_) => format!(
            " ({} s, {} MB, up to {} at once)",
            function.timeout.as_secs_f64(),
            function.memory_mb,
            function.sandboxes
        ),
        Way::Endpoint { .. } => String::new(),
    };
    format!("function {id} runs {way}{limits}")
}

fn of_mapping(mapping: &MappingSettings) -> String {
    let MappingSettings {
        name,
        topic,
        brokers,
        group,
        batching,
        ..
    } = mapping;
    let mut parts = vec![
        format!("  mapping {name}: topic {topic} at {brokers}"),
        format!("group {group}"),
        start(mapping.start),
        format!(
            "{} records or {} s",
            batching.size,
            batching.window.as_secs_f64()
        ),
        pollers(mapping.pollers),
        answers(mapping.answers).to_owned(),
    ];
    match mapping.bisect {
        Bisect::On => parts.push("bisecting".to_owned()),
        Bisect::Off => {}
    }
    parts.extend(
        mapping
            .retries
            .map(|retries| format!("DISCARDING after {retries} retries")),
    );
    parts.extend(
        mapping
            .max_age
            .map(|age| format!("DISCARDING after {} s", age.as_secs())),
    );
    parts.join(", ")
}

fn start(start: StartingPosition) -> String {
    match start {
        StartingPosition::TrimHorizon => "from TRIM_HORIZON".to_owned(),
        StartingPosition::Latest => "from LATEST".to_owned(),
        StartingPosition::AtTimestamp(millis) => {
            let at = Timestamp::from_millis(millis).to_rfc3339();
            format!("from {}", at.unwrap_or_else(|| millis.to_string()))
        }
    }
}

fn pollers(pollers: Pollers) -> String {
    match pollers {
        Pollers::Standard => "standard mode".to_owned(),
        Pollers::Provisioned(pollers) if pollers.get() == 1 => "1 poller".to_owned(),
        Pollers::Provisioned(pollers) => format!("{pollers} pollers"),
    }
}

const fn answers(answers: Answers) -> &'static str {
    match answers {
        Answers::Reported(Redelivery::Resume) => "partial answers resume at the lowest offset",
        Answers::Reported(Redelivery::Items) => "partial answers bring back the listed records",
        Answers::Ignored => "answers ignored",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runner::RunOptions;
    use crate::runner::plan::tests::{function, mapping};
    use crate::template::{Template, TemplateFunction, TemplateMapping};

    #[test]
    fn a_run_begins_with_what_runs_and_how() {
        let discarding = TemplateMapping {
            event: "Other".to_owned(),
            report_batch_item_failures: false,
            start: StartingPosition::AtTimestamp(1_755_933_141_805),
            retries: Some(2),
            max_age: Some(Duration::from_mins(1)),
            bisect: true,
            ..mapping("other")
        };
        let function = TemplateFunction {
            binary: Some("orders".to_owned()),
            mappings: vec![mapping("orders"), discarding],
            ..function("Main", &[])
        };
        let template = Template {
            functions: vec![function],
            notes: Vec::new(),
        };
        let plan = Plan::new(template, &RunOptions::default(), |_| true).unwrap();
        let expected = [
            "template t.yaml",
            "function Main runs as the workspace's orders (3 s, 128 MB, up to 128 at once)",
            "  mapping Main.Records: topic orders at b:9092, group orders.orders, from TRIM_HORIZON, 100 records or 0.5 s, standard mode, partial answers resume at the lowest offset",
            "  mapping Main.Other: topic other at b:9092, group orders.other, from 2025-08-23T07:12:21.805Z, 100 records or 0.5 s, standard mode, answers ignored, bisecting, DISCARDING after 2 retries, DISCARDING after 60 s",
        ];
        assert_eq!(opening("t.yaml", &plan), expected);
    }
}
