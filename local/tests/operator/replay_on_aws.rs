//! The same by a function on AWS, whose requests are signed.

use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use local::http::HttpServer;
use serde_json::{Value, json};
use tokio::process::Command;

type Calls = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

async fn invoked(State(calls): State<Calls>, headers: HeaderMap, payload: String) -> String {
    let payload = serde_json::from_str(&payload).unwrap();
    calls.lock().unwrap().push((headers, payload));
    json!({
        "replay_id": "run-1", "dry_run": true, "matched": 0, "published": 0, "to_publish": 0, "skipped": {}, "failed": 0,
        "by_error_class": {}, "by_error_code": {}, "bytes": 0, "sample": [], "complete": true,
    })
    .to_string()
}

/// Runs the tool with these variables and no other but `PATH`.
async fn replay(env: &[(&str, &str)]) -> Output {
    let path = std::env::var_os("PATH").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_local"))
        .args(["replay", "--function", "brew-replay", "--key", "k-7"])
        .args(["--dry-run", "--json"])
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nowhere")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output();
    ran.await.unwrap()
}

#[tokio::test]
async fn a_function_on_aws_is_invoked_with_a_signature_of_the_shells_credentials() {
    let calls = Calls::default();
    let route = "/2015-03-31/functions/brew-replay/invocations";
    let routes = Router::new()
        .route(route, post(invoked))
        .with_state(Arc::clone(&calls));
    let server = HttpServer::start("127.0.0.1:0".parse().unwrap(), routes)
        .await
        .unwrap();
    let ran = replay(&[
        ("AWS_ENDPOINT_URL_LAMBDA", &server.url()),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI"),
        ("AWS_SESSION_TOKEN", "session"),
    ])
    .await;
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let calls = calls.lock().unwrap().clone();
    let [(headers, payload)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    let mut asked = payload.clone();
    assert!(asked.as_object_mut().unwrap().remove("replay_id").is_some());
    assert_eq!(asked, json!({"key": "k-7", "dry_run": true}));
    let header = |name: &str| headers[name].to_str().unwrap();
    assert_eq!(header("x-amz-security-token"), "session");
    let day = &header("x-amz-date")[..8];
    let signed = header("authorization");
    let scope =
        format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{day}/eu-west-1/lambda/aws4_request");
    assert!(signed.starts_with(&scope), "{signed}");
    for name in [
        "host",
        "content-type",
        "x-amz-invocation-type",
        "x-amz-date",
    ] {
        assert!(signed.contains(name), "{name} is signed: {signed}");
    }
    let (_, signature) = signed.split_once("Signature=").unwrap();
    assert_eq!(signature.len(), 64, "{signed}");
}

#[tokio::test]
async fn without_a_region_or_credentials_it_is_said_what_is_missing() {
    let ran = replay(&[]).await;
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(told.contains("AWS_REGION"), "{told}");
    let ran = replay(&[("AWS_REGION", "eu-west-1")]).await;
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{told}");
    assert!(told.contains("credentials"), "{told}");
}
