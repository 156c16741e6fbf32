//! A function: a pool of sandboxes that run its program, as Lambda does.

mod guard;
mod lines;
mod process;
mod sandbox;
mod settings;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nix::sys::signal::Signal;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::lines::Spout;
use self::process::Living;
use self::sandbox::Sandbox;
use crate::folder::Folder;
use crate::invoke::{Fault, Invoke, Outcome};

pub use self::lines::{Line, Stream};
pub use self::settings::{FunctionSettings, Program, REGION};

/// How often a function that stops looks for invocations that have ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A function that can be invoked: each invocation runs in a sandbox of its own, at most so many at a time.
///
/// A sandbox is a process with its own marker directory. The process is started at the first need, stays for the next
/// invocations, and is started again in the same directory after it crashed or was killed at its deadline. When this program
/// is killed, its guard, a shell, kills the processes with all that they started.
#[derive(Debug)]
pub struct Function {
    settings: Arc<FunctionSettings>,
    permits: Semaphore,
    idle: Mutex<Vec<Sandbox>>,
    living: Arc<Living>,
    _folder: Folder,
}

/// Holds a sandbox for one invocation and gives it back, also when the invocation is given up midway.
struct Borrowed<'a> {
    function: &'a Function,
    sandbox: Option<Sandbox>,
}

impl Function {
    /// Prepares the sandboxes; starts no process yet.
    ///
    /// What the processes write goes to `lines`, line by line. The sandboxes' directories lie in `folder`, or in a temporary
    /// one that is removed with the function.
    pub fn new(
        settings: FunctionSettings,
        folder: Option<PathBuf>,
        lines: UnboundedSender<Line>,
    ) -> anyhow::Result<Self> {
        let folder = Folder::make(folder, "sandbox")?;
        let settings = Arc::new(settings);
        let living = Arc::new(Living::default());
        let spout = Spout::new(&settings.label, lines);
        let sandboxes = (0..settings.concurrency.get()).rev().map(|number| {
            Sandbox::new(
                Arc::clone(&settings),
                folder.path().join(&settings.label).join(number.to_string()),
                spout.of(number),
                Arc::clone(&living),
            )
        });
        let sandboxes = sandboxes.collect();
        Ok(Self {
            permits: Semaphore::new(settings.concurrency.get()),
            settings,
            idle: Mutex::new(sandboxes),
            living,
            _folder: folder,
        })
    }

    /// Returns the function's name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Kills every process that runs now, as from outside; running invocations end as crashed. Returns how many there were.
    pub fn kill(&self) -> usize {
        self.living.signal(Signal::SIGKILL)
    }

    /// Ends every process: asks first, and kills after `grace`. No invocation is taken afterwards.
    pub async fn stop(&self, grace: Duration) {
        self.permits.close();
        self.living.signal(Signal::SIGTERM);
        let told = Instant::now();
        let mut running = self.settings.concurrency.get();
        let mut stopping = JoinSet::new();
        loop {
            let left = grace.saturating_sub(told.elapsed());
            // A sandbox that runs an invocation comes back with its answer.
            for sandbox in std::mem::take(&mut *self.idle()) {
                running = running.saturating_sub(1);
                stopping.spawn(sandbox.stop(left));
            }
            if running == 0 || left.is_zero() {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        stopping.join_all().await;
        // What still runs had its time, and ends its invocation as a crash.
        self.kill();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Sandbox>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Invoke for Function {
    async fn invoke(&self, event: Bytes) -> Outcome {
        let stopped = || Outcome::Failed(Fault::Init("it has been stopped".to_owned()));
        let Ok(_permit) = self.permits.acquire().await else {
            return stopped();
        };
        // The sandbox used last is the warmest; there is one for each permit.
        let sandbox = self.idle().pop();
        let mut borrowed = Borrowed {
            function: self,
            sandbox,
        };
        match &mut borrowed.sandbox {
            Some(sandbox) => sandbox.invoke(event).await,
            None => stopped(),
        }
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let Some(mut sandbox) = self.sandbox.take() {
            sandbox.release();
            self.function.idle().push(sandbox);
        }
    }
}
