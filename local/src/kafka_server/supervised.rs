//! A child process that cannot outlive this one.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, Command};

/// Runs a program and kills it when standard input ends, which it does when the parent is gone, whatever ended it.
///
/// On SIGTERM, which the program gets too, it waits for the program to shut down in order.
const SUPERVISOR: &str = r#"
trap : TERM
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{ cat <&3 >/dev/null; kill -9 "$child"; } &
watcher=$!
exec 3<&-
while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
kill -9 "$watcher" 2>/dev/null
exit "$status"
"#;

/// A program in a process group of its own, watched by a shell; dropping it kills the group.
#[derive(Debug)]
pub(super) struct Supervised {
    supervisor: Child,
    group: Option<Pid>,
    _lifeline: Option<ChildStdin>,
}

impl Supervised {
    /// Starts a program with its output in a file.
    pub(super) fn start(
        program: &str,
        arguments: impl IntoIterator<Item = String>,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let errors = file.try_clone().context("cannot write the log twice")?;
        let words = ["-c", SUPERVISOR, "supervisor", program].map(OsString::from);
        let mut supervisor = Command::new("sh")
            .args(words)
            .args(arguments.into_iter().collect::<Vec<String>>())
            .stdin(Stdio::piped())
            .stdout(file)
            .stderr(errors)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("cannot run sh")?;
        let group = supervisor
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .map(Pid::from_raw);
        let lifeline = supervisor.stdin.take();
        Ok(Self {
            supervisor,
            group,
            _lifeline: lifeline,
        })
    }

    /// Waits for its end, and says how it ended.
    pub(super) async fn ended(&mut self) -> String {
        let status = self.supervisor.wait().await;
        self.group = None;
        match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("it cannot be waited for: {error}"),
        }
    }

    /// Asks it to end, and kills it after `grace`.
    pub(super) async fn stop(mut self, grace: Duration) {
        self.signal(Signal::SIGTERM);
        if tokio::time::timeout(grace, self.ended()).await.is_err() {
            self.kill().await;
        }
    }

    /// Kills it and waits until it is gone.
    pub(super) async fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.ended().await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            killpg(group, signal).ok();
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}
