//! One process of a function under a Runtime API that the test itself speaks: signals, deadlines and odd events.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use local::lambda_api::{Invocation, Reply, RuntimeApi};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::now_ms;

/// The process; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Bare {
    api: RuntimeApi,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    readers: JoinSet<()>,
    _folder: TempDir,
}

impl Bare {
    /// Starts a binary in an environment of these variables, beside what Lambda itself gives.
    pub(crate) async fn start(
        binary: &Path,
        env: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let api = RuntimeApi::start().await.unwrap();
        let folder = TempDir::new().unwrap();
        let mut command = command(binary.to_owned(), &api.address(), folder.path());
        let mut child = command.envs(env).spawn().unwrap();
        let log = Arc::default();
        let mut readers = JoinSet::new();
        readers.spawn(read(child.stderr.take().unwrap(), Arc::clone(&log)));
        Self {
            api,
            child,
            log,
            readers,
            _folder: folder,
        }
    }

    /// Waits until it asks for its first invocation.
    pub(crate) async fn ready(&self) {
        self.api.ready().await.unwrap();
    }

    /// Runs one invocation that has so much time.
    pub(crate) async fn invoke(&self, event: Bytes, time: Duration) -> Option<Reply> {
        let time_ms = i64::try_from(time.as_millis()).unwrap();
        let invocation = Invocation {
            id: Uuid::new_v4().to_string(),
            event,
            deadline_ms: now_ms() + time_ms,
            function_arn: "arn:aws:lambda:us-east-1:000000000000:function:bare".to_owned(),
            trace_id: "Root=1-00000000-000000000000000000000000;Sampled=0".to_owned(),
        };
        Some(self.api.invoke(invocation).await)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id().unwrap()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    /// Returns the most memory that it has had at a time, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        let file = format!("/proc/{}/status", self.child.id().unwrap());
        let status = std::fs::read_to_string(file).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = peak.and_then(|peak| peak.split_whitespace().next());
        number.unwrap().parse().unwrap()
    }

    /// Waits for its end and returns what it wrote to its log, line by line.
    pub(crate) async fn ended(&mut self) -> (ExitStatus, Vec<String>) {
        let status = self.child.wait().await.unwrap();
        while self.readers.join_next().await.is_some() {}
        (status, self.log.lock().unwrap().clone())
    }

    /// Tells whether it asked for an invocation, without waiting.
    pub(crate) async fn has_asked(&self) -> bool {
        let asked = tokio::time::timeout(Duration::from_millis(1), self.api.ready()).await;
        matches!(asked, Ok(Ok(())))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a process inherits these two of our own variables"
)]
fn command(binary: PathBuf, api: &str, folder: &Path) -> Command {
    let inherited = ["PATH", "HOME"].iter();
    let mut command = Command::new(binary);
    command
        .env_clear()
        .envs(inherited.filter_map(|name| Some((*name, std::env::var(name).ok()?))))
        .env("AWS_LAMBDA_RUNTIME_API", api)
        .env("AWS_LAMBDA_FUNCTION_NAME", "bare")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_REGION", local::function::REGION)
        .env("AWS_ACCESS_KEY_ID", local::s3::ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", local::s3::SECRET_KEY)
        .env("MARKER_DIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn read(from: impl AsyncRead + Unpin, log: Arc<Mutex<Vec<String>>>) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.lock().unwrap().push(line);
    }
}
