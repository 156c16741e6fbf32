//! Functions at an HTTP endpoint that answers as `cargo lambda watch` does.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use axum::routing::post;
use bytes::Bytes;
use local::http::HttpServer;
use local::invoke::endpoint::Endpoint;
use local::invoke::{Fault, Invoke as _, Outcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bench::{Bench, REPORTS, Scripted, program};

/// One answer of the endpoint: status, headers and body.
type Answer = (u16, &'static [(&'static str, &'static str)], String);

/// Answers with one after the other, the last one again and again, and keeps who was invoked.
#[derive(Clone, Default)]
struct Watch {
    answers: Arc<Mutex<Vec<Answer>>>,
    invoked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Watch {
    async fn start(answers: &[Answer]) -> (HttpServer, Self) {
        let watch = Self::default();
        *watch.answers.lock().unwrap() = answers.to_vec();
        let routes = Router::new()
            .route("/2015-03-31/functions/{name}/invocations", post(invocation))
            .with_state(watch.clone());
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        (HttpServer::start(listen, routes).await.unwrap(), watch)
    }

    fn invoked(&self) -> Vec<String> {
        let invoked = self.invoked.lock().unwrap();
        invoked.iter().map(|(name, _)| name.clone()).collect()
    }
}

async fn invocation(
    State(watch): State<Watch>,
    Path(name): Path<String>,
    event: Bytes,
) -> Response<Body> {
    let event = serde_json::from_slice(&event).unwrap();
    watch.invoked.lock().unwrap().push((name, event));
    let (status, headers, body) = {
        let mut answers = watch.answers.lock().unwrap();
        if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0].clone()
        }
    };
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Body::from(body)).unwrap()
}

const DONE: &str = r#"{"batchItemFailures":[]}"#;
const REPORT: &str = r#"{"errorType":"Out","errorMessage":"of luck"}"#;
/// What 1.9.2 says of a program that it does not have.
const MISSING: &str = r#"{"title":"Missing function","detail":"that function doesn't exist as a binary in your project. Available functions: {\"payments\"}"}"#;

async fn check(answer: Answer, expected: Outcome) {
    let (server, _) = Watch::start(&[answer]).await;
    let endpoint = Endpoint::new(&server.url().parse().unwrap(), "f").unwrap();
    let outcome = endpoint.invoke(Bytes::from_static(b"{}")).await;
    assert_eq!(outcome, expected);
}

#[tokio::test]
async fn every_answer_of_an_endpoint_is_an_outcome() {
    let error = || {
        Outcome::Failed(Fault::Error {
            error_type: "Out".to_owned(),
            message: "of luck".to_owned(),
        })
    };
    let answered = Outcome::Answered(Bytes::from_static(DONE.as_bytes()));
    check((200, &[], DONE.to_owned()), answered).await;
    let unhandled: &[_] = &[("x-amz-function-error", "Unhandled")];
    check((200, unhandled, REPORT.to_owned()), error()).await;
    check((500, &[], REPORT.to_owned()), error()).await;
    check((200, &[], REPORT.to_owned()), error()).await;
    let refused = |text: &str| Outcome::Failed(Fault::Endpoint(text.to_owned()));
    let missing = "404: that function doesn't exist as a binary in your project. Available functions: {\"payments\"}";
    check((404, &[], MISSING.to_owned()), refused(missing)).await;
    check((408, &[], String::new()), refused("408: without a reason")).await;
    let elsewhere: &[_] = &[("location", "http://127.0.0.1:9/")];
    check(
        (302, elsewhere, String::new()),
        refused("302: without a reason"),
    )
    .await;
    let throttled = Outcome::Failed(Fault::Throttled("Rate Exceeded.".to_owned()));
    let message = r#"{"message":"Rate Exceeded."}"#.to_owned();
    check((429, &[], message), throttled).await;
    let most = " ".repeat(6 * 1024 * 1024);
    let whole = Outcome::Answered(most.clone().into());
    check((200, &[], most.clone()), whole).await;
    check(
        (200, &[], most + " "),
        Outcome::Failed(Fault::AnswerTooLarge),
    )
    .await;
}

#[tokio::test]
async fn an_endpoint_that_is_away_or_says_nothing_is_told_from_one_that_refuses() {
    let away = Endpoint::new(&"http://127.0.0.1:1".parse().unwrap(), "f").unwrap();
    let outcome = away.invoke(Bytes::new()).await;
    let Outcome::Failed(Fault::Unreachable(text)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        text.contains("nothing answers on http://127.0.0.1:1/"),
        "{text}"
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let breaks_off = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
        let half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{";
        stream.write_all(half).await.unwrap();
    };
    let endpoint = Endpoint::new(&url.parse().unwrap(), "f").unwrap();
    let (outcome, ()) = tokio::join!(endpoint.invoke(Bytes::new()), breaks_off);
    let Outcome::Failed(Fault::Unreachable(text)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(text.contains("broke during the answer:"), "{text}");
    let limit = Duration::from_millis(300);
    let silent = Endpoint::new(&url.parse().unwrap(), "f")
        .unwrap()
        .with_limit(limit);
    let outcome = silent.invoke(Bytes::new()).await;
    assert_eq!(outcome, Outcome::Failed(Fault::TimedOut(limit)));
}

fn scripted<'a>(id: &'a str, topic: &'a str) -> Scripted<'a> {
    Scripted {
        id,
        topic,
        event: REPORTS,
        script: &["answer {}"],
    }
}

#[tokio::test]
async fn functions_without_a_command_are_invoked_at_the_endpoint_until_they_are_done() {
    let bench = Bench::new(
        1,
        &[scripted("Main", "orders"), scripted("Other", "others")],
    );
    bench.fill("orders", 2).await;
    bench.fill("others", 1).await;
    let (server, watch) = Watch::start(&[
        (404, &[], MISSING.to_owned()),
        (500, &[], REPORT.to_owned()),
        (429, &[], String::new()),
        (200, &[], DONE.to_owned()),
    ])
    .await;
    let other = format!("--function=Other={}", program().display());
    let url = server.url();
    let words = [
        &other,
        "--invoke",
        &url,
        "--json",
        "--until-idle",
        "2s",
        "--env",
        "A=1",
    ];
    let ended = bench.start(&words).ended().await;
    let told = "what runs at the endpoint has an environment of its own: set A there for Main";
    let lines = ended
        .check(0, &["function Main runs at", "as the-Main", told])
        .json();
    let main = lines.iter().filter(|line| line["function"] == "Main");
    let outcomes: Vec<&Value> = main.map(|line| &line["outcome"]).collect();
    assert_eq!(outcomes, ["unreachable", "error", "unreachable", "done"]);
    assert_eq!(watch.invoked(), ["the-Main"; 4]);
    let records = watch.invoked.lock().unwrap()[3].1["records"]["orders-0"].clone();
    assert_eq!(records.as_array().unwrap().len(), 2);
    let other: Vec<&Value> = lines
        .iter()
        .filter(|line| line["function"] == "Other")
        .collect();
    assert_eq!((other.len(), &other[0]["answer"]), (1, &json!({})));
    assert_eq!(bench.committed("Main", "orders"), Some(2));
}

#[tokio::test]
async fn what_did_not_reach_the_function_is_sent_again_whole_however_few_retries_there_are() {
    let strict = format!(
        "{REPORTS}
            BisectBatchOnFunctionError: true
            MaximumRetryAttempts: 0"
    );
    let function = Scripted {
        event: &strict,
        ..scripted("Main", "orders")
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 2).await;
    let refused = (404, &[][..], MISSING.to_owned());
    let mut answers = vec![refused; 6];
    answers.push((200, &[], DONE.to_owned()));
    let (server, watch) = Watch::start(&answers).await;
    let url = server.url();
    let words = ["--invoke", &url, "--json", "--until-idle", "2s"];
    let ended = bench.start(&words).ended().await;
    ended.check(0, &[]);
    for word in ["DISCARDED", "poison"] {
        assert!(!ended.err.contains(word), "{ended:?}");
    }
    let invoked = watch.invoked.lock().unwrap().clone();
    let sizes = invoked
        .iter()
        .map(|(_, event)| event["records"]["orders-0"].as_array().unwrap().len());
    assert_eq!(sizes.collect::<Vec<_>>(), [2; 7]);
    assert_eq!(bench.committed("Main", "orders"), Some(2));
}
