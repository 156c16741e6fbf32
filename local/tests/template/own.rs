//! The project's own template: what runs, from where, and that nothing is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use local::mapping::StartingPosition;
use local::template::{Template, TemplateMapping, TemplateSource};

use crate::bench::{options, read, read_well, with_parameters};

pub(crate) const OWN: &str = include_str!("../../../template.yaml");

/// What has no default, since none would be safe.
const REQUIRED: [(&str, &str); 5] = [
    ("KafkaBrokers", "127.0.0.1:9092"),
    ("GatewayUrl", "http://127.0.0.1:8081"),
    ("IncidentBucket", "brew-incidents"),
    ("MainStart", "LATEST"),
    ("OperatorRoleArn", "arn:aws:iam::000000000000:role/operator"),
];

/// The longest that Lambda supports a function behind a mapping of Kafka. Source: its developer guide, with-msk-configure.html.
const MAPPED: Duration = Duration::from_mins(14);

fn own(more: &[(&str, &str)]) -> Template {
    read_well(OWN, &with_parameters(&[&REQUIRED, more].concat()))
}

/// Returns each mapping with its function's logical ID.
fn mappings(template: &Template) -> Vec<(&str, &TemplateMapping)> {
    let functions = template.functions.iter();
    functions
        .flat_map(|function| {
            let mappings = function.mappings.iter();
            mappings.map(|mapping| (function.id.as_str(), mapping))
        })
        .collect()
}

fn topics(template: &Template) -> Vec<(&str, &str)> {
    let mappings = mappings(template).into_iter();
    mappings
        .map(|(id, mapping)| (id, mapping.topic.as_str()))
        .collect()
}

const LADDER: [(&str, &str); 5] = [
    ("PaymentsMain", "brew.payments.v1"),
    ("Payments30s", "brew.payments.retry.30s"),
    ("Payments5m", "brew.payments.retry.5m"),
    ("Payments1h", "brew.payments.retry.1h"),
    ("Dlq", "brew.payments.dlq"),
];

/// Says how a mapping could lose a record, or let one wait longer than it must.
fn losses(template: &Template) -> Vec<String> {
    let mut losses = Vec::new();
    let mut groups = BTreeSet::new();
    for function in &template.functions {
        for mapping in &function.mappings {
            let mut wrong = |what: &str| losses.push(format!("{}: {what}", function.id));
            if mapping.retries.is_some() {
                wrong("retries end");
            }
            if mapping.max_age.is_some() {
                wrong("records grow too old");
            }
            if mapping.pollers.is_some() != mapping.report_batch_item_failures
                || mapping.pollers.is_some() != mapping.bisect
            {
                wrong("what provisioned mode offers is not what is used");
            }
            let raises = function.env["BATCH_FAILURES"] == "raise";
            if raises == mapping.report_batch_item_failures {
                wrong("function and mapping disagree on how failures are told");
            }
            if function.timeout > MAPPED {
                wrong("the function runs for longer than its mapping waits");
            }
            if !groups.insert(mapping.group.clone()) || mapping.group.is_none() {
                wrong("has no group of its own");
            }
            if let Some(delay) = delay(function.env.get("RETRY_STAGES"), mapping.topic.as_str()) {
                let tenth = delay / 10;
                if mapping.window.is_none_or(|window| window > tenth) {
                    wrong("the window is above a tenth of the delay");
                }
                if function.timeout != MAPPED {
                    wrong("it waits, and has not all the time that there is");
                }
            }
        }
    }
    losses
}

fn delay(stages: Option<&String>, topic: &str) -> Option<Duration> {
    let entries = stages?.split(',').filter_map(|entry| entry.split_once('='));
    let (_, delay) = entries.into_iter().find(|(name, _)| *name == topic)?;
    Some(delay.parse::<pipeline::Span>().unwrap().to_duration())
}

#[test]
fn the_template_of_this_project_resolves_with_what_has_no_default() {
    let template = own(&[]);
    assert_eq!(template.notes, Vec::<String>::new());
    assert_eq!(topics(&template), LADDER);
    for function in &template.functions {
        let program = if function.id == "Dlq" {
            "dlq"
        } else {
            "payments"
        };
        assert_eq!(function.binary.as_deref(), Some(program), "{}", function.id);
    }
    let main = &template.functions[0];
    assert_eq!(main.reserved_concurrency, Some(20));
    assert_eq!(main.mappings[0].start, StartingPosition::Latest);
}

#[test]
fn where_main_starts_is_never_left_to_a_default() {
    let without: Vec<(&str, &str)> = REQUIRED
        .into_iter()
        .filter(|(name, _)| *name != "MainStart")
        .collect();
    let problems = read(OWN, &with_parameters(&without)).unwrap_err();
    assert!(
        problems
            .iter()
            .all(|one| one.contains("give --parameter MainStart=")),
        "{problems:?}"
    );
    let at = own(&[
        ("MainStart", "AT_TIMESTAMP"),
        ("MainStartTimestamp", "1755933141"),
    ]);
    assert_eq!(
        at.functions[0].mappings[0].start,
        StartingPosition::AtTimestamp(1_755_933_141_000)
    );
    let taken_over = own(&[("MainGroup", "the-old-one")]);
    let group = &taken_over.functions[0].mappings[0].group;
    assert_eq!(group.as_deref(), Some("the-old-one"));
}

#[test]
fn its_mappings_lose_nothing() {
    for mode in ["provisioned", "standard"] {
        for cluster in ["", "arn:aws:kafka:eu-central-1:1:cluster/c/u"] {
            let template = own(&[
                ("WithOrders", "true"),
                ("PollerMode", mode),
                ("ClusterArn", cluster),
            ]);
            assert_eq!(template.functions.len(), 7);
            assert_eq!(template.notes, Vec::<String>::new());
            assert_eq!(losses(&template), Vec::<String>::new(), "{mode} {cluster}");
            for (id, mapping) in mappings(&template) {
                let is_msk = matches!(mapping.source, TemplateSource::Msk { .. });
                assert_eq!(is_msk, !cluster.is_empty(), "{id}");
                let group = mapping
                    .pollers
                    .as_ref()
                    .map(|pollers| pollers.group.as_deref());
                let expected = (mode == "provisioned").then_some(Some("local"));
                assert_eq!(group, expected, "{id}");
            }
        }
    }
}

#[test]
fn a_mapping_that_could_lose_something_is_found() {
    for (from, to) in [
        (
            "MaximumRetryAttempts: !If [Provisioned, -1,",
            "MaximumRetryAttempts: !If [Provisioned, 5,",
        ),
        (
            "MaximumRecordAgeInSeconds: !If [Provisioned, -1,",
            "MaximumRecordAgeInSeconds: !If [Provisioned, 604800,",
        ),
        (
            "BisectBatchOnFunctionError: !If [Provisioned, true,",
            "BisectBatchOnFunctionError: !If [Provisioned, false,",
        ),
        (
            "BATCH_FAILURES: !If [Provisioned, report, raise]",
            "BATCH_FAILURES: report",
        ),
        ("    30s: {Seconds: 3}", "    30s: {Seconds: 4}"),
        ("Timeout: 840", "Timeout: 60"),
        ("Timeout: 840", "Timeout: 900"),
        (
            "ConsumerGroupId: !Sub 'dlq.${DlqTopic}'",
            "ConsumerGroupId: !Sub 'payments.${MainTopic}'",
        ),
    ] {
        assert!(OWN.contains(from), "{from}");
        let mutated = OWN.replace(from, to);
        let modes = ["provisioned", "standard"].map(|mode| {
            let parameters = [&REQUIRED[..], &[("PollerMode", mode)]].concat();
            losses(&read_well(&mutated, &with_parameters(&parameters)))
        });
        assert_ne!(modes.concat(), Vec::<String>::new(), "{from} → {to}");
    }
    let with_destination = OWN.replacen(
        "          BatchSize: 100",
        "          DestinationConfig: {OnFailure: {Destination: 'arn:aws:sqs:x'}}\n          BatchSize: 100",
        1,
    );
    let problems = read(&with_destination, &with_parameters(&REQUIRED)).unwrap_err();
    assert!(
        problems[0].contains("on-failure destinations"),
        "{problems:?}"
    );
}

/// A poller runs five invocations at most, and one that waits counts.
#[test]
fn a_stage_that_waits_has_a_poller_for_every_five_partitions() {
    let declared = OWN.split_once("  RetryPartitions:").unwrap().1;
    let declared = declared.split_once("AllowedValues: [").unwrap().1;
    let declared = declared.split_once(']').unwrap().0;
    for partitions in declared.split(", ") {
        let partitions = partitions.trim_matches('\'');
        let template = own(&[("RetryPartitions", partitions)]);
        let retry = &template.functions[1].mappings[0];
        let pollers = retry.pollers.as_ref().unwrap();
        let needed = partitions.parse::<usize>().unwrap().div_ceil(5);
        assert_eq!(pollers.minimum.get(), needed, "{partitions}");
        assert_eq!(pollers.maximum.get(), needed, "{partitions}");
    }
}

#[test]
fn the_ladder_follows_parameters_alone() {
    let template = own(&[
        (
            "RetryStages",
            "brew.payments.retry.30s=30s,brew.payments.retry.1h=1h,brew.payments.retry.24h=24h",
        ),
        ("DrainStages", "brew.payments.retry.5m=5m"),
        ("Stages", "30s,5m,1h,24h"),
    ]);
    let mut expected = LADDER.to_vec();
    expected.insert(4, ("Payments24h", "brew.payments.retry.24h"));
    assert_eq!(topics(&template), expected);
    assert_eq!(losses(&template), Vec::<String>::new());
    let drained = own(&[
        ("RetryStages", "a.1s=1s"),
        ("RetryPrefix", "a."),
        ("Stages", "1s"),
    ]);
    assert_eq!(
        topics(&drained),
        [LADDER[0], ("Payments1s", "a.1s"), LADDER[4]]
    );
    let none = own(&[("RetryStages", ""), ("Stages", "none")]);
    assert_eq!(topics(&none), [LADDER[0], LADDER[4]]);
}

#[test]
fn brokers_are_those_of_the_parameter() {
    let options = local::template::TemplateOptions {
        fixed_brokers: None,
        ..with_parameters(&REQUIRED)
    };
    assert_ne!(options, self::options());
    let template = read_well(OWN, &options);
    for (_, mapping) in mappings(&template) {
        let brokers = "127.0.0.1:9092".to_owned();
        assert_eq!(mapping.source, TemplateSource::SelfManaged { brokers });
    }
}
