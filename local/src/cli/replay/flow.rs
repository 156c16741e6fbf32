//! A replay from the question whether to do it to its end.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tracing::instrument::WithSubscriber;

use crate::cli::signals::Stops;
use crate::cli::warnings::Warnings;
use crate::cli::{Failure, Person, Shell};
use crate::operator::replaying::{Asked, Place, Replayed};

/// How often the bar shows that it lives.
const BEAT: Duration = Duration::from_millis(250);

/// Runs replays at a place, and talks with whoever asked for them.
pub(super) struct Flow<'f, 'e> {
    place: &'f Place,
    shell: &'f mut Shell<'e>,
    flags: String,
}

impl<'f, 'e> Flow<'f, 'e> {
    pub(super) fn new(place: &'f Place, shell: &'f mut Shell<'e>, flags: String) -> Self {
        Self {
            place,
            shell,
            flags,
        }
    }

    /// Shows what would go and asks; returns what to run instead, and how many it is. `None` when there is nothing to do.
    pub(super) async fn confirm(&mut self, asked: &Asked) -> Result<Option<(Asked, u64)>, Failure> {
        if matches!(self.shell.person, Person::Absent) {
            return Err(Failure::Usage(
                "there is no terminal to ask on: --yes sends back without asking, --dry-run only looks"
                    .to_owned(),
            ));
        }
        // What a real run would refuse is refused before anybody is asked.
        asked.check_selects().map_err(Failure::Usage)?;
        // Nothing listens to Ctrl-C here: it ends the process while it looks and while it asks, and nothing is lost by that.
        let seen = self.drive(&asked.as_dry_run(), None, None).await?;
        self.shell.note(seen.without_orders());
        let total = seen.answer.to_publish.unwrap_or_default();
        seen.whole()?;
        if total == 0 {
            self.shell.note("there is nothing to send back");
            return Ok(None);
        }
        let plan = seen.answer.plan.as_deref();
        let plan = plan.context("the dry run has left no plan: run it again")?;
        let Person::Present(person) = &mut self.shell.person else {
            return Ok(None);
        };
        let question = format!("\nType yes to send back these {total}: ");
        self.shell.notes.text(&question).ok();
        let mut answer = String::new();
        person
            .read_line(&mut answer)
            .context("cannot read the answer")?;
        if answer.trim().eq_ignore_ascii_case("yes") {
            Ok(Some((asked.as_plan(plan), total)))
        } else {
            let told = format!(
                "nothing was sent back; the same can still be sent with: cargo local replay{} --plan {plan}",
                self.flags
            );
            Err(Failure::Failed(anyhow::anyhow!(told)))
        }
    }

    /// Runs it to its end, over as many invocations as that takes, or until it is told to stop.
    pub(super) async fn run(
        &mut self,
        asked: &Asked,
        total: Option<u64>,
    ) -> Result<Replayed, Failure> {
        let stops = Stops::listen()?;
        self.drive(asked, total, Some(stops)).await
    }

    /// Says what it means to be ended in the middle of an invocation.
    fn left(&self, id: &str) -> String {
        match self.place {
            Place::Here(_) => format!(
                "replay {id} ended at once: what was under way may have gone; run the same again, and what has gone is left out"
            ),
            Place::There(_) => format!(
                "replay {id} goes on there until its invocation ends; ask how it stands with: cargo local replay{} --status {id}; then run the same again, and what has gone is left out",
                self.flags
            ),
        }
    }

    async fn drive(
        &mut self,
        asked: &Asked,
        total: Option<u64>,
        mut stops: Option<Stops>,
    ) -> Result<Replayed, Failure> {
        let bar = bar(total);
        let mut told_to_stop = false;
        let mut pause = Pause::default();
        let (mut next, id) = asked.clone().with_id();
        let mut sum: Option<Replayed> = None;
        loop {
            let warnings = Warnings::default();
            let run = self.place.run(next.clone(), &bar);
            let mut run = pin!(run.with_subscriber(warnings.subscriber()));
            let ended = loop {
                tokio::select! {
                    ended = &mut run => break ended,
                    () = told(&mut stops) => {
                        if told_to_stop {
                            bar.finish_and_clear();
                            return Err(Failure::Failed(anyhow::anyhow!(self.left(&id))));
                        }
                        told_to_stop = true;
                        self.place.stop();
                        let told = match self.place {
                            Place::Here(_) => "stopping: what is under way ends first".to_owned(),
                            Place::There(_) => format!("stopping: the invocation of replay {id} that is under way ends first, at its deadline at the latest; Ctrl-C once more leaves it alone"),
                        };
                        bar.suspend(|| self.shell.note(told));
                    }
                }
            };
            for warning in warnings.take() {
                let shell = &mut *self.shell;
                bar.suspend(|| shell.note(format_args!("warning: {}", warning.trim())));
            }
            let ended = match (ended, &sum) {
                (Ok(ended), _) => ended,
                (Err(refusal), None) => {
                    bar.finish_and_clear();
                    return Err(refusal.into());
                }
                (Err(refusal), Some(before)) => {
                    bar.finish_and_clear();
                    let token = before.answer.resume.as_deref().unwrap_or_default();
                    self.shell.note(format_args!(
                        "go on with: cargo local replay{} --resume {token}",
                        self.flags
                    ));
                    return Err(refusal.into());
                }
            };
            let ended = match sum {
                Some(before) => ended.after(before),
                None => ended,
            };
            let token = ended.goes_on().filter(|_| !told_to_stop);
            let Some(token) = token else {
                bar.finish_and_clear();
                let flags = self.flags.clone();
                return Ok(Replayed { flags, ..ended });
            };
            if let Some(time) = pause.before(token) {
                tokio::select! {
                    () = tokio::time::sleep(time) => {}
                    () = told(&mut stops) => told_to_stop = true,
                }
            }
            if told_to_stop {
                bar.finish_and_clear();
                let flags = self.flags.clone();
                return Ok(Replayed { flags, ..ended });
            }
            next = asked.as_resumed(token);
            sum = Some(ended);
        }
    }
}

/// How long to wait before an invocation: one that brought the run no further need not be followed at once by the next.
#[derive(Debug, Default)]
struct Pause {
    last: Option<String>,
    time: Duration,
}

impl Pause {
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);

    /// Returns how long to wait before going on with a token: longer each time that it is the same one.
    fn before(&mut self, token: &str) -> Option<Duration> {
        if self.last.as_deref() != Some(token) {
            self.last = Some(token.to_owned());
            self.time = Duration::ZERO;
            return None;
        }
        self.time = self
            .time
            .saturating_mul(2)
            .clamp(Self::FIRST, Self::LONGEST);
        Some(self.time)
    }
}

async fn told(stops: &mut Option<Stops>) {
    match stops {
        Some(stops) => stops.told().await,
        None => std::future::pending().await,
    }
}

/// Shows how far it is, how fast it goes and how long it takes, to whoever sits at a terminal.
fn bar(total: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let target = ProgressDrawTarget::stderr();
    let (bar, template) = match total {
        Some(total) => (
            ProgressBar::with_draw_target(Some(total), target),
            "{bar:30} {pos}/{len}  {rate}  {eta} left",
        ),
        None => (
            ProgressBar::with_draw_target(None, target),
            "{spinner} {pos} sent  {rate}  {elapsed}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(
            style.with_key("rate", |state: &ProgressState, text: &mut dyn Write| {
                write!(text, "{:.1}/s", state.per_sec()).ok();
            }),
        );
    }
    bar.enable_steady_tick(BEAT);
    bar
}
