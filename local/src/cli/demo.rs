//! `cargo local demo`.

mod death_cycle;

use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;

use clap::{Args, Subcommand};

use super::shell::Env;
use super::signals::told_to_stop;
use super::{Failure, Form, Shell};
use crate::demo::seeds::Kind;
use crate::demo::{self, Colours, DemoSettings, Ending, Screen};

/// Tells the whole story: payments that climb the ladder, incidents, a replay, and an account of every payment.
///
/// The real programs of the functions run as processes; broker, S3 and provider run in this process, so that nothing else is needed.
/// On --brokers the topics and groups have names of their own and are deleted at the end.
///
/// Exit status 0 when nothing is lost, charged twice or still on its way, what was replayed is charged, and there are as many
/// incidents and alerts as dead letters; else 1, and what is wrong is said.
///
/// --json prints one line: payments (records seeded, those that are no payments included), charged (payments charged at least once),
/// dead_lettered (records in the dead-letter topic at the end, those replayed included), incidents (objects in the bucket), replayed
/// (records that the replay published), in_flight (records on main and the retry topics that are not done), lost (payments neither
/// charged, nor on their way, nor a dead letter that stays), double_charged (payments charged more than once).
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Demo {
    #[command(subcommand)]
    other: Option<OtherStory>,
    /// Run on these brokers instead of the embedded one.
    #[arg(long, value_name = "HOST:PORT,…")]
    brokers: Option<kafka::Brokers>,
    /// How many records to seed; the least shows one of each kind.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(i64::from(Kind::COUNT)..=5_000))]
    messages: u16,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Subcommand)]
enum OtherStory {
    DeathCycle(death_cycle::DeathCycle),
}

impl Demo {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        if let Some(OtherStory::DeathCycle(other)) = self.other {
            return Box::pin(other.run(shell)).await;
        }
        let json = self.form.json;
        let settings = DemoSettings {
            brokers: self.brokers,
            messages: NonZeroUsize::try_from(usize::from(self.messages))
                .unwrap_or(NonZeroUsize::MIN),
        };
        let tell = async |screen: &Screen| demo::run(&settings, screen, told_to_stop()).await;
        let account = told(shell, json, tell).await?;
        if json {
            shell.out.json(&account.totals)?;
        }
        all_right(&account.problems)
    }
}

/// Prints a story while it is told, and returns what was seen of it.
async fn told<T>(
    shell: &mut Shell<'_>,
    json: bool,
    tell: impl AsyncFnOnce(&Screen) -> anyhow::Result<Ending<T>>,
) -> Result<T, Failure> {
    let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
    let screen = Screen::new(say, colours(shell.env, json));
    // On the heap: a story's future is large, and that of every command would be as large.
    let story = async move {
        // The screen goes with the story, which ends the lines.
        let screen = screen;
        Box::pin(tell(&screen)).await
    };
    tokio::pin!(story);
    let ending = loop {
        tokio::select! {
            biased;
            Some(line) = said.recv() => print(shell, json, &line)?,
            ending = &mut story => break ending,
        }
    };
    while let Ok(line) = said.try_recv() {
        print(shell, json, &line)?;
    }
    match ending? {
        Ending::Told(seen) => Ok(seen),
        Ending::BrokenOff => {
            Err(anyhow::anyhow!("broken off; everything that ran has ended").into())
        }
    }
}

/// Says whether all is as it must be.
fn all_right(problems: &[String]) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let problems = problems.join("; ");
    Err(anyhow::anyhow!("not everything is as it must be: {problems}").into())
}

fn print(shell: &mut Shell<'_>, json: bool, line: &str) -> anyhow::Result<()> {
    if json {
        shell.note(line);
        Ok(())
    } else {
        shell.out.line(line)
    }
}

/// Colours are for people: at a terminal that has them, unless `NO_COLOR` is set (no-color.org).
fn colours(env: &Env<'_>, json: bool) -> Colours {
    let is_set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
    let terminal = if json {
        io::stderr().is_terminal()
    } else {
        io::stdout().is_terminal()
    };
    let dumb = env("TERM").is_none_or(|term| term == "dumb");
    if terminal && !dumb && !is_set("NO_COLOR") {
        Colours::On
    } else {
        Colours::Off
    }
}
