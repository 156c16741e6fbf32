//! The narrator: tells each record's way as it happens.

use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::journey::{Cast, Journey, cannot_start};
use super::screen::Screen;
use super::services::Wires;
use crate::function::Line;
use crate::mapping::Report;

/// Listens to functions and mappings until the last of them is gone.
#[derive(Debug)]
pub(super) struct Narrator {
    task: JoinSet<u64>,
    hopeless: watch::Receiver<Option<String>>,
}

/// What is told, on its way to the narrator.
struct Listening {
    journey: Journey,
    screen: Screen,
    lines: UnboundedReceiver<Line>,
    reports: UnboundedReceiver<Report>,
    hopeless: watch::Sender<Option<String>>,
}

impl Narrator {
    /// Begins to listen; what happens is to be told to the wires.
    pub(super) fn begin(cast: Cast, screen: Screen) -> (Self, Wires) {
        let (lines_sender, lines) = mpsc::unbounded_channel();
        let (reports_sender, reports) = mpsc::unbounded_channel();
        let (hopeless_sender, hopeless) = watch::channel(None);
        let listening = Listening {
            journey: Journey::of(cast),
            screen,
            lines,
            reports,
            hopeless: hopeless_sender,
        };
        let mut task = JoinSet::new();
        task.spawn(listening.listen());
        let wires = Wires {
            lines: lines_sender,
            reports: reports_sender,
        };
        (Self { task, hopeless }, wires)
    }

    /// Waits until a function cannot start, which ends the story; for ever when all can.
    pub(super) async fn hopeless(&self) -> String {
        let mut hopeless = self.hopeless.clone();
        match hopeless.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until everything has been told, and returns how many alerts there were.
    pub(super) async fn alerts(mut self) -> u64 {
        match self.task.join_next().await {
            Some(Ok(alerts)) => alerts,
            Some(Err(_)) | None => 0,
        }
    }
}

impl Listening {
    async fn listen(mut self) -> u64 {
        loop {
            let step = tokio::select! {
                Some(line) = self.lines.recv() => self.journey.line(&line),
                Some(report) = self.reports.recv() => {
                    if let Some(why) = cannot_start(&report) {
                        let why = format!("the function of {}: {why}", report.mapping);
                        self.hopeless.send_if_modified(|first| {
                            let modified = first.is_none();
                            first.get_or_insert(why);
                            modified
                        });
                    }
                    self.journey.report(&report)
                }
                else => return self.journey.alerts(),
            };
            if let Some(step) = step {
                self.screen.step(&step);
            }
        }
    }
}
