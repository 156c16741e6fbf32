//! Plans of templates that are read with what the command line sets.

use super::*;

#[test]
fn the_template_is_read_with_what_flags_set_and_what_wins_over_it() {
    let options = RunOptions {
        set: [
            ("A".to_owned(), "flag".to_owned()),
            ("B".to_owned(), "flag".to_owned()),
        ]
        .into(),
        env: [("A".to_owned(), "env".to_owned())].into(),
        brokers: Some("x:1".parse().unwrap()),
        ..RunOptions::default()
    };
    let read = options.of_template([("P".to_owned(), "1".to_owned())].into());
    assert_eq!(
        (read.env["A"].as_str(), read.env["B"].as_str()),
        ("env", "flag")
    );
    assert_eq!(
        (read.parameters["P"].as_str(), read.fixed_brokers.as_deref()),
        ("1", Some("x:1"))
    );
}

#[test]
fn brokers_of_the_command_line_reach_the_functions_that_are_told_of_brokers() {
    let text = r"
Transform: AWS::Serverless-2016-10-31
Resources:
  Told:
    Type: AWS::Serverless::Function
    Properties:
      Environment:
        Variables:
          KAFKA_BROKERS: !GetAtt Cluster.BootstrapBrokers
      Events:
        Records:
          Type: SelfManagedKafka
          Properties:
            KafkaBootstrapServers: [b:9092]
            Topics: [t]
            StartingPosition: TRIM_HORIZON
  Untold:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        Records:
          Type: SelfManagedKafka
          Properties:
            KafkaBootstrapServers: [b:9092]
            Topics: [t]
            StartingPosition: TRIM_HORIZON
";
    let options = RunOptions {
        brokers: Some("x:1".parse().unwrap()),
        ..commands(&["Told", "Untold"])
    };
    let options_of_template = options.of_template(BTreeMap::new());
    let template = Template::read("t.yaml", text.as_bytes(), &options_of_template).unwrap();
    let plan = Plan::new(template, &options, |_| false).unwrap();
    let brokers = |index: usize| plan.functions[index].env.get("KAFKA_BROKERS").cloned();
    assert_eq!((brokers(0).as_deref(), brokers(1)), (Some("x:1"), None));
    assert!(plan.mappings().all(|(_, mapping)| mapping.brokers == "x:1"));
}
