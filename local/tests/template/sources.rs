//! Where a mapping reads: cluster, topic, group and start.

use local::mapping::StartingPosition;
use local::template::{TemplateOptions, TemplateSource};

use crate::bench::{check_problems, mapping, options, read_well, with_mapping};
use crate::mappings::{ARN, AT, msk, read, refuse};

#[test]
fn a_mapping_has_one_topic_that_kafka_takes() {
    let check = |topics: &str, expected: &str| {
        let text = msk("").replace("Topics: [t]", topics);
        check_problems(&text, &options(), &[&format!("t.yaml:8: {AT}{expected}")]);
    };
    check(
        "Topics: [a, b]",
        ".Topics: has 2 topics, and a Kafka mapping has one",
    );
    check(
        "Topics: []",
        ".Topics: has 0 topics, and a Kafka mapping has one",
    );
    check(
        "Topics: !Split [',', 'a,b,c']",
        ".Topics: has 3 topics, and a Kafka mapping has one",
    );
    check(
        "Topics: t",
        ".Topics: is one value, where a list is expected",
    );
    check(
        "Topics: ['a b']",
        ".Topics: \"a b\" is no name of a topic: 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
    );
    let text = msk("").replace("Topics: [t], ", "");
    check_problems(
        &text,
        &options(),
        &[&format!("t.yaml:7: {AT}: has no Topics")],
    );
}

#[test]
fn a_group_is_what_lambda_takes() {
    for wrong in ["''", "'a#b'", "ä"] {
        let shown = wrong.trim_matches('\'');
        refuse(
            &format!("ConsumerGroupId: {wrong}"),
            &format!(
                "ConsumerGroupId: \"{shown}\" is not 1 to 200 letters, digits, spaces and the characters -/*:_+=.@"
            ),
        );
    }
    assert_eq!(
        read("ConsumerGroupId: !Sub '${AWS::StackName}.t'")
            .group
            .as_deref(),
        Some("local.t")
    );
    let longest = "g".repeat(200);
    assert_eq!(
        read(&format!("ConsumerGroupId: {longest}")).group,
        Some(longest)
    );
}

#[test]
fn a_group_without_offsets_starts_where_the_mapping_says() {
    let check = |start: &str, expected: StartingPosition| {
        let text = msk("").replace("StartingPosition: LATEST", start);
        let template = read_well(&text, &options());
        assert_eq!(mapping(&template).start, expected, "{start}");
        assert_eq!(template.notes, Vec::<String>::new());
    };
    check(
        "StartingPosition: TRIM_HORIZON",
        StartingPosition::TrimHorizon,
    );
    check("StartingPosition: LATEST", StartingPosition::Latest);
    check(
        "StartingPosition: AT_TIMESTAMP, StartingPositionTimestamp: 1755933141.5",
        StartingPosition::AtTimestamp(1_755_933_141_500),
    );
    check(
        "StartingPosition: AT_TIMESTAMP, StartingPositionTimestamp: '1755933141'",
        StartingPosition::AtTimestamp(1_755_933_141_000),
    );
}

#[test]
fn a_start_that_makes_no_sense_is_refused() {
    let check = |start: &str, expected: &str| {
        let text = msk("").replace("StartingPosition: LATEST", start);
        check_problems(&text, &options(), &[&format!("t.yaml:8: {AT}.{expected}")]);
    };
    check(
        "StartingPosition: latest",
        "StartingPosition: \"latest\" is none of TRIM_HORIZON, LATEST and AT_TIMESTAMP",
    );
    check(
        "StartingPosition: AT_TIMESTAMP",
        "StartingPosition: AT_TIMESTAMP wants a StartingPositionTimestamp beside it",
    );
    check(
        "StartingPosition: LATEST, StartingPositionTimestamp: 5",
        "StartingPositionTimestamp: stands beside a StartingPosition other than AT_TIMESTAMP",
    );
    check(
        "StartingPosition: AT_TIMESTAMP, StartingPositionTimestamp: 1755933141855875",
        "StartingPositionTimestamp: \"1755933141855875\" is past the year 9999: is it in milliseconds? It must be in seconds",
    );
    check(
        "StartingPosition: AT_TIMESTAMP, StartingPositionTimestamp: '2025-08-23T00:00:00Z'",
        "StartingPositionTimestamp: \"2025-08-23T00:00:00Z\" is not a time in seconds since 1970",
    );
    check(
        "StartingPosition: AT_TIMESTAMP, StartingPositionTimestamp: 1.7e9",
        "StartingPositionTimestamp: the number 1.7e9 is read in several ways: put it in quotes, or write it plainly",
    );
}

#[test]
fn a_mapping_without_a_start_takes_the_oldest_records_and_says_so() {
    let text = msk("").replace("StartingPosition: LATEST,", "");
    let template = read_well(&text, &options());
    assert_eq!(mapping(&template).start, StartingPosition::TrimHorizon);
    assert_eq!(
        template.notes,
        [format!(
            "t.yaml:7: {AT}: has no StartingPosition, which Lambda wants: taken as TRIM_HORIZON"
        )]
    );
}

#[test]
fn an_msk_cluster_needs_brokers_and_keeps_its_arn() {
    let without = TemplateOptions::default();
    check_problems(
        &msk(""),
        &without,
        &[&format!(
            "t.yaml:8: {AT}.Stream: the brokers of an MSK cluster cannot be known locally: give --brokers HOST:PORT,…"
        )],
    );
    let source = |stream: &str| {
        let text = msk("").replace(&format!("'{ARN}'"), stream);
        mapping(&read_well(&text, &options())).source.clone()
    };
    let made_up =
        "arn:aws:kafka:us-east-1:000000000000:cluster/local/00000000-0000-0000-0000-000000000000-0";
    for (stream, arn) in [
        ("!Sub 'arn:${AWS::Partition}:kafka:x'", "arn:aws:kafka:x"),
        ("!GetAtt Cluster.Arn", made_up),
        ("!Ref Cluster", made_up),
        ("''", made_up),
        ("cluster", made_up),
    ] {
        assert_eq!(
            source(stream),
            TemplateSource::Msk {
                arn: arn.to_owned()
            },
            "{stream}"
        );
    }
    let text = msk("").replace(&format!("Stream: '{ARN}', "), "");
    check_problems(
        &text,
        &options(),
        &[&format!("t.yaml:7: {AT}: has no Stream, the cluster's ARN")],
    );
}

#[test]
fn a_cluster_of_ones_own_has_the_brokers_of_the_template_unless_others_are_given() {
    let template = |servers: &str| {
        with_mapping(
            "SelfManagedKafka",
            &format!("            {servers}Topics: [t], StartingPosition: LATEST"),
        )
    };
    let own = template("KafkaBootstrapServers: ['a:1', !Join [':', [b, 2]]], ");
    let brokers =
        |text: &str, options: &TemplateOptions| match &mapping(&read_well(text, options)).source {
            TemplateSource::SelfManaged { brokers } => brokers.clone(),
            TemplateSource::Msk { arn } => panic!("{arn}"),
        };
    let without = TemplateOptions::default();
    assert_eq!(brokers(&own, &without), "a:1,b:2");
    assert_eq!(brokers(&own, &options()), "127.0.0.1:9092");
    assert_eq!(
        brokers(
            &template("KafkaBootstrapServers: [!ImportValue x], "),
            &options()
        ),
        "127.0.0.1:9092"
    );
    assert_eq!(brokers(&template(""), &options()), "127.0.0.1:9092");
    let check = |servers: &str, expected: &str| {
        check_problems(
            &template(servers),
            &without,
            &[&format!("t.yaml:{expected}")],
        );
    };
    check("", &format!("7: {AT}: has no KafkaBootstrapServers"));
    let at = format!("8: {AT}.KafkaBootstrapServers");
    check(
        "KafkaBootstrapServers: [a], ",
        &format!("{at}: \"a\" is not of the form host:port"),
    );
    check(
        "KafkaBootstrapServers: [], ",
        &format!("{at}: has 0 brokers, and Lambda takes 1 to 10"),
    );
    check(
        "KafkaBootstrapServers: !Split [',', !ImportValue brokers], ",
        &format!("{at}: !ImportValue brokers cannot be known locally: give --brokers HOST:PORT,…"),
    );
}
