//! `cargo lambda watch`, whose deadline header is a duration and not a time.

use std::fs::Permissions;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use local::provider::{Provider, ProviderSettings};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::harness::binaries;
use crate::harness::cluster::{Cluster, Seed};
use crate::harness::emulator::{Emulator, changed_template};
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_id, fresh_ids, payment};
use crate::harness::world::{PARTITIONS, World};
use crate::harness::{not_run, now_ms, until};

/// How long the first call may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Cargo, but for one thing: what it is asked to run is built already. By itself it would build the function once more without the
/// features that other members of the workspace ask for, and most of what it is made of with it.
const CARGO: &str = r#"#!/bin/sh
[ "$1" = run ] || exec "$REAL_CARGO" "$@"
while [ $# -gt 0 ]; do
  case "$1" in --bin|--package) binary=$2 ;; esac
  shift
done
exec "$PROGRAMS/$binary"
"#;

/// `cargo lambda watch` with everything that it starts; dropping it ends them all.
struct Watch {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Watch {
    /// Starts to serve the functions; `None` when there is no cargo-lambda, which CI must have.
    async fn start(world: &World) -> Option<Self> {
        let version = Command::new("cargo-lambda").arg("--version").output().await;
        if let Err(error) = version {
            not_run("cargo-lambda 1.9.2 (pip install cargo-lambda)", &error);
            return None;
        }
        let port = free_port();
        let folder = TempDir::new().unwrap();
        let cargo = folder.path().join("cargo");
        std::fs::write(&cargo, CARGO).unwrap();
        std::fs::set_permissions(&cargo, Permissions::from_mode(0o755)).unwrap();
        let child = Command::new("cargo-lambda")
            .args([
                "lambda",
                "watch",
                "--invoke-address",
                "127.0.0.1",
                "--invoke-port",
            ])
            .arg(port.to_string())
            .args(["--ignore-changes", "--concurrency", "8"])
            .current_dir(binaries::workspace())
            .env("CARGO", cargo)
            .env("REAL_CARGO", env!("CARGO"))
            .env("PROGRAMS", binaries::payments().parent().unwrap())
            .env("MARKER_DIR", folder.path())
            .envs(world.env(&[("GATEWAY_TIMEOUT", "5s")]))
            .env("AWS_ACCESS_KEY_ID", local::s3::ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", local::s3::SECRET_KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Some(Self {
            child,
            port,
            _folder: folder,
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Runs `cargo local replay` against it, and returns what that printed.
    async fn replay(&self, flags: &[&str]) -> Value {
        let url = self.url();
        let command = Command::new(binaries::local())
            .args(["replay", "--json", "--invoke", &url])
            .args(flags)
            .env_remove("KAFKA_BROKERS")
            .kill_on_drop(true)
            .output();
        let ran = tokio::time::timeout(PATIENCE, command)
            .await
            .unwrap()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{flags:?}: {told}");
        serde_json::from_slice(&ran.stdout).unwrap()
    }

    /// Posts an event until the server takes it, and returns the answer.
    async fn invoke(&self, event: &bytes::Bytes) -> Vec<u8> {
        let url = format!("{}/2015-03-31/functions/payments/invocations", self.url());
        // Reqwest wants one even where nothing is encrypted.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let client = reqwest::Client::new();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let posted = client.post(&url).body(event.clone()).timeout(PATIENCE);
            match posted.send().await {
                Ok(answer) => {
                    let status = answer.status();
                    let body = answer.bytes().await.unwrap();
                    assert!(status.is_success(), "{status}: {body:?}");
                    return body.to_vec();
                }
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            killpg(Pid::from_raw(id), Signal::SIGKILL).ok();
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// A failed payment is forwarded too: both take time, of which a misread deadline would leave none.
#[tokio::test(flavor = "multi_thread")]
async fn cargo_lambda_watch_serves_payments_to_an_event_by_hand() {
    let gateway = Gateway::start(|asked| match asked.mode.as_str() {
        "ok" => Ruling::Charge(Duration::ZERO),
        _ => Ruling::Refuse(503, "down".to_owned()),
    })
    .await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let Some(watch) = Watch::start(&world).await else {
        return;
    };
    let ids = fresh_ids("watched", 2);
    let main = &world.ladder.main;
    let records = [
        Sent::new(main, 0, &ids[0], payment(&ids[0], "ok")),
        Sent::new(main, 1, &ids[1], payment(&ids[1], "transient")),
    ];
    let answer = watch.invoke(&event(&records)).await;
    assert_eq!(handed_back(&answer), Vec::<String>::new());
    assert_eq!(gateway.charges(), [(ids[0].clone(), 1)].into());
    assert_eq!(world.cluster.records(world.ladder.retry(0)).await.len(), 1);
}

/// Every stage has a payment that is due, and one of them another that is not for minutes.
#[tokio::test(flavor = "multi_thread")]
async fn the_emulator_drives_the_whole_pipeline_through_cargo_lambda_watch() {
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let ladder = Ladder::with_delays(&["1s", "5m", "1h"]);
    let world = World::new(Cluster::embedded(), ladder, &provider.url()).await;
    let Some(watch) = Watch::start(&world).await else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let template = changed_template(folder.path(), |template| {
        let lines = template.lines();
        let kept = lines.filter(|line| !line.contains("MaximumBatchingWindowInSeconds"));
        kept.collect::<Vec<_>>().join("\n")
    });
    let emulator = Emulator::of(&template, &world, &["--invoke", &watch.url()]);
    let waiting = fresh_id("waiting");
    let due = fresh_ids("due", 4);
    let declined = fresh_id("declined");
    let seed = |id: &str, mode: &str, partition, age_ms: i64| {
        (
            id.to_owned(),
            payment(id, mode),
            partition,
            now_ms() - age_ms,
        )
    };
    let hour_ms = 3_600_000;
    for (topic, seeds) in [
        (
            world.ladder.retry(1),
            vec![seed(&waiting, "ok", 0, 0), seed(&due[2], "ok", 1, hour_ms)],
        ),
        (world.ladder.retry(0), vec![seed(&due[1], "ok", 0, hour_ms)]),
        (world.ladder.retry(2), vec![seed(&due[3], "ok", 0, hour_ms)]),
        (
            &world.ladder.main,
            vec![
                seed(&due[0], "ok", 0, 0),
                seed(&declined, "permanent", 1, 0),
            ],
        ),
    ] {
        let seeds: Vec<Seed<'_>> = seeds
            .iter()
            .map(|(id, value, partition, time)| Seed {
                key: Some(id.as_bytes()),
                value: Some(value),
                partition: Some(*partition),
                timestamp: Some(*time),
                ..Seed::default()
            })
            .collect();
        world.cluster.produce(topic, &seeds).await;
    }
    until(
        PATIENCE,
        "every stage has charged, and an incident is told",
        async || {
            let charged = provider.charges();
            let incidents = world.store.incidents().await.len();
            if due.iter().all(|id| charged.contains_key(id)) && incidents == 1 {
                Ok(())
            } else {
                Err(format!(
                    "{charged:?}, {incidents} incidents: {}",
                    emulator.notes()
                ))
            }
        },
    )
    .await;
    assert_eq!(provider.charges().get(&waiting), None, "it is not due");
    assert_eq!(provider.charges().values().sum::<u32>(), 4, "each once");
    let incident = &world.store.incidents().await[0];
    assert_eq!(incident["key"], declined.as_str());
    let group = format!("payments.{}", world.ladder.retry(1));
    let committed = world
        .cluster
        .committed(&group, world.ladder.retry(1), PARTITIONS)
        .await;
    assert_eq!(
        committed[0].1.unwrap_or(0),
        0,
        "what waits stays where it is"
    );
}

/// What the README shows: looked at, sent back and asked about, by the shell's command through the endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_runs_through_cargo_lambda_watch() {
    let ladder = Ladder::with_delays(&[]);
    let world = World::new(Cluster::embedded(), ladder, "http://127.0.0.1:1").await;
    let Some(watch) = Watch::start(&world).await else {
        return;
    };
    let ids = fresh_ids("dead", 12);
    let (dlq, main) = (&world.ladder.dlq, &world.ladder.main);
    let headers: [(&str, Option<&[u8]>); 1] = [("error.class", Some(b"transient"))];
    world.cluster.pay_with(dlq, &ids, |_| "ok", &headers).await;
    until(PATIENCE, "the server takes connections", async || {
        let connected = tokio::net::TcpStream::connect(("127.0.0.1", watch.port)).await;
        connected.map(drop).map_err(|error| error.to_string())
    })
    .await;
    let dry = watch
        .replay(&["--dry-run", "--error-class", "transient"])
        .await;
    assert_eq!(
        (&dry["to_publish"], &dry["complete"]),
        (&json!(12), &json!(true))
    );
    let run = watch
        .replay(&["--plan", dry["plan"].as_str().unwrap()])
        .await;
    assert_eq!(
        (&run["published"], &run["complete"]),
        (&json!(12), &json!(true))
    );
    assert_eq!(world.cluster.records(main).await.len(), 12);
    let id = run["replay_id"].as_str().unwrap();
    let standing = watch.replay(&["--status", id]).await;
    assert_eq!(
        (&standing["published"], &standing["unknown"]),
        (&json!(12), &json!(12))
    );
}
