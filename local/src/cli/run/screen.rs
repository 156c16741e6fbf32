//! Where a run's lines go.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::Instant;

use crate::cli::{Form, Shell};
use crate::function::Line;
use crate::mapping::Mapping;
use crate::runner::{Plan, Told, live_line};

/// How often live lines are drawn anew at most, a second.
const FRAMES: u8 = 8;

/// How often a live line shows that it lives.
const BEAT: Duration = Duration::from_millis(250);

/// Shows lines in one of three ways.
pub(super) struct Screen<'s, 'e> {
    shell: &'s mut Shell<'e>,
    showing: Showing,
}

enum Showing {
    /// Lines of JSON on standard output, all else on standard error.
    Json,
    /// Lines on standard output.
    Plain,
    /// A line for each mapping that lives, and all else above them.
    Live(Live),
}

#[derive(Default)]
struct Live {
    lines: MultiProgress,
    mappings: Vec<(ProgressBar, String)>,
}

impl<'s, 'e> Screen<'s, 'e> {
    pub(super) fn new(shell: &'s mut Shell<'e>, form: Form) -> Self {
        let showing = if form.json {
            Showing::Json
        } else if io::stdout().is_terminal()
            && (shell.env)("TERM").is_some_and(|term| term != "dumb")
        {
            let target = ProgressDrawTarget::stdout_with_hz(FRAMES);
            Showing::Live(Live {
                lines: MultiProgress::with_draw_target(target),
                mappings: Vec::new(),
            })
        } else {
            Showing::Plain
        };
        Self { shell, showing }
    }

    /// Shows something that is as it must be.
    pub(super) fn note(&mut self, text: &str) -> anyhow::Result<()> {
        match &self.showing {
            Showing::Json => {
                self.shell.note(text);
                Ok(())
            }
            Showing::Plain => self.shell.out.line(text),
            Showing::Live(live) => Ok(live.lines.println(text)?),
        }
    }

    /// Shows something that a person should know.
    pub(super) fn loud(&mut self, text: &str) -> anyhow::Result<()> {
        match &self.showing {
            Showing::Json | Showing::Plain => self.note(text),
            Showing::Live(live) => {
                // Colours are for people, unless they want none (no-color.org).
                let plain = (self.shell.env)("NO_COLOR").is_some_and(|value| !value.is_empty());
                let (on, off) = if plain {
                    ("", "")
                } else {
                    ("\u{1b}[33m", "\u{1b}[0m")
                };
                Ok(live.lines.println(format!("{on}{text}{off}"))?)
            }
        }
    }

    /// Shows a line that a function wrote.
    pub(super) fn line(&mut self, line: &Line) -> anyhow::Result<()> {
        self.note(&format!(
            "{}[{}] | {}",
            line.function, line.sandbox, line.text
        ))
    }

    /// Shows what happened.
    pub(super) fn told(&mut self, told: &Told) -> anyhow::Result<()> {
        match told {
            Told::Note(text) => self.note(text),
            Told::Loud(text) => self.loud(text),
            Told::Invocation(invocation) => match &self.showing {
                Showing::Json => self.shell.out.json(invocation),
                // What is simply done moves the live line.
                Showing::Live(_) if invocation.is_done() => Ok(()),
                Showing::Live(_) | Showing::Plain => self.note(&invocation.summary()),
            },
        }
    }

    /// Begins to show where mappings stand.
    pub(super) fn begin(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let Showing::Live(live) = &mut self.showing else {
            return Ok(());
        };
        let names = plan
            .mappings()
            .map(|(_, mapping)| mapping.name.chars().count());
        let widest = names.max().unwrap_or_default();
        for (_, mapping) in plan.mappings() {
            let style = ProgressStyle::with_template("{spinner} {prefix}  {wide_msg}")?;
            let bar = live.lines.add(ProgressBar::new_spinner().with_style(style));
            bar.set_prefix(format!("{:<widest$}", mapping.name));
            bar.enable_steady_tick(BEAT);
            live.mappings.push((bar, mapping.topic.to_string()));
        }
        Ok(())
    }

    /// Shows where mappings stand now.
    pub(super) fn stand(&mut self, mappings: &[Mapping]) {
        if let Showing::Live(live) = &self.showing {
            for ((line, topic), mapping) in live.mappings.iter().zip(mappings) {
                line.set_message(live_line(topic, &mapping.standing(), Instant::now()));
            }
        }
    }

    /// Shows no more where mappings stand.
    pub(super) fn end(&mut self) {
        if let Showing::Live(live) = &self.showing {
            for (line, _) in &live.mappings {
                line.finish_and_clear();
            }
        }
    }
}
