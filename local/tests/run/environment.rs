//! What functions are told by their environment.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bench::{Bench, Scripted, program};

/// Runs a function that answers its whole environment, and returns that.
async fn environment(more: &[&str]) -> BTreeMap<String, String> {
    environment_in(&[], more).await
}

/// Does so with variables of the program's own.
async fn environment_in(own: &[(&str, &str)], more: &[&str]) -> BTreeMap<String, String> {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event: "",
        script: &["env"],
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 1).await;
    let main = format!("--function=Main={}", program().display());
    let words = [&[main.as_str(), "--until-idle", "1s", "--json"], more].concat();
    let ended = bench.start_in(own, &words).ended().await;
    let mut lines = ended.check(0, &[]).json();
    let line: Value = lines.pop().unwrap();
    serde_json::from_value(line["answer"].clone()).unwrap()
}

/// What every function has, whatever the template says.
const OF_LAMBDA: [&str; 17] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_DEFAULT_REGION",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_INITIALIZATION_TYPE",
    "AWS_LAMBDA_LOG_GROUP_NAME",
    "AWS_LAMBDA_LOG_STREAM_NAME",
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "HOME",
    "LANG",
    "MARKER_DIR",
    "PATH",
    "TMPDIR",
    "TZ",
];

#[tokio::test]
async fn a_function_has_its_templates_variables_and_lambdas_and_nothing_else() {
    let env = environment(&[]).await;
    let mut expected = [&OF_LAMBDA[..], &["EVENTS", "GREETING", "SCRIPT"]].concat();
    expected.sort_unstable();
    assert_eq!(env.keys().collect::<Vec<_>>(), expected);
    assert_eq!(env["GREETING"], "hello");
    assert_eq!(env["AWS_LAMBDA_FUNCTION_NAME"], "the-Main");
    assert_eq!(env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"], "256");
    assert!(
        env["MARKER_DIR"].ends_with("/Main/0"),
        "{}",
        env["MARKER_DIR"]
    );
}

#[tokio::test]
async fn env_wins_over_flags_and_flags_over_the_template() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = format!("MARKER_DIR={}", folder.path().display());
    let env = environment(&[
        "--env",
        "GREETING=from the=flag",
        "--env",
        &elsewhere,
        "--env",
        "MORE=",
        "--s3",
        "http://127.0.0.1:9",
        "--bucket",
        "flagged",
        "--env",
        "INCIDENT_BUCKET=said",
        "--env",
        "RETRY_STAGES=a=1h",
        "--fast",
    ])
    .await;
    let value = |name: &str| env[name].as_str();
    assert_eq!(value("GREETING"), "from the=flag");
    assert_eq!(format!("MARKER_DIR={}", value("MARKER_DIR")), elsewhere);
    assert_eq!(value("MORE"), "");
    assert_eq!(value("AWS_ENDPOINT_URL_S3"), "http://127.0.0.1:9");
    assert_eq!(value("INCIDENT_BUCKET"), "said");
    assert_eq!(value("RETRY_STAGES"), "a=1h");
    assert_eq!(value("AWS_ACCESS_KEY_ID"), local::s3::ACCESS_KEY);
}

#[tokio::test]
async fn credentials_of_ones_own_reach_functions_only_with_a_server_of_ones_own() {
    let own = [
        ("AWS_ACCESS_KEY_ID", "mine"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
    ];
    let given = |env: &BTreeMap<String, String>| {
        let value = |name: &str| env.get(name).cloned();
        (value("AWS_ACCESS_KEY_ID"), value("AWS_SESSION_TOKEN"))
    };
    let with = environment_in(&own, &["--s3", "http://127.0.0.1:9"]).await;
    let expected = (Some("mine".to_owned()), Some("token".to_owned()));
    assert_eq!(given(&with), expected);
    let without = environment_in(&own, &[]).await;
    assert_eq!(
        given(&without),
        (Some(local::s3::ACCESS_KEY.to_owned()), None)
    );
}
