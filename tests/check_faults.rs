//! `{"check":true}` where bucket, provider, secrets or webhook are not as they should be.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use bytes::Bytes;
use local::http::HttpServer;
use serde_json::{Value, json};

use crate::harness::binaries;
use crate::harness::checked::{Checked, answering, check_with, error, gateway, lines, nowhere};
use crate::harness::cluster::Cluster;
use crate::harness::ladder::Ladder;
use crate::harness::world::World;

const TOKEN: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:token-AbCdEf";
const HOOK: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:hook-AbCdEf";

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_missing_denied_or_away_is_told_apart() {
    let both = |why: &'static str| {
        [
            ("bucket brew-incidents/incidents/", why),
            ("bucket brew-incidents/spill/", why),
        ]
    };
    for (status, fault, why, code) in [
        (
            403,
            "<Error><Code>AccessDenied</Code><Message>as told</Message></Error>",
            "unauthorized",
            "AccessDenied",
        ),
        (
            404,
            "<Error><Code>NoSuchBucket</Code><Message>as told</Message></Error>",
            "missing",
            "NoSuchBucket",
        ),
    ] {
        let server = answering(status, fault).await;
        let answer = check_with(&[("AWS_ENDPOINT_URL_S3", &server.url())], &both(why)).await;
        let text = error(&answer, "brew-incidents/spill/");
        let words = format!("PutObject spill/_check.json: {code} (HTTP {status}): as told");
        assert!(text.contains(&words), "{text}");
    }

    let away = format!("http://{}", nowhere());
    check_with(&[("AWS_ENDPOINT_URL_S3", &away)], &both("unreachable")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_away_down_or_does_not_know_us_is_told_apart() {
    let check = async |url: &str, why: &str, word: &str| {
        let line = format!("provider {url}");
        let env = [("GATEWAY_URL", url), ("GATEWAY_TOKEN", "s3cret-token")];
        let answer = check_with(&env, &[(&line, why)]).await;
        assert!(!answer.contains("s3cret-token"), "{answer}");
        let text = error(&answer, url);
        assert!(text.contains(word), "{text}");
    };
    check(&format!("http://{}", nowhere()), "unreachable", "refused").await;
    for (status, body, why, word) in [
        (503, "down", "wrong", "answered 503: down"),
        (
            401,
            "who is s3cret-token?",
            "unauthorized",
            "answered 401: who is ***?",
        ),
        (403, "", "unauthorized", "answered 403"),
        (302, "", "wrong", "answered 302"),
        (200, "<html>a page</html>", "wrong", "answered 200"),
    ] {
        let server = answering(status, body).await;
        check(&server.url(), why, word).await;
    }
    // It takes a connection and never answers.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    check(&url, "timeout", "not answered within").await;
}

/// Serves secrets by their ARNs; all others are missing.
async fn secrets(held: &'static [(&'static str, &'static str)]) -> HttpServer {
    let answer = move |body: Bytes| async move {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let found = held.iter().find(|(arn, _)| asked["SecretId"] == *arn);
        if let Some((_, value)) = found {
            return (StatusCode::OK, json!({"SecretString": value}).to_string());
        }
        let fault = json!({"__type": "ResourceNotFoundException", "Message": "none such"});
        (StatusCode::BAD_REQUEST, fault.to_string())
    };
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    HttpServer::start(anywhere, Router::new().fallback(answer))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_read_by_a_check_and_never_told() {
    let gateway = gateway().await;
    let provider = gateway.url();
    let world = World::new(Cluster::embedded(), Ladder::with_delays(&[]), &provider).await;
    let check = async |held, ends: [String; 2]| {
        let server = secrets(held).await;
        let env = [
            ("GATEWAY_TOKEN_SECRET_ARN", TOKEN),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &server.url()),
        ];
        let payments = Checked::start(&binaries::payments(), world.env(&env)).await;
        let answer = payments.check().await;
        let told = lines(&answer);
        assert_eq!(told[told.len() - 2..], ends, "{answer}");
        assert!(!answer.contains("hunter2"), "{answer}");
    };
    check(
        &[(TOKEN, r#"{"token":"hunter2"}"#)],
        [
            format!("secret {TOKEN} ok"),
            format!("provider {provider} ok"),
        ],
    )
    .await;
    check(
        &[],
        [
            format!("secret {TOKEN} missing"),
            format!("provider {provider} unauthorized"),
        ],
    )
    .await;
    check(
        &[(TOKEN, "hunter2 is no token")],
        [
            format!("secret {TOKEN} wrong"),
            format!("provider {provider} unauthorized"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dlq_function_connects_to_its_webhook_and_posts_nothing() {
    let posts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&posts);
    let count = move || async move {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let hook = HttpServer::start(anywhere, Router::new().fallback(count));
    let hook = hook.await.unwrap();
    let world = World::bare(Cluster::embedded(), Ladder::with_delays(&[]), "http://a").await;
    let bucket = [
        "bucket brew-incidents/incidents/ ok".to_owned(),
        "bucket brew-incidents/spill/ ok".to_owned(),
    ];
    let check = async |env: &[(&str, &str)], more: &[String]| {
        let dlq = Checked::start(&binaries::dlq(), world.env(env)).await;
        let answer = dlq.check().await;
        assert!(answer.starts_with(r#"{"function":"dlq","#), "{answer}");
        assert_eq!(lines(&answer), [&bucket, more].concat(), "{answer}");
        assert!(!answer.contains("hunter2"), "{answer}");
    };
    check(&[], &[]).await;
    let url = format!("{}/hunter2", hook.url());
    check(
        &[("ALERT_WEBHOOK_URL", &url)],
        &[format!("webhook {} ok", hook.address())],
    )
    .await;
    let away = nowhere();
    check(
        &[("ALERT_WEBHOOK_URL", &format!("http://{away}/hunter2"))],
        &[format!("webhook {away} unreachable")],
    )
    .await;
    let server = secrets(&[(HOOK, r#"{"url":"http://127.0.0.1:1/hunter2"}"#)]).await;
    let env = [
        ("ALERT_WEBHOOK_SECRET_ARN", HOOK),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &server.url()),
    ];
    check(
        &env,
        &[
            format!("secret {HOOK} ok"),
            "webhook 127.0.0.1:1 unreachable".to_owned(),
        ],
    )
    .await;
    assert_eq!(posts.load(Ordering::SeqCst), 0);
}
