//! Kafka mappings: their properties, bounds and refusals.

use std::time::Duration;

use local::mapping::StartingPosition;
use local::template::{ProvisionedPollers, TemplateMapping, TemplateSource};

use crate::bench::{check_problems, mapping, options, read_well, with_mapping};

pub(crate) const AT: &str = "Resources.F.Properties.Events.E.Properties";
pub(crate) const ARN: &str =
    "arn:aws:kafka:eu-central-1:111122223333:cluster/brew/6357e0b2-0e6a-4b86-a0b4-70df934c2e31-5";

pub(crate) fn msk(properties: &str) -> String {
    let properties = format!(
        "            Stream: '{ARN}', Topics: [t], StartingPosition: LATEST,\n            {properties}"
    );
    with_mapping("MSK", &properties)
}

pub(crate) fn read(properties: &str) -> TemplateMapping {
    mapping(&read_well(&msk(properties), &options())).clone()
}

/// Asserts that a property, in line 9, is refused.
pub(crate) fn refuse(properties: &str, expected: &str) {
    let expected = format!("t.yaml:9: {AT}.{expected}");
    check_problems(&msk(properties), &options(), &[&expected]);
}

fn note(properties: &str, expected: &[&str]) {
    let notes = read_well(&msk(properties), &options()).notes;
    let expected: Vec<String> = expected
        .iter()
        .map(|what| format!("t.yaml:9: {AT}.{what}"))
        .collect();
    assert_eq!(notes, expected, "{properties}");
}

#[test]
fn a_mapping_that_says_little_has_lambdas_defaults() {
    assert_eq!(
        read(""),
        TemplateMapping {
            event: "E".to_owned(),
            source: TemplateSource::Msk {
                arn: ARN.to_owned()
            },
            topic: "t".parse().unwrap(),
            group: None,
            start: StartingPosition::Latest,
            batch_size: 100.try_into().unwrap(),
            window: None,
            report_batch_item_failures: false,
            bisect: false,
            retries: None,
            max_age: None,
            pollers: None,
        }
    );
}

#[test]
fn a_mapping_says_everything_that_it_can() {
    let properties = "BatchSize: 10000, MaximumBatchingWindowInSeconds: 300, ConsumerGroupId: 'my group/*:_+=.@-1',
            FunctionResponseTypes: [ReportBatchItemFailures], BisectBatchOnFunctionError: true, MaximumRetryAttempts: 0,
            MaximumRecordAgeInSeconds: 60, Enabled: 'true', KmsKeyArn: !GetAtt Key.Arn, LoggingConfig: {SystemLogLevel: INFO},
            MetricsConfig: {Metrics: [KafkaMetrics]}, SourceAccessConfigurations: [{Type: BASIC_AUTH, URI: !Ref Secret}],
            ProvisionedPollerConfig: {MinimumPollers: 3, MaximumPollers: 2000, PollerGroupName: brew-1}";
    assert_eq!(
        read(properties),
        TemplateMapping {
            group: Some("my group/*:_+=.@-1".to_owned()),
            batch_size: 10_000.try_into().unwrap(),
            window: Some(Duration::from_mins(5)),
            report_batch_item_failures: true,
            bisect: true,
            retries: Some(0),
            max_age: Some(Duration::from_mins(1)),
            pollers: Some(ProvisionedPollers {
                minimum: 3.try_into().unwrap(),
                maximum: 2000.try_into().unwrap(),
                group: Some("brew-1".to_owned()),
            }),
            ..read("")
        }
    );
    let edge = read(
        "BatchSize: 1, MaximumBatchingWindowInSeconds: 0, MaximumRetryAttempts: 10000, MaximumRecordAgeInSeconds: 604800",
    );
    assert_eq!(edge.batch_size.get(), 1);
    assert_eq!(edge.window, Some(Duration::ZERO));
    assert_eq!(edge.retries, Some(10_000));
    assert_eq!(edge.max_age, Some(Duration::from_hours(168)));
    let endless = read("MaximumRetryAttempts: -1, MaximumRecordAgeInSeconds: -1");
    assert_eq!((endless.retries, endless.max_age), (None, None));
}

#[test]
fn numbers_out_of_bounds_are_refused() {
    for (name, least, most, wrong) in [
        (
            "BatchSize",
            1,
            10_000,
            ["0", "10001", "-1", "1.5", "a", "99999999999999999999", "''"].as_slice(),
        ),
        (
            "MaximumBatchingWindowInSeconds",
            0,
            300,
            &["-1", "301", "0.5"],
        ),
        ("MaximumRetryAttempts", -1, 10_000, &["-2", "10001", "true"]),
        ("MaximumRecordAgeInSeconds", -1, 604_800, &["-2", "604801"]),
        (
            "ProvisionedPollerConfig.MinimumPollers",
            1,
            200,
            &["0", "201"],
        ),
        (
            "ProvisionedPollerConfig.MaximumPollers",
            1,
            2000,
            &["0", "2001"],
        ),
    ] {
        for wrong in wrong {
            let properties = match name.split_once('.') {
                Some((outer, inner)) => format!("{outer}: {{{inner}: {wrong}}}"),
                None => format!("{name}: {wrong}"),
            };
            let shown = wrong.trim_matches('\'');
            refuse(
                &properties,
                &format!("{name}: \"{shown}\" is not a whole number from {least} to {most}"),
            );
        }
    }
    refuse(
        "MaximumRecordAgeInSeconds: 59",
        "MaximumRecordAgeInSeconds: is below 60 s, the least that Lambda takes but -1",
    );
    refuse(
        "MaximumRecordAgeInSeconds: 0",
        "MaximumRecordAgeInSeconds: is below 60 s, the least that Lambda takes but -1",
    );
    refuse(
        "ProvisionedPollerConfig: {MinimumPollers: 5, MaximumPollers: 4}",
        "ProvisionedPollerConfig: MinimumPollers 5 is above MaximumPollers 4",
    );
    refuse(
        "BatchSize: 0x10",
        "BatchSize: the number 0x10 is read in several ways: put it in quotes, or write it plainly",
    );
    refuse(
        "BatchSize: [1]",
        "BatchSize: is a list, where a text is expected",
    );
}

#[test]
fn what_the_emulator_does_not_do_is_refused_by_name() {
    for (name, what, value) in [
        (
            "DestinationConfig",
            "on-failure destinations",
            "{OnFailure: {Destination: !GetAtt Queue.Arn}}",
        ),
        ("FilterCriteria", "filters", "{Filters: [{Pattern: '{}'}]}"),
        (
            "SchemaRegistryConfig",
            "schema registries",
            "{SchemaRegistryURI: x}",
        ),
    ] {
        refuse(
            &format!("{name}: {value}"),
            &format!(
                "{name}: {what} are not emulated: take {name} out, or make it AWS::NoValue under a condition that is false here"
            ),
        );
        let absent = read(&format!("{name}: !Ref AWS::NoValue"));
        assert_eq!(absent, read(""));
    }
    refuse(
        "FunctionResponseTypes: [ReportBatchItemFailures, More]",
        "FunctionResponseTypes: \"ReportBatchItemFailures, More\" is not the one that there is, ReportBatchItemFailures",
    );
    refuse(
        "FunctionResponseTypes: [reportBatchItemFailures]",
        "FunctionResponseTypes: \"reportBatchItemFailures\" is not the one that there is, ReportBatchItemFailures",
    );
    refuse(
        "FunctionResponseTypes: ReportBatchItemFailures",
        "FunctionResponseTypes: is one value, where a list is expected",
    );
}

#[test]
fn a_name_that_no_mapping_has_is_refused() {
    let known = "BatchSize, BisectBatchOnFunctionError, ConsumerGroupId, DestinationConfig, Enabled, FilterCriteria, FunctionResponseTypes, \
                 KmsKeyArn, LoggingConfig, MaximumBatchingWindowInSeconds, MaximumRecordAgeInSeconds, MaximumRetryAttempts, MetricsConfig, \
                 ProvisionedPollerConfig, SchemaRegistryConfig, SourceAccessConfigurations, StartingPosition, StartingPositionTimestamp";
    for wrong in [
        "BatchSiz",
        "batchSize",
        "ParallelizationFactor",
        "KafkaBootstrapServers",
        "Queues",
    ] {
        refuse(
            &format!("{wrong}: 5"),
            &format!(
                "{wrong}: {wrong} is no property of such a mapping, which has {known}, Stream, Topics"
            ),
        );
    }
    let own = with_mapping(
        "SelfManagedKafka",
        "            Topics: [t], StartingPosition: LATEST, Stream: x",
    );
    check_problems(
        &own,
        &options(),
        &[&format!(
            "t.yaml:8: {AT}.Stream: Stream is no property of such a mapping, which has {known}, KafkaBootstrapServers, SecretsManagerKmsKeyId, Topics"
        )],
    );
    refuse(
        "ProvisionedPollerConfig: {MinPollers: 5}",
        "ProvisionedPollerConfig.MinPollers: is nothing that ProvisionedPollerConfig has, which is MaximumPollers, MinimumPollers, PollerGroupName",
    );
}

#[test]
fn what_needs_provisioned_mode_is_noted_without_it() {
    let what = "AWS offers this only in provisioned mode, with a ProvisionedPollerConfig; it is emulated all the same";
    for (name, value) in [
        ("MaximumRetryAttempts", "-1"),
        ("MaximumRecordAgeInSeconds", "-1"),
        ("BisectBatchOnFunctionError", "true"),
        ("FunctionResponseTypes", "[ReportBatchItemFailures]"),
    ] {
        note(&format!("{name}: {value}"), &[&format!("{name}: {what}")]);
        note(
            &format!("{name}: {value}, ProvisionedPollerConfig: {{}}"),
            &[],
        );
        note(&format!("{name}: !Ref AWS::NoValue"), &[]);
    }
}

#[test]
fn a_limit_is_noted_because_records_past_it_are_gone() {
    let what =
        "records past this limit are discarded, not kept and not dead-lettered: -1 has no limit";
    let provisioned = "ProvisionedPollerConfig: {MinimumPollers: 1}";
    note(
        &format!("MaximumRetryAttempts: 0, {provisioned}"),
        &[&format!("MaximumRetryAttempts: {what}")],
    );
    note(
        &format!("MaximumRecordAgeInSeconds: 60, {provisioned}"),
        &[&format!("MaximumRecordAgeInSeconds: {what}")],
    );
    note(
        &format!("MaximumRetryAttempts: -1, MaximumRecordAgeInSeconds: -1, {provisioned}"),
        &[],
    );
}
