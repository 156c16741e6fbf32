//! One process of a function, and the list of those that live.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::guard::Guard;
use super::lines::{Spout, Stream};
use super::settings::FunctionSettings;
use crate::lambda_api::RuntimeApi;

/// A running process of a function with the Runtime API that serves it; dropping it kills the process and its children.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) api: RuntimeApi,
    pub(super) life: Life,
}

/// The process itself, from its start to its end.
#[derive(Debug)]
pub(super) struct Life {
    child: Child,
    group: Group,
    readers: JoinSet<()>,
}

/// The processes of a function that live now, by process group.
#[derive(Debug, Default)]
pub(super) struct Living {
    groups: Mutex<BTreeSet<i32>>,
}

/// A process group that is in the list until it has been killed; nothing of it outlives its leader, as in Lambda's sandbox.
#[derive(Debug)]
struct Group {
    leader: Pid,
    living: Arc<Living>,
}

impl Process {
    /// Starts the function's program in an environment that holds nothing but what Lambda gives, `PATH` and `HOME`.
    pub(super) async fn start(
        settings: &FunctionSettings,
        folder: &Path,
        spout: &Spout,
        living: &Arc<Living>,
    ) -> anyhow::Result<Self> {
        let api = RuntimeApi::start().await?;
        let mut command = Command::new(&settings.program.file);
        command
            .args(&settings.program.arguments)
            .env_clear()
            .envs(["PATH", "HOME"].iter().filter_map(inherited))
            .envs(settings.process_env(&api.address(), spout.sandbox, folder))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {}", settings.program.file.display()))?;
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .context("the process ended at once")?;
        let group = Group::new(Pid::from_raw(leader), living);
        let mut readers = JoinSet::new();
        let spout = |stream| Spout {
            stream,
            ..spout.clone()
        };
        if let Some(out) = child.stdout.take() {
            readers.spawn(spout(Stream::Out).pour(out));
        }
        if let Some(err) = child.stderr.take() {
            readers.spawn(spout(Stream::Err).pour(err));
        }
        let life = Life {
            child,
            group,
            readers,
        };
        Ok(Self { api, life })
    }
}

impl Life {
    /// Waits for the process to end, and for its last lines.
    pub(super) async fn ended(&mut self) -> String {
        let status = self.child.wait().await;
        self.group.end();
        // A child of its own that left the group may hold the pipes open for ever.
        let last_lines = async { while self.readers.join_next().await.is_some() {} };
        if tokio::time::timeout(Duration::from_millis(500), last_lines)
            .await
            .is_err()
        {
            self.readers.abort_all();
        }
        match status {
            Ok(status) => describe(status),
            Err(error) => format!("it cannot be waited for: {error}"),
        }
    }

    /// Tells whether the process has ended, without waiting.
    pub(super) fn has_ended(&mut self) -> bool {
        let ended = !matches!(self.child.try_wait(), Ok(None));
        if ended {
            self.group.end();
        }
        ended
    }

    /// Asks the process to end, waits for at most `grace`, and kills it.
    pub(super) async fn stop(mut self, grace: Duration) {
        self.group.signal(Signal::SIGTERM);
        if tokio::time::timeout(grace, self.ended()).await.is_err() {
            self.kill().await;
        }
    }

    /// Kills the process with its children and waits until it is gone.
    pub(super) async fn kill(mut self) {
        self.group.signal(Signal::SIGKILL);
        self.ended().await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a function inherits these two of our own variables"
)]
fn inherited(name: &&'static str) -> Option<(&'static str, String)> {
    Some((name, std::env::var(name).ok()?))
}

/// Says how a process ended, as Lambda's "Runtime exited" does.
pub(crate) fn describe(status: ExitStatus) -> String {
    status.to_string()
}

impl Group {
    fn new(leader: Pid, living: &Arc<Living>) -> Self {
        living.join(leader.as_raw());
        Self {
            leader,
            living: Arc::clone(living),
        }
    }

    fn signal(&self, signal: Signal) {
        if self.living.groups().contains(&self.leader.as_raw()) {
            killpg(self.leader, signal).ok();
        }
    }

    /// Kills what is left of the group, then forgets it: its number may belong to another one from now on.
    fn end(&self) {
        self.signal(Signal::SIGKILL);
        self.living.leave(self.leader.as_raw());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

impl Living {
    fn groups(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, group: i32) {
        let mut groups = self.groups();
        if groups.insert(group)
            && let Some(guard) = Guard::of_this_program()
        {
            guard.add(group);
        }
    }

    fn leave(&self, group: i32) {
        let mut groups = self.groups();
        if groups.remove(&group)
            && let Some(guard) = Guard::of_this_program()
        {
            guard.remove(group);
        }
    }

    /// Sends them all a signal; returns how many there were.
    pub(super) fn signal(&self, signal: Signal) -> usize {
        let groups = self.groups();
        for group in groups.iter() {
            killpg(Pid::from_raw(*group), signal).ok();
        }
        groups.len()
    }
}
