//! `{"check":true}` where brokers want to know who asks.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::json;

use crate::harness::binaries;
use crate::harness::checked::{Checked, error, gateway, lines, nowhere};
use crate::harness::cluster::Cluster;
use crate::harness::ladder::Ladder;
use crate::harness::secrets::{ARN, Secrets};
use crate::harness::secured::{ALICE, Secured, Way};
use crate::harness::severed::Severed;
use crate::harness::world::World;
use crate::kafka_auth::borrowed;

#[tokio::test(flavor = "multi_thread")]
async fn a_check_reads_the_login_anew_and_takes_a_cut_connection_for_no_refusal() {
    let Some(secured) = Secured::start().await else {
        return;
    };
    let gateway = gateway().await;
    let secrets = Secrets::with(ALICE.0, "0ld-s3cret").await;
    let ladder = Ladder::with_delays(&[]);
    let world = World::new(secured.cluster(), ladder, &gateway.url()).await;
    let mut env = secured.way_in(Way::Scram, &secrets);
    let brokers = secured.address(Way::Scram);
    let payments = Checked::start(&binaries::payments(), world.env(&borrowed(&env))).await;
    for why in ["unauthorized", "ok"] {
        let answer = payments.check().await;
        let expected = [format!("secret {ARN} ok"), format!("kafka {brokers} {why}")];
        assert_eq!(lines(&answer)[..2], expected, "{answer}");
        assert!(!answer.contains("s3cret"), "{answer}");
        // The process is the same, and has produced nothing that could be refused.
        secrets.change(ALICE.0, ALICE.1);
    }

    let severed = Severed::before(&brokers).await;
    severed.address().clone_into(&mut env[0].1);
    let payments = Checked::start(&binaries::payments(), world.env(&borrowed(&env))).await;
    let answer = payments.check().await;
    let expected = format!("kafka {} unreachable", severed.address());
    assert_eq!(lines(&answer)[1], expected, "{answer}");
    let text = error(&answer, severed.address());
    let cut = text.contains("SaslAuthenticateRequest failed") && !text.contains("no such user");
    assert!(cut, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_secret_of_a_login_is_told_apart() {
    let gateway = gateway().await;
    let ladder = Ladder::with_delays(&[]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let brokers = world.cluster.address().to_owned();
    let check = async |secrets: &str, why: &str, words: &str| {
        let env = [
            ("KAFKA_AUTH", "scram"),
            ("KAFKA_SECRET_ARN", ARN),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets),
        ];
        let payments = Checked::start(&binaries::payments(), world.env(&env)).await;
        let answer = payments.check().await;
        let expected = [
            format!("secret {ARN} {why}"),
            format!("kafka {brokers} unauthorized"),
        ];
        assert_eq!(lines(&answer)[..2], expected, "{answer}");
        let text = error(&answer, ARN);
        assert!(text.contains(words), "{text}");
        let text = error(&answer, &brokers);
        assert!(text.contains("the login cannot be read"), "{text}");
        assert!(!answer.contains("hunter2"), "{answer}");
    };
    let secrets = Secrets::start().await;
    check(&secrets.url(), "unauthorized", "AccessDeniedException").await;
    for (text, words) in [
        ("hunter2", "it is no JSON object"),
        (r#"{"username":"hunter2"}"#, "no text field `password`"),
    ] {
        secrets.put(text);
        check(&secrets.url(), "wrong", words).await;
    }
    secrets.put(&json!({"username": "u", "password": ""}).to_string());
    check(&secrets.url(), "wrong", "its `password` is empty").await;
    check(&format!("http://{}", nowhere()), "unreachable", "refused").await;
    // It takes a connection and never answers.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    check(&silent, "timeout", "GetSecretValue: no answer in time").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_never_come_are_named_in_time() {
    let gateway = gateway().await;
    let ladder = Ladder::with_delays(&[]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let silent = format!("http://{}/credentials", listener.local_addr().unwrap());
    let env = [
        ("KAFKA_AUTH", "iam"),
        ("AWS_ACCESS_KEY_ID", ""),
        ("AWS_SECRET_ACCESS_KEY", ""),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &silent),
    ];
    let payments = Checked::start(&binaries::payments(), world.env(&env)).await;
    let answer = payments.check().await;
    let brokers = world.cluster.address();
    assert_eq!(lines(&answer)[0], format!("kafka {brokers} unauthorized"));
    let text = error(&answer, brokers);
    assert!(text.contains("no answer within 2.5s"), "{text}");
}
