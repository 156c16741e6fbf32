//! The narrator: tells what happens while it happens.

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::journey::{Journey, Step, cannot_start};
use super::screen::Screen;
use crate::function::Line;
use crate::mapping::Report;

/// Follows what functions write and mappings report, and says what of it is shown.
pub(super) trait Follow: Send + 'static {
    /// Takes in a line that a function wrote.
    fn line(&mut self, line: &Line) -> Option<Shown>;

    /// Takes in what a mapping did.
    fn report(&mut self, report: &Report) -> Option<Shown>;
}

/// Something to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// A step of a record's way.
    Step(Step),
    /// What must not be overlooked.
    Loud(String),
}

/// Listens to functions and mappings until the last of them is gone.
#[derive(Debug)]
pub(super) struct Narrator<F> {
    task: JoinSet<F>,
    hopeless: watch::Receiver<Option<String>>,
}

/// Where the functions and mappings tell what they do.
#[derive(Clone, Debug)]
pub(super) struct Wires {
    pub(super) lines: UnboundedSender<Line>,
    pub(super) reports: UnboundedSender<Report>,
}

/// What is told, on its way to the narrator.
struct Listening<F> {
    follower: F,
    screen: Screen,
    lines: UnboundedReceiver<Line>,
    reports: UnboundedReceiver<Report>,
    hopeless: watch::Sender<Option<String>>,
}

impl<F: Follow> Narrator<F> {
    /// Begins to listen; what happens is to be told to the wires.
    pub(super) fn begin(follower: F, screen: Screen) -> (Self, Wires) {
        let (lines_sender, lines) = mpsc::unbounded_channel();
        let (reports_sender, reports) = mpsc::unbounded_channel();
        let (hopeless_sender, hopeless) = watch::channel(None);
        let listening = Listening {
            follower,
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

    /// Waits until everything has been told, and returns who followed it; nobody when that broke off.
    pub(super) async fn over(mut self) -> Option<F> {
        self.task.join_next().await?.ok()
    }
}

impl<F: Follow> Listening<F> {
    async fn listen(mut self) -> F {
        loop {
            let shown = tokio::select! {
                // What a mapping does comes before what its function says of it.
                biased;
                Some(report) = self.reports.recv() => {
                    if let Some(why) = cannot_start(&report) {
                        let why = format!("the function of {}: {why}", report.mapping);
                        self.hopeless.send_if_modified(|first| {
                            let modified = first.is_none();
                            first.get_or_insert(why);
                            modified
                        });
                    }
                    self.follower.report(&report)
                }
                Some(line) = self.lines.recv() => self.follower.line(&line),
                else => return self.follower,
            };
            match shown {
                Some(Shown::Step(step)) => self.screen.step(&step),
                Some(Shown::Loud(text)) => self.screen.wrong(&text),
                None => {}
            }
        }
    }
}

impl Follow for Journey {
    fn line(&mut self, line: &Line) -> Option<Shown> {
        Self::line(self, line).map(Shown::Step)
    }

    fn report(&mut self, report: &Report) -> Option<Shown> {
        Self::report(self, report).map(Shown::Step)
    }
}
