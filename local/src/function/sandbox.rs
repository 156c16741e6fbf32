//! A sandbox: one process at a time and a directory that outlives it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lambda::{Clock, SystemClock};
use tokio::time::Instant;
use uuid::Uuid;

use super::lines::Spout;
use super::process::{Living, Process};
use super::settings::FunctionSettings;
use crate::invoke::{Fault, Outcome};
use crate::lambda_api::{Invocation, Reply};

/// How long an answer may still be on its way after the process has ended.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Where a function's invocations run, one at a time.
#[derive(Debug)]
pub(super) struct Sandbox {
    settings: Arc<FunctionSettings>,
    folder: PathBuf,
    spout: Spout,
    living: Arc<Living>,
    process: Option<Process>,
    busy: bool,
}

impl Sandbox {
    pub(super) fn new(
        settings: Arc<FunctionSettings>,
        folder: PathBuf,
        spout: Spout,
        living: Arc<Living>,
    ) -> Self {
        Self {
            settings,
            folder,
            spout,
            living,
            process: None,
            busy: false,
        }
    }

    /// Runs one invocation, after starting the process if none lives.
    pub(super) async fn invoke(&mut self, event: Bytes) -> Outcome {
        self.busy = true;
        let settings = Arc::clone(&self.settings);
        let outcome = match self.warm().await {
            Ok((process, limit)) => run(process, &settings, limit, event).await,
            Err(fault) => Outcome::Failed(fault),
        };
        if leaves_no_process(&outcome)
            && let Some(process) = self.process.take()
        {
            process.life.kill().await;
        }
        self.busy = false;
        outcome
    }

    /// Makes the sandbox ready for the next invocation: a process that is still at work on a given-up one is killed.
    pub(super) fn release(&mut self) {
        if self.busy {
            self.process = None;
            self.busy = false;
        }
    }

    /// Ends the process: asks first, and kills it after `grace`.
    pub(super) async fn stop(self, grace: Duration) {
        if let Some(process) = self.process {
            process.life.stop(grace).await;
        }
    }

    /// Returns a process that has asked for an invocation, and how much of the function's time is left for it.
    async fn warm(&mut self) -> Result<(&mut Process, Duration), Fault> {
        if self
            .process
            .as_mut()
            .is_some_and(|process| process.life.has_ended())
        {
            self.process = None;
        }
        let timeout = self.settings.timeout;
        let (process, limit) = match self.process.take() {
            Some(process) => (process, timeout),
            None => self.cold().await?,
        };
        Ok((self.process.insert(process), limit))
    }

    /// Starts a process, and once more where its init takes too long.
    async fn cold(&self) -> Result<(Process, Duration), Fault> {
        let timeout = self.settings.timeout;
        if let Some(process) = self.start(self.settings.init_timeout).await? {
            return Ok((process, timeout));
        }
        let started = Instant::now();
        let process = self.start_again().await?;
        Ok((process, timeout.saturating_sub(started.elapsed())))
    }

    /// Starts a process whose init took too long a second time, in the time of the invocation.
    ///
    /// Source: AWS Lambda developer guide, "Understanding the Lambda execution environment lifecycle", "Failures during the Init phase".
    async fn start_again(&self) -> Result<Process, Fault> {
        let allowed = self.settings.init_timeout.as_secs_f64();
        let timeout = self.settings.timeout.as_secs_f64();
        self.spout.say(format!(
            "init took more than {allowed} s; it is started again, now in the time of the invocation ({timeout} s), as Lambda does"
        ));
        let started = self.start(self.settings.timeout).await?;
        started.ok_or_else(|| {
            Fault::Init(format!(
                "it asked for no invocation within {allowed} s, nor within {timeout} s when it was started again"
            ))
        })
    }

    /// Starts a process and waits until it asks for an invocation; `None` when it did not within `limit`.
    async fn start(&self, limit: Duration) -> Result<Option<Process>, Fault> {
        std::fs::create_dir_all(&self.folder).map_err(|error| {
            Fault::Init(format!("cannot make {}: {error}", self.folder.display()))
        })?;
        let mut process = Process::start(&self.settings, &self.folder, &self.spout, &self.living)
            .await
            .map_err(|error| Fault::Init(format!("{error:#}")))?;
        let problem = tokio::select! {
            biased;
            ready = process.api.ready() => match ready {
                Ok(()) => return Ok(Some(process)),
                Err(error) => Some(error.to_string()),
            },
            status = process.life.ended() => Some(format!("its process ended before it asked for an invocation: {status}")),
            () = tokio::time::sleep(limit) => None,
        };
        process.life.kill().await;
        match problem {
            Some(problem) => Err(Fault::Init(problem)),
            None => Ok(None),
        }
    }
}

async fn run(
    process: &mut Process,
    settings: &FunctionSettings,
    limit: Duration,
    event: Bytes,
) -> Outcome {
    let limit_ms = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
    let id = Uuid::new_v4();
    let invocation = Invocation {
        id: id.to_string(),
        event,
        deadline_ms: SystemClock.now().plus_millis(limit_ms).millis(),
        function_arn: settings.arn(),
        trace_id: format!("Root=1-00000000-{:.24};Sampled=0", id.simple()),
    };
    let Process { api, life } = process;
    let replied = api.invoke(invocation);
    tokio::pin!(replied);
    let reply = tokio::select! {
        biased;
        reply = &mut replied => reply,
        status = life.ended() => {
            let last_words = tokio::time::timeout(LAST_WORDS, replied).await;
            match last_words {
                Ok(reply) => reply,
                Err(_) => return Outcome::Failed(Fault::Crashed(status)),
            }
        }
        () = tokio::time::sleep(limit) => {
            return Outcome::Failed(Fault::TimedOut(settings.timeout));
        }
    };
    match reply {
        Reply::Answer(answer) => Outcome::Answered(answer),
        Reply::TooLarge => Outcome::Failed(Fault::AnswerTooLarge),
        Reply::Error {
            error_type,
            message,
        } => Outcome::Failed(Fault::Error {
            error_type,
            message,
        }),
    }
}

/// Tells whether the process is gone or must go: Lambda keeps it after an error that it reported itself.
const fn leaves_no_process(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Answered(_)
        | Outcome::Failed(
            Fault::Error { .. }
            | Fault::AnswerTooLarge
            | Fault::Endpoint(_)
            | Fault::Throttled(_)
            | Fault::Unreachable(_),
        ) => false,
        Outcome::Failed(Fault::Crashed(_) | Fault::TimedOut(_) | Fault::Init(_)) => true,
    }
}
