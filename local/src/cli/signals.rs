//! Being told to stop.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens to Ctrl-C and SIGTERM; once it is made, neither ends the process by itself.
#[derive(Debug)]
pub(super) struct Stops {
    interrupt: Signal,
    terminate: Signal,
}

impl Stops {
    pub(super) fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("cannot listen to Ctrl-C")?,
            terminate: signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) async fn told_to_stop() -> anyhow::Result<()> {
    Stops::listen()?.told().await;
    Ok(())
}
