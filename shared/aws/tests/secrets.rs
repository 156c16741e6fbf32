//! Secrets against the protocol of Secrets Manager.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::significant_drop_tightening,
    reason = "what fails here is to fail the test"
)]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use aws::{Endpoint, Keys, Sdk, Secret};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const ARN: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:token-AbCdEf";

type Answers = Arc<Mutex<VecDeque<(u16, &'static str)>>>;

/// Starts a server that gives these answers, one after the other, and returns a secret that lies there.
async fn secret(answers: &[(u16, &'static str)], tasks: &mut JoinSet<Infallible>) -> Secret {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint: Endpoint = format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap();
    let answers: Answers = Arc::new(Mutex::new(answers.iter().copied().collect()));
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let answers = Arc::clone(&answers);
            let service = service_fn(move |request| answer(Arc::clone(&answers), request));
            connections
                .spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    let keys = Keys {
        id: "test-id".to_owned(),
        secret: "test-secret".to_owned(),
    };
    Secret::new(
        ARN.parse().unwrap(),
        "token",
        Sdk::new(Some(endpoint)).or_keys(keys),
    )
}

async fn answer(
    answers: Answers,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let target = request.headers()["x-amz-target"]
        .to_str()
        .unwrap()
        .to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(target, "secretsmanager.GetSecretValue");
    assert!(String::from_utf8_lossy(&body).contains(ARN));
    let (status, body) = answers.lock().unwrap().pop_front().unwrap();
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    Ok(answer)
}

#[tokio::test]
async fn a_secret_is_read_once_until_it_is_asked_for_again() {
    let mut tasks = JoinSet::new();
    let answers = [
        (200, r#"{"SecretString":"first"}"#),
        (200, r#"{"SecretString":"{\"token\":\"second\"}"}"#),
    ];
    let secret = secret(&answers, &mut tasks).await;
    assert_eq!(&*secret.value().await.unwrap(), "first");
    assert_eq!(&*secret.value().await.unwrap(), "first");
    assert_eq!(&*secret.read_again().await.unwrap(), "second");
    assert_eq!(&*secret.value().await.unwrap(), "second");
}

#[tokio::test]
async fn a_fault_is_told_and_not_kept() {
    let mut tasks = JoinSet::new();
    let denied = (
        400,
        r#"{"__type":"AccessDeniedException","Message":"not for you"}"#,
    );
    let answers = [
        denied,
        (200, r#"{"SecretBinary":"AAAA"}"#),
        (200, r#"{"SecretString":"{\"url\":\"s3cr3t\"}"}"#),
        (200, r#"{"SecretString":"s3cr3t"}"#),
    ];
    let secret = secret(&answers, &mut tasks).await;
    for expected in [
        "AccessDeniedException (HTTP 400): not for you",
        "it is binary",
        "without a text field `token`",
    ] {
        let fault = secret.value().await.unwrap_err().to_string();
        assert!(fault.contains(ARN) && fault.contains(expected), "{fault}");
        assert!(!fault.contains("s3cr3t"), "{fault}");
    }
    assert_eq!(&*secret.value().await.unwrap(), "s3cr3t");
    assert!(!format!("{secret:?}").contains("s3cr3t"));
}
