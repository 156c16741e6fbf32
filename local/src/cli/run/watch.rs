//! A run, from its start to its end.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pipeline::Span;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::quiet::{End, Quiet};
use super::screen::Screen;
use crate::cli::Failure;
use crate::cli::signals::Stops;
use crate::function::Line;
use crate::mapping::Report;
use crate::runner::{Chronicle, Plan, Programs, Runner, Wires, away};

/// How often it is looked at where the mappings stand.
const LOOK: Duration = Duration::from_millis(100);

/// How long functions may take to end when they are told to.
const GRACE: Duration = Duration::from_secs(7);

/// What runs, and what it tells.
pub(super) struct Watch {
    runner: Option<Runner>,
    chronicle: Chronicle,
    lines: UnboundedReceiver<Line>,
    reports: UnboundedReceiver<Report>,
    quiet: Quiet,
    /// What is not there of brokers and topics, being looked up.
    away: Option<BoxFuture<'static, Vec<String>>>,
    plan: Plan,
}

impl Watch {
    /// Starts the functions and mappings.
    pub(super) fn start(
        plan: &Plan,
        programs: &Programs,
        until_idle: Option<Span>,
    ) -> anyhow::Result<Self> {
        let (lines_sender, lines) = unbounded_channel();
        let (reports_sender, reports) = unbounded_channel();
        let wires = Wires {
            lines: lines_sender,
            reports: reports_sender,
        };
        Ok(Self {
            runner: Some(Runner::start(plan, programs, &wires)?),
            chronicle: Chronicle::new(plan),
            lines,
            reports,
            quiet: Quiet::new(until_idle.map(Span::to_duration), Instant::now()),
            away: Some(away(plan).boxed()),
            plan: plan.clone(),
        })
    }

    /// Shows what happens until there is a reason to end.
    pub(super) async fn follow(
        &mut self,
        screen: &mut Screen<'_, '_>,
        stops: &mut Stops,
    ) -> anyhow::Result<End> {
        screen.begin(&self.plan)?;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let looking_up = async {
                match &mut self.away {
                    Some(away) => away.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stops.told() => return Ok(End::Told),
                Some(line) = self.lines.recv() => screen.line(&line)?,
                Some(report) = self.reports.recv() => self.report(screen, &report)?,
                away = looking_up => {
                    self.away = None;
                    for text in away {
                        screen.loud(&text)?;
                    }
                }
                _ = look.tick() => {
                    if let Some(end) = self.look(screen)? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Ends everything, and shows what is told until then; told once more to stop, it ends at once.
    pub(super) async fn stop(
        &mut self,
        screen: &mut Screen<'_, '_>,
        stops: &mut Stops,
    ) -> Result<(), Failure> {
        screen.end();
        let Some(runner) = self.runner.take() else {
            return Ok(());
        };
        if !runner.is_idle() {
            screen.note(
                "stopping: functions hand back what they have not begun; once more ends it at once",
            )?;
        }
        let stopping = runner.stop(GRACE);
        tokio::pin!(stopping);
        loop {
            tokio::select! {
                () = &mut stopping => break,
                () = stops.told() => {
                    return Err(anyhow::anyhow!("broken off: functions were killed").into());
                }
                Some(line) = self.lines.recv() => screen.line(&line)?,
                Some(report) = self.reports.recv() => self.report(screen, &report)?,
            }
        }
        while let Ok(line) = self.lines.try_recv() {
            screen.line(&line)?;
        }
        self.all_reports(screen)?;
        let rest = self.chronicle.rest();
        for told in &rest {
            screen.told(told)?;
        }
        if !rest.is_empty() {
            screen.loud("what was answered last could not be committed in time: those records are delivered again")?;
        }
        Ok(())
    }

    fn report(&mut self, screen: &mut Screen<'_, '_>, report: &Report) -> anyhow::Result<()> {
        let now = Instant::now();
        self.quiet.disturb(now);
        for told in self.chronicle.take(report, now) {
            screen.told(&told)?;
        }
        Ok(())
    }

    fn all_reports(&mut self, screen: &mut Screen<'_, '_>) -> anyhow::Result<()> {
        while let Ok(report) = self.reports.try_recv() {
            self.report(screen, &report)?;
        }
        Ok(())
    }

    /// Looks where the mappings stand, and whether that is the end.
    fn look(&mut self, screen: &mut Screen<'_, '_>) -> anyhow::Result<Option<End>> {
        let Some(runner) = &self.runner else {
            return Ok(None);
        };
        screen.stand(runner.mappings());
        let idle_as_of = runner.idle_as_of();
        if idle_as_of.is_none() {
            self.quiet.disturb(Instant::now());
        }
        // A mapping that was busy since the last look and is idle now has reported what it did before.
        self.all_reports(screen)?;
        Ok(self
            .quiet
            .judge(&self.chronicle.not_joined(), idle_as_of, Instant::now()))
    }
}
