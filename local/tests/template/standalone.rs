//! Mappings that are resources of their own: `AWS::Lambda::EventSourceMapping`.

use local::template::{Template, TemplateSource};

use crate::bench::{check_problems, ids, of_resources, options, read_well, with_parameters};

/// A function, and a mapping of either kind as a condition says.
fn of_either_kind(kind: &str) -> Template {
    let text = "Transform: AWS::Serverless-2016-10-31
Parameters: {Kind: {Type: String, Default: own}}
Conditions: {Msk: !Equals [!Ref Kind, msk]}
Resources:
  M:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      FunctionName: !Ref F
      EventSourceArn: !If [Msk, 'arn:aws:kafka:x', !Ref AWS::NoValue]
      SelfManagedEventSource: !If [Msk, !Ref AWS::NoValue, {Endpoints: {KafkaBootstrapServers: ['b:1']}}]
      AmazonManagedKafkaEventSourceConfig: !If [Msk, {ConsumerGroupId: of-msk}, !Ref AWS::NoValue]
      SelfManagedKafkaEventSourceConfig: !If [Msk, !Ref AWS::NoValue, {ConsumerGroupId: of-own}]
      Topics: [t]
      StartingPosition: LATEST
      BatchSize: 7
      Tags: [{Key: KafkaTopic, Value: !Ref Topic}]
  Topic: {Type: 'AWS::MSK::Topic'}
  F:
    Type: AWS::Serverless::Function
    Properties: {Timeout: 5}
";
    read_well(text, &with_parameters(&[("Kind", kind)]))
}

#[test]
fn one_mapping_serves_the_kind_of_cluster_that_its_conditions_say() {
    for (kind, group, source) in [
        (
            "msk",
            "of-msk",
            TemplateSource::Msk {
                arn: "arn:aws:kafka:x".to_owned(),
            },
        ),
        (
            "own",
            "of-own",
            TemplateSource::SelfManaged {
                brokers: "127.0.0.1:9092".to_owned(),
            },
        ),
    ] {
        let template = of_either_kind(kind);
        assert_eq!(ids(&template), ["F"]);
        let [mapping] = template.functions[0].mappings.as_slice() else {
            panic!("{template:?}")
        };
        assert_eq!(mapping.event, "M");
        assert_eq!(mapping.group.as_deref(), Some(group));
        assert_eq!(mapping.source, source);
        assert_eq!((mapping.topic.as_str(), mapping.batch_size.get()), ("t", 7));
    }
}

#[test]
fn a_mapping_finds_its_function_by_whatever_names_it() {
    for called in [
        "!Ref F",
        "!GetAtt F.Arn",
        "the-f",
        "F",
        "'arn:aws:lambda:us-east-1:000000000000:function:the-f:live'",
    ] {
        let text = of_resources(&format!(
            "  F: {{Type: AWS::Serverless::Function, Properties: {{FunctionName: the-f, Events: {{E: {{Type: MSK, Properties: {{Stream: x, Topics: [a], StartingPosition: LATEST}}}}}}}}}}
  M: {{Type: AWS::Lambda::EventSourceMapping, Properties: {{FunctionName: {called}, EventSourceArn: x, Topics: [b], StartingPosition: LATEST}}}}
"
        ));
        let template = read_well(&text, &options());
        let mappings = template.functions[0].mappings.iter();
        let topics: Vec<&str> = mappings.map(|mapping| mapping.topic.as_str()).collect();
        assert_eq!(topics, ["a", "b"], "{called}");
    }
}

#[test]
fn mappings_that_make_no_sense_are_refused() {
    let check = |properties: &str, expected: &str| {
        let text = of_resources(&format!(
            "  F: {{Type: AWS::Serverless::Function, Properties: {{Timeout: 5}}}}
  M: {{Type: AWS::Lambda::EventSourceMapping, Properties: {properties}}}
"
        ));
        let expected = format!("t.yaml:4: Resources.M.Properties{expected}");
        check_problems(&text, &options(), &[&expected]);
    };
    check("{EventSourceArn: x, Topics: [t]}", ": has no FunctionName");
    check(
        "{FunctionName: !Ref F, Topics: [t]}",
        ": has neither an EventSourceArn nor a SelfManagedEventSource",
    );
    check(
        "{FunctionName: !Ref F, EventSourceArn: x, SelfManagedEventSource: {}, Topics: [t]}",
        ": has both an EventSourceArn and a SelfManagedEventSource",
    );
    check(
        "{FunctionName: !Ref F, EventSourceArn: x, Topics: [t], ConsumerGroupId: g, StartingPosition: LATEST}",
        ".ConsumerGroupId: \"ConsumerGroupId\" is no property of an AWS::Lambda::EventSourceMapping at this place",
    );
    check(
        "{FunctionName: !Ref F, EventSourceArn: x, Topics: [t], StartingPosition: LATEST, BatchSize: 0}",
        ".BatchSize: \"0\" is not a whole number from 1 to 10000",
    );
    check(
        "{FunctionName: of-others, EventSourceArn: x, Topics: [t], StartingPosition: LATEST}",
        ".FunctionName: \"of-others\" is no AWS::Serverless::Function of this template",
    );
}

#[test]
fn a_mapping_that_is_not_there_is_not_read() {
    let check = |condition: &str, properties: &str| {
        let text = format!(
            "Transform: AWS::Serverless-2016-10-31
Conditions: {{Never: !Equals [a, b]}}
Resources:
  F: {{Type: AWS::Serverless::Function, Properties: {{Timeout: 0}}}}
  M: {{Type: AWS::Lambda::EventSourceMapping, {condition}Properties: {properties}}}
"
        );
        assert_eq!(ids(&read_well(&text, &options())), Vec::<&str>::new());
    };
    check(
        "Condition: Never, ",
        "{FunctionName: !Ref Nonsense, EventSourceArn: x, Topics: [t]}",
    );
    check(
        "",
        "{Enabled: false, FunctionName: !Ref Nonsense, EventSourceArn: x, Topics: [t]}",
    );
    check(
        "",
        "{FunctionName: !Ref Nonsense, EventSourceArn: 'arn:aws:sqs:x'}",
    );
}
