//! Functions that are asked `{"check":true}`, and servers that they may meet.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use bytes::Bytes;
use local::http::HttpServer;
use local::lambda_api::Reply;
use serde_json::Value;
use tokio::time::Instant;

use super::bare::Bare;
use super::binaries;
use super::cluster::Cluster;
use super::gateway::{Gateway, Ruling};
use super::ladder::Ladder;
use super::world::World;

/// The longest that any of these checks may take: 5 s, and starting the process's clients on a busy machine.
const LONGEST: Duration = Duration::from_secs(7);

/// A function's process that was started in an environment.
#[derive(Debug)]
pub(crate) struct Checked {
    process: Bare,
}

impl Checked {
    pub(crate) async fn start(binary: &Path, env: BTreeMap<String, String>) -> Self {
        let process = Bare::start(binary, env).await;
        process.ready().await;
        Self { process }
    }

    pub(crate) async fn invoke(&self, payload: &str) -> Reply {
        let payload = Bytes::copy_from_slice(payload.as_bytes());
        let began = Instant::now();
        let reply = self.process.invoke(payload, Duration::from_secs(30)).await;
        assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
        reply.unwrap()
    }

    /// Returns the answer's text.
    pub(crate) async fn check(&self) -> String {
        match self.invoke(r#"{"check":true}"#).await {
            Reply::Answer(answer) => String::from_utf8(answer.to_vec()).unwrap(),
            reply @ (Reply::Error { .. } | Reply::TooLarge) => panic!("{reply:?}"),
        }
    }
}

/// One line of the answer, told shortly: name, target up to a space, and `ok` or why not.
pub(crate) fn lines(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let lines = answer["checks"].as_array().unwrap();
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or("ok").to_owned();
            assert!(line["ms"].as_u64().unwrap() <= 5_100, "{line}");
            assert_eq!(line["ok"], line.get("error").is_none(), "{line}");
            let target = text("target");
            let target = target.split(' ').next().unwrap();
            format!("{} {target} {}", text("name"), text("why"))
        })
        .collect();
    let all_ok = told.iter().all(|line| line.ends_with(" ok"));
    assert_eq!(answer["ok"], all_ok, "{answer}");
    told
}

/// Returns the error of the line of a target, which must have one.
pub(crate) fn error(answer: &str, target: &str) -> String {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let lines = answer["checks"].as_array().unwrap();
    let line = lines.iter().find(|line| {
        let told = line["target"].as_str().unwrap();
        told.split(' ').next() == Some(target)
    });
    line.unwrap()["error"].as_str().unwrap().to_owned()
}

/// Answers every request so, whatever it is.
pub(crate) async fn answering(status: u16, body: &'static str) -> HttpServer {
    let answer = move || async move { (StatusCode::from_u16(status).unwrap(), body) };
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    HttpServer::start(anywhere, Router::new().fallback(answer))
        .await
        .unwrap()
}

/// Returns an address where nobody listens.
pub(crate) fn nowhere() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().to_string()
}

pub(crate) async fn gateway() -> Gateway {
    Gateway::start(|_| Ruling::Charge(Duration::ZERO)).await
}

/// Returns what a payments function of this world tells when all is well, in order.
pub(crate) fn all_good(world: &World, provider: &str) -> Vec<String> {
    let topics = world.ladder.topics().into_iter();
    let topics = topics.map(|topic| format!("topic {topic} ok"));
    std::iter::once(format!("kafka {} ok", world.cluster.address()))
        .chain(topics)
        .chain([
            "bucket brew-incidents/incidents/ ok".to_owned(),
            "bucket brew-incidents/spill/ ok".to_owned(),
            format!("provider {provider} ok"),
        ])
        .collect()
}

/// Replaces the line that begins so.
pub(crate) fn but(lines: Vec<String>, begins: &str, with: &str) -> Vec<String> {
    assert!(
        lines.iter().any(|line| line.starts_with(begins)),
        "{begins}"
    );
    let changed = lines.into_iter().map(|line| {
        if line.starts_with(begins) {
            format!("{begins} {with}")
        } else {
            line
        }
    });
    changed.collect()
}

/// Checks a payments function in a good world but for these settings; `changed` are its lines that are other than good.
pub(crate) async fn check_with(env: &[(&str, &str)], changed: &[(&str, &str)]) -> String {
    let gateway = gateway().await;
    let world = World::new(
        Cluster::embedded(),
        Ladder::with_delays(&[]),
        &gateway.url(),
    )
    .await;
    let provider = env.iter().find(|(name, _)| *name == "GATEWAY_URL");
    let provider = provider.map_or(gateway.url(), |(_, url)| (*url).to_owned());
    let payments = Checked::start(&binaries::payments(), world.env(env)).await;
    let answer = payments.check().await;
    let mut expected = all_good(&world, &provider);
    for (begins, with) in changed {
        expected = but(expected, begins, with);
    }
    assert_eq!(lines(&answer), expected, "{answer}");
    answer
}
