//! Template, code and emulator agree: what the template sets is what its functions read, and what they read stages from is mapped.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use lambda::SettingsReader;
use local::template::{Template, TemplateFunction, TemplateOptions};
use pipeline::{Stages, Topic};

const TEMPLATE: &str = include_str!("../template.yaml");

/// What has no default.
const REQUIRED: [(&str, &str); 5] = [
    ("KafkaBrokers", "127.0.0.1:9092"),
    ("GatewayUrl", "http://127.0.0.1:8081"),
    ("IncidentBucket", "brew-incidents"),
    ("MainStart", "LATEST"),
    ("OperatorRoleArn", "arn:aws:iam::000000000000:role/operator"),
];

/// Replay has no mapping; with this one the template tells of it as of the others.
const PROBE: &str = "
  Probe:
    Type: AWS::Lambda::EventSourceMapping
    Properties: {FunctionName: !Ref Replay, EventSourceArn: x, Topics: [t], StartingPosition: LATEST}
";

/// What a function reads from its environment.
struct Read {
    /// Every name that it asked for.
    asked: BTreeSet<String>,
    stages: Option<Stages>,
    problem: Option<String>,
}

fn read(function: &TemplateFunction) -> Read {
    let asked = RefCell::new(BTreeSet::new());
    let value = |name: &str| {
        asked.borrow_mut().insert(name.to_owned());
        function.env.get(name).cloned()
    };
    let mut reader = SettingsReader::new(&value);
    let mut stages = None;
    let settings = match function.binary.as_deref().unwrap() {
        "payments" => payments::Settings::read(&mut reader).map(|settings| {
            stages = Some(settings.stages);
        }),
        "dlq" => dlq::Settings::read(&mut reader).map(drop),
        "orders" => orders::Settings::read(&mut reader).map(drop),
        "replay" => {
            let connection = kafka::Connection::read(&mut reader);
            let bucket = aws::Bucket::read(&mut reader);
            let settings = replay::Settings::read(&mut reader);
            settings.and(connection).and(bucket).map(drop)
        }
        other => panic!("nobody knows what {other} reads"),
    };
    let problem = reader.finish(settings).err().map(|error| error.to_string());
    let asked = asked.into_inner();
    Read {
        asked,
        stages,
        problem,
    }
}

/// Says where template and code disagree.
fn disagreements(template: &str, parameters: &[(&str, &str)]) -> Vec<String> {
    let parameters = REQUIRED.iter().chain(parameters).copied();
    let options = TemplateOptions {
        parameters: parameters
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        fixed_brokers: Some("127.0.0.1:9092".to_owned()),
        ..TemplateOptions::default()
    };
    let template = Template::read(
        "template.yaml",
        format!("{template}{PROBE}").as_bytes(),
        &options,
    );
    let template = template.unwrap();
    assert!(template.functions.len() >= 3, "{template:?}");
    let mut wrong = Vec::new();
    for function in &template.functions {
        let Read {
            asked,
            stages,
            problem,
        } = read(function);
        let unknown = function.env.keys().filter(|name| !asked.contains(*name));
        wrong.extend(unknown.map(|name| format!("{} does not know {name}", function.id)));
        wrong.extend(problem.map(|problem| format!("{}: {problem}", function.id)));
        wrong.extend(stages.and_then(|stages| unmapped(&template, &stages, &function.id)));
    }
    wrong
}

/// Says which stages of the ladder no function reads, or which functions read what is no stage.
fn unmapped(template: &Template, stages: &Stages, id: &str) -> Option<String> {
    let mut mapped: BTreeMap<&Topic, usize> = BTreeMap::new();
    let payments = template.functions.iter();
    let payments = payments.filter(|function| function.binary.as_deref() == Some("payments"));
    for mapping in payments.flat_map(|function| &function.mappings) {
        *mapped.entry(&mapping.topic).or_default() += 1;
    }
    let ladder: BTreeMap<&Topic, usize> = stages.all().map(|stage| (stage.topic(), 1)).collect();
    (mapped != ladder)
        .then(|| format!("{id} knows the stages {ladder:?}, and mapped are {mapped:?}"))
}

#[test]
fn every_variable_that_the_template_sets_is_known_and_every_required_one_is_set() {
    let secret = "arn:aws:secretsmanager:eu-central-1:000000000000:secret:s-abcdef";
    for parameters in [
        &[][..],
        &[("WithOrders", "true"), ("PollerMode", "standard")],
        &[
            ("GatewayTokenSecretArn", secret),
            ("AlertWebhookSecretArn", secret),
        ],
        &[
            (
                "RetryStages",
                "brew.payments.retry.30s=30s,brew.payments.retry.1h=1h,brew.payments.retry.24h=24h",
            ),
            ("DrainStages", "brew.payments.retry.5m=5m"),
            ("Stages", "30s,5m,1h,24h"),
        ],
        &[("RetryStages", ""), ("Stages", "none")],
        &[
            ("KafkaAuth", "scram"),
            ("KafkaSecretArn", secret),
            ("WithOrders", "true"),
        ],
        &[
            ("KafkaAuth", "iam"),
            ("ClusterArn", "arn:aws:kafka:eu-central-1:1:cluster/c/u"),
        ],
    ] {
        assert_eq!(
            disagreements(TEMPLATE, parameters),
            Vec::<String>::new(),
            "{parameters:?}"
        );
    }
}

#[test]
fn a_disagreement_is_found() {
    for (from, to, expected) in [
        ("GATEWAY_URL:", "GATEWAY_URI:", "does not know GATEWAY_URI"),
        ("GATEWAY_URL:", "GATEWAY_URI:", "GATEWAY_URL is not set"),
        (
            "KAFKA_BROKERS:",
            "KAFKA_BROKER:",
            "Replay does not know KAFKA_BROKER",
        ),
        ("INCIDENT_BUCKET:", "BUCKET:", "INCIDENT_BUCKET is not set"),
        (
            "    Default: 10s",
            "    Default: ten",
            "GATEWAY_TIMEOUT is wrong",
        ),
        (
            "    Default: 30s,5m,1h",
            "    Default: 30s,1h",
            "knows the stages",
        ),
        (
            "brew.payments.retry.5m=5m",
            "brew.payments.retry.6m=6m",
            "knows the stages",
        ),
        (
            "    Default: 30s,5m,1h",
            "    Default: 30s,1h",
            "STAGES lacks the stage of brew.payments.retry.5m",
        ),
        (
            "${RetryPrefix}${Stage}'",
            "${RetryPrefix}x${Stage}'",
            "knows the stages",
        ),
    ] {
        assert!(TEMPLATE.contains(from), "{from}");
        let found = disagreements(&TEMPLATE.replace(from, to), &[]);
        assert!(
            found.iter().any(|found| found.contains(expected)),
            "{from} → {to}: {found:#?}"
        );
    }
}
