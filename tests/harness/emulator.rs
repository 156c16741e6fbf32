//! `cargo local run`, the emulator as its users start it: a process of its own that reads the workspace's template.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::Topic;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::binaries;
use super::ladder::Ladder;
use super::world::World;

/// A running emulator; dropping it kills it, and with it what it started.
#[derive(Debug)]
pub(crate) struct Emulator {
    process: Child,
    out: Lines,
    err: Lines,
    readers: JoinSet<()>,
}

type Lines = Arc<Mutex<Vec<String>>>;

/// How an emulator that ended by itself ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) invocations: Vec<Value>,
    pub(crate) notes: String,
}

impl Emulator {
    /// Runs the workspace's template on the world's brokers, topics, store and provider.
    pub(crate) fn start(world: &World, more: &[&str]) -> Self {
        Self::of(&binaries::workspace().join("template.yaml"), world, more)
    }

    /// Runs a template.
    pub(crate) fn of(template: &Path, world: &World, more: &[&str]) -> Self {
        let env = world.env(&[]);
        // What is given beside comes in place of the ladder's own.
        let parameter = |name: &str, variable: &str| {
            let (name, value) = (format!("{name}="), &env[variable]);
            let is_given = more.iter().any(|given| given.starts_with(&name));
            let own = ["--parameter".to_owned(), format!("{name}{value}")];
            own.into_iter().filter(move |_| !is_given)
        };
        let process = Command::new(binaries::local())
            .arg("run")
            .arg("--template")
            .arg(template)
            .arg("--json")
            .args(["--brokers", world.cluster.address()])
            .args(["--s3", &env["AWS_ENDPOINT_URL_S3"]])
            .args(["--bucket", &env["INCIDENT_BUCKET"]])
            .args(["--parameter", "MainStart=TRIM_HORIZON"])
            .args(["--parameter", "AskFirst=unsure"])
            .args(named(&world.ladder))
            .args(parameter("MainTopic", "MAIN_TOPIC"))
            .args(parameter("RetryStages", "RETRY_STAGES"))
            .args(parameter("DlqTopic", "DLQ_TOPIC"))
            .args(parameter("GatewayUrl", "GATEWAY_URL"))
            .args(more)
            .current_dir(binaries::workspace())
            .env("CARGO_TARGET_DIR", binaries::target())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut process = process.unwrap();
        let (out, err) = (Lines::default(), Lines::default());
        let mut readers = JoinSet::new();
        readers.spawn(gather(process.stdout.take().unwrap(), Arc::clone(&out)));
        readers.spawn(gather(process.stderr.take().unwrap(), Arc::clone(&err)));
        Self {
            process,
            out,
            err,
            readers,
        }
    }

    /// Returns what it told of its invocations so far.
    pub(crate) fn invocations(&self) -> Vec<Value> {
        let lines = self.out.lock().unwrap();
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns what else it said so far.
    pub(crate) fn notes(&self) -> String {
        self.err.lock().unwrap().join("\n")
    }

    /// Kills the emulator alone, at once, as a power failure would, and returns what it had told.
    pub(crate) async fn kill(mut self) -> Vec<Value> {
        self.process.kill().await.unwrap();
        // A function that outlives it for a moment may hold the pipes open.
        self.readers.abort_all();
        self.invocations()
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(mut self, limit: Duration) -> Ended {
        let ended = async {
            let status = self.process.wait().await.unwrap();
            while self.readers.join_next().await.is_some() {}
            status
        };
        let status = tokio::time::timeout(limit, ended).await;
        let status = status.unwrap_or_else(|_| panic!("it runs on: {}", tail(&self.notes())));
        Ended {
            status,
            invocations: self.invocations(),
            notes: self.notes(),
        }
    }
}

impl Ended {
    /// Fails with the last that it said unless it ended well.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        assert!(
            self.status.success(),
            "{}: {}",
            self.status,
            tail(&self.notes)
        );
        self
    }
}

/// Returns the parameters that tell the template of the retry topics' names.
fn named(ladder: &Ladder) -> [String; 4] {
    let names: Vec<&str> = ladder
        .retries
        .iter()
        .map(|(topic, _)| name_of(topic))
        .collect();
    let prefix = ladder.retries.first().map_or("", |(topic, _)| {
        topic.as_str().strip_suffix(name_of(topic)).unwrap()
    });
    let names = match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(","),
    };
    [
        "--parameter".to_owned(),
        format!("RetryPrefix={prefix}"),
        "--parameter".to_owned(),
        format!("Stages={names}"),
    ]
}

/// Returns the end of a retry topic's name, by which the template tells it.
fn name_of(topic: &Topic) -> &str {
    topic.as_str().rsplit('.').next().unwrap()
}

/// Returns the workspace's template, changed, in a folder of its own.
pub(crate) fn changed_template(folder: &Path, change: impl Fn(&str) -> String) -> PathBuf {
    let text = std::fs::read_to_string(binaries::workspace().join("template.yaml")).unwrap();
    let changed = change(&text);
    assert_ne!(changed, text, "nothing was changed");
    let file = folder.join("template.yaml");
    std::fs::write(&file, changed).unwrap();
    file
}

async fn gather(from: impl AsyncRead + Unpin, to: Lines) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        to.lock().unwrap().push(line);
    }
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(40);
    lines[from..].join("\n")
}
