//! The project's own template.

use std::time::Duration;

use local::template::{ProvisionedPollers, TemplateOptions, TemplateSource};

use crate::bench::{read_well, with_parameters};

const OWN: &str = include_str!("../../../template.yaml");

#[test]
fn the_template_of_this_project_resolves_without_any_parameter() {
    let template = read_well(OWN, &TemplateOptions::default());
    assert_eq!(template.notes, Vec::<String>::new());
    let functions = template.functions.iter();
    let topics: Vec<(&str, &str, Option<&str>)> = functions
        .flat_map(|function| {
            let binary = function.binary.as_deref();
            let mappings = function.mappings.iter();
            mappings.map(move |mapping| (function.id.as_str(), mapping.topic.as_str(), binary))
        })
        .collect();
    assert_eq!(
        topics,
        [
            ("PaymentsMain", "brew.payments.v1", Some("payments")),
            (
                "PaymentsRetry1",
                "brew.payments.retry.30s",
                Some("payments")
            ),
            ("PaymentsRetry2", "brew.payments.retry.5m", Some("payments")),
            ("PaymentsRetry3", "brew.payments.retry.1h", Some("payments")),
            ("Dlq", "brew.payments.dlq", Some("dlq")),
        ]
    );
}

#[test]
fn its_mappings_lose_nothing() {
    let parameters = [("WithOrders", "true"), ("Pollers", "2")];
    let template = read_well(OWN, &with_parameters(&parameters));
    assert_eq!(template.functions.len(), 7);
    for function in &template.functions {
        for mapping in &function.mappings {
            let name = format!("{}.{}", function.id, mapping.event);
            assert_eq!(mapping.retries, None, "{name}");
            assert_eq!(mapping.max_age, None, "{name}");
            assert!(
                mapping.report_batch_item_failures && mapping.bisect,
                "{name}"
            );
            assert_eq!(function.env["BATCH_FAILURES"], "report", "{name}");
            let pollers = ProvisionedPollers {
                minimum: 2.try_into().unwrap(),
                maximum: 200.try_into().unwrap(),
                group: None,
            };
            assert_eq!(mapping.pollers, Some(pollers), "{name}");
            let brokers = "127.0.0.1:9092".to_owned();
            assert_eq!(
                mapping.source,
                TemplateSource::SelfManaged { brokers },
                "{name}"
            );
        }
    }
}

#[test]
fn in_standard_mode_its_functions_fail_in_place_of_reporting() {
    let template = read_well(OWN, &with_parameters(&[("PollerMode", "standard")]));
    assert_eq!(template.notes, Vec::<String>::new());
    for function in &template.functions {
        assert_eq!(function.env["BATCH_FAILURES"], "raise");
        for mapping in &function.mappings {
            assert!(!mapping.report_batch_item_failures && mapping.pollers.is_none());
        }
    }
}

#[test]
fn its_stages_follow_one_parameter() {
    let parameters = [
        ("RetryStages", "a.1s=1s,a.2s=2s,a.3s=3s"),
        ("MainTopic", "a.v1"),
    ];
    let template = read_well(OWN, &with_parameters(&parameters));
    let mappings = template
        .functions
        .iter()
        .flat_map(|function| &function.mappings);
    let topics: Vec<&str> = mappings
        .clone()
        .map(|mapping| mapping.topic.as_str())
        .collect();
    assert_eq!(
        topics,
        ["a.v1", "a.1s", "a.2s", "a.3s", "brew.payments.dlq"]
    );
    let windows: Vec<Option<Duration>> = mappings.map(|mapping| mapping.window).collect();
    let seconds = |number| Some(Duration::from_secs(number));
    assert_eq!(windows, [None, seconds(3), seconds(30), seconds(300), None]);
}
