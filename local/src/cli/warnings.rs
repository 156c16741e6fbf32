//! What a library warns of while a command runs, gathered to be shown when it has ended.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::{Level, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::{Layer, Registry, fmt, layer::SubscriberExt};

/// Where it is logged that a replay is refused.
const REFUSALS: &str = "replay::telling";

/// Gathers warnings, one a line. Why a command fails is not among them: it comes back as an error.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings(Arc<Mutex<Vec<u8>>>);

impl Warnings {
    /// Returns what must be subscribed to the work.
    pub(super) fn subscriber(&self) -> impl Subscriber + use<> {
        let lines = self.clone();
        let layer = fmt::layer()
            .without_time()
            .with_level(false)
            .with_target(false)
            .with_ansi(false)
            .with_writer(move || lines.clone())
            .with_filter(filter_fn(|metadata| {
                *metadata.level() == Level::WARN && metadata.target() != REFUSALS
            }));
        Registry::default().with(layer)
    }

    /// Takes the lines that were gathered.
    pub(super) fn take(&self) -> Vec<String> {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = String::from_utf8_lossy(&gathered);
        let lines = lines.lines().map(str::to_owned).collect();
        gathered.clear();
        lines
    }
}

impl Write for Warnings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
