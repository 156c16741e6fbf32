//! Functions: which there are, what they get from where, and what is left unresolved.

use std::time::Duration;

use local::template::TemplateOptions;

use crate::bench::{
    EVENT, check_problems, function, ids, of_resources, options, read_well, with_function,
};

#[test]
fn a_function_that_says_little_has_lambdas_defaults() {
    let template = read_well(&with_function("", ""), &options());
    let function = function(&template);
    assert_eq!(function.id, "F");
    assert_eq!(function.name, None);
    assert_eq!(function.binary, None);
    assert!(function.env.is_empty());
    assert_eq!(function.timeout, Duration::from_secs(3));
    assert_eq!(function.memory_mb, 128);
    assert_eq!(function.reserved_concurrency, None);
    assert_eq!(template.notes, Vec::<String>::new());
}

#[test]
fn a_function_says_everything_that_it_can() {
    let properties = "      FunctionName: !Sub '${AWS::StackName}-f'
      Timeout: 900
      MemorySize: '10240'
      ReservedConcurrentExecutions: 0
      CodeUri: functions/payments/
      Environment: {Variables: {A1: 1, B1: !Ref AWS::NoValue}}
";
    let template = read_well(&with_function("", properties), &options());
    let function = function(&template);
    assert_eq!(function.name.as_deref(), Some("local-f"));
    assert_eq!(function.binary.as_deref(), Some("payments"));
    assert_eq!(function.env, [("A1".to_owned(), "1".to_owned())].into());
    assert_eq!(function.timeout, Duration::from_mins(15));
    assert_eq!(function.memory_mb, 10_240);
    assert_eq!(function.reserved_concurrency, Some(0));
}

#[test]
fn a_function_that_runs_for_longer_than_lambda_supports_behind_a_mapping_is_noted() {
    let notes = |seconds: &str| {
        let text = with_function("", &format!("      Timeout: {seconds}\n"));
        read_well(&text, &options()).notes
    };
    assert_eq!(notes("840"), Vec::<String>::new());
    let what = "Lambda supports functions of at most 840 s behind a mapping of Kafka; it is emulated all the same";
    let note = format!("t.yaml:6: Resources.F.Properties.Timeout: {what}");
    assert_eq!(notes("841"), [note]);
}

#[test]
fn the_program_is_the_metadatas_before_the_codes() {
    let binary = |metadata: &str, code: &str| {
        let text = with_function("", &format!("      CodeUri: {code}\n"));
        let text = text.replace(
            "    Properties:\n      Code",
            &format!("    Metadata: {metadata}\n    Properties:\n      Code"),
        );
        function(&read_well(&text, &options())).binary.clone()
    };
    let payments = Some("payments".to_owned());
    assert_eq!(
        binary("{BuildProperties: {Binary: payments}}", "a/b"),
        payments
    );
    assert_eq!(
        binary("{BuildProperties: {Binary: payments}}", "!ImportValue x"),
        payments
    );
    assert_eq!(
        binary("{BuildMethod: rust-cargolambda}", "a/payments"),
        payments
    );
    assert_eq!(binary("{}", "!ImportValue x"), None);
    assert_eq!(binary("{}", "{Bucket: a, Key: b}"), None);
    assert_eq!(binary("{}", "s3://a/b"), None);
}

#[test]
fn numbers_out_of_lambdas_bounds_are_refused() {
    for (name, least, most, wrong) in [
        ("Timeout", "1", "900", ["0", "901", "-3", "3s"].as_slice()),
        ("MemorySize", "128", "10240", &["127", "10241"]),
        (
            "ReservedConcurrentExecutions",
            "0",
            "4294967295",
            &["-1", "4294967296"],
        ),
    ] {
        for wrong in wrong {
            let text = with_function("", &format!("      {name}: {wrong}\n"));
            let expected = format!(
                "t.yaml:6: Resources.F.Properties.{name}: \"{wrong}\" is not a whole number from {least} to {most}"
            );
            check_problems(&text, &options(), &[&expected]);
        }
    }
    let text = with_function("", "      FunctionName: a b\n");
    let expected = "t.yaml:6: Resources.F.Properties.FunctionName: \"a b\" is not 1 to 64 of the characters a-z, A-Z, 0-9, '-' and '_'";
    check_problems(&text, &options(), &[expected]);
}

#[test]
fn only_functions_with_enabled_kafka_mappings_are_there_in_the_order_of_the_file() {
    let disabled = EVENT.replace("LATEST", "LATEST, Enabled: false");
    let text = of_resources(&format!(
        "  Z: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: {EVENT}, D: {disabled}}}}}}}
  Plain: {{Type: AWS::Serverless::Function, Properties: {{Timeout: !Ref Nonsense}}}}
  Queue: {{Type: AWS::Serverless::Function, Condition: Nonsense, Properties: {{Events: {{E: {{Type: SQS, Properties: {{Queue: !Nonsense x}}}}}}}}}}
  Off: {{Type: AWS::Serverless::Function, Properties: {{Timeout: 0, Events: {{E: {disabled}}}}}}}
  None: {{Type: AWS::Serverless::Function}}
  A: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: {EVENT}, Q: {{Type: SQS}}}}}}}}
  Bucket: {{Type: AWS::S3::Bucket, Condition: Nonsense, Properties: !Nonsense x}}
"
    ));
    let template = read_well(&text, &options());
    assert_eq!(ids(&template), ["Z", "A"]);
    assert_eq!(template.functions[0].mappings.len(), 1);
}

#[test]
fn conditions_and_no_value_take_functions_events_and_properties_away() {
    let text = format!(
        "Transform: AWS::Serverless-2016-10-31
Conditions: {{Is: !Equals [a, a], Isnt: !Equals [a, b]}}
Resources:
  Here: {{Type: AWS::Serverless::Function, Condition: Is, Properties: {{Events: {{E: {EVENT}}}}}}}
  Gone: {{Type: AWS::Serverless::Function, Condition: Isnt, Properties: {{Timeout: !Nonsense x, Events: {{E: {EVENT}}}}}}}
  EventGone: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: !If [Isnt, {EVENT}, !Ref AWS::NoValue]}}}}}}
  EventsGone: {{Type: AWS::Serverless::Function, Properties: {{Events: !If [Isnt, {{E: {EVENT}}}, !Ref AWS::NoValue]}}}}
  EventThere: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: !If [Is, {EVENT}, x]}}}}}}
  EventsThere: {{Type: AWS::Serverless::Function, Properties: {{Events: !If [Is, {{E: {EVENT}}}, x]}}}}
  PropertiesThere: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: {{Type: MSK, Properties: !If [Is, {{Stream: x, Topics: [t]}}, x]}}}}}}}}
  EnvironmentGone: {{Type: AWS::Serverless::Function, Properties: {{Environment: !If [Isnt, x, !Ref AWS::NoValue], Events: {{E: {EVENT}}}}}}}
"
    );
    let template = read_well(&text, &options());
    assert_eq!(
        ids(&template),
        [
            "Here",
            "EventThere",
            "EventsThere",
            "PropertiesThere",
            "EnvironmentGone"
        ]
    );
    let text = text.replace("Condition: Is,", "Condition: Nothing,");
    check_problems(
        &text,
        &options(),
        &["t.yaml:4: Resources.Here.Condition: the template has no condition \"Nothing\""],
    );
}

#[test]
fn events_that_make_no_sense_are_refused() {
    let check = |event: &str, expected: &str| {
        let text = of_resources(&format!(
            "  F: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: {event}}}}}}}\n"
        ));
        check_problems(
            &text,
            &options(),
            &[&format!(
                "t.yaml:3: Resources.F.Properties.Events.E{expected}"
            )],
        );
    };
    check(
        "{Type: MKS}",
        ".Type: \"MKS\" is none of SAM's types of event; Kafka's are MSK and SelfManagedKafka",
    );
    check("{Properties: {}}", ": has no Type");
    check("{Type: MSK}", ": has no Properties");
    check(
        "{Type: MSK, Properties: x}",
        ".Properties: is one value, where a map is expected",
    );
    check(
        "{Type: MSK, Properties: {}, Enabled: false}",
        ".Enabled: is nothing that an event has, which is Type and Properties",
    );
    check("text", ": is one value, where a map is expected");
    check("", ": has no value, where a map is expected");
    check(
        "{Type: MSK, Properties: {Enabled: maybe}}",
        ".Properties.Enabled: \"maybe\" is neither true nor false",
    );
}

#[test]
fn everything_that_is_wrong_is_reported_in_the_order_of_the_lines() {
    let text = "Transform: AWS::Serverless-2016-10-31
Parameters:
  Url:
    Type: String
Resources:
  B:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 901
      Environment:
        Variables:
          URL: !Ref Url
          TOKEN: !GetAtt Secret.Arn
      Events:
        E:
          Type: MSK
          Properties:
            Stream: !Ref Cluster
            Topics: [a, b]
            BatchSize: 0
  A:
    Type: AWS::Serverless::Function
    Properties:
      MemorySize: 1
      Events:
        E:
          Type: SelfManagedKafka
          Properties:
            Topics: [a]
  Secret:
    Type: AWS::SecretsManager::Secret
";
    check_problems(
        text,
        &TemplateOptions::default(),
        &[
            "t.yaml:3: Parameters.Url: has no default, and it is needed: give --parameter Url=…",
            "t.yaml:9: Resources.B.Properties.Timeout: \"901\" is not a whole number from 1 to 900",
            "t.yaml:13: Resources.B.Properties.Environment.Variables.TOKEN: !GetAtt Secret.Arn cannot be known locally: give --env TOKEN=…",
            "t.yaml:18: Resources.B.Properties.Events.E.Properties.Stream: the brokers of an MSK cluster cannot be known locally: give --brokers HOST:PORT,…",
            "t.yaml:19: Resources.B.Properties.Events.E.Properties.Topics: has 2 topics, and a Kafka mapping has one",
            "t.yaml:20: Resources.B.Properties.Events.E.Properties.BatchSize: \"0\" is not a whole number from 1 to 10000",
            "t.yaml:24: Resources.A.Properties.MemorySize: \"1\" is not a whole number from 128 to 10240",
            "t.yaml:28: Resources.A.Properties.Events.E.Properties: has no KafkaBootstrapServers",
        ],
    );
}
