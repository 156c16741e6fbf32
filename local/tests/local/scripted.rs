//! A function that does what a script says, and what it was given.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use local::binaries::Binaries;
use local::function::{Function, FunctionSettings, Line};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The scripted function with its folder.
pub(crate) struct Scripted {
    pub(crate) function: Arc<Function>,
    pub(crate) lines: UnboundedReceiver<Line>,
    pub(crate) folder: TempDir,
}

/// Makes a function of a script, with one sandbox and 20 s an invocation.
pub(crate) fn scripted(script: &[&str]) -> Scripted {
    scripted_with(script, |settings| settings)
}

/// Makes a function of a script with other settings.
pub(crate) fn scripted_with(
    script: &[&str],
    change: impl FnOnce(FunctionSettings) -> FunctionSettings,
) -> Scripted {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("script"), script.join("\n")).unwrap();
    let settings = FunctionSettings::new("scripted", program())
        .with_env([("SCRIPT", path("script")), ("EVENTS", path("events"))])
        .with_timeout(Duration::from_secs(20));
    let (sender, lines) = unbounded_channel();
    let function = Function::new(change(settings), None, sender).unwrap();
    Scripted {
        function: Arc::new(function),
        lines,
        folder,
    }
}

impl Scripted {
    /// Returns the events that it was given, in order.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("events")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Returns, for each event, the offsets that it held of each partition.
    pub(crate) fn deliveries(&self) -> Vec<Vec<(i64, Vec<i64>)>> {
        let partitions = |event: &Value| {
            let records = event["records"].as_object().unwrap().values();
            let mut partitions: Vec<(i64, Vec<i64>)> = records
                .map(|records| {
                    let records = records.as_array().unwrap();
                    let offsets = records.iter().map(|at| at["offset"].as_i64().unwrap());
                    (records[0]["partition"].as_i64().unwrap(), offsets.collect())
                })
                .collect();
            partitions.sort_unstable();
            partitions
        };
        self.events().iter().map(partitions).collect()
    }
}

pub(crate) fn sandboxes(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// The example lies in a folder of its own beside the test's.
fn program() -> PathBuf {
    Binaries::beside()
        .unwrap()
        .find("examples/scripted")
        .unwrap()
}
