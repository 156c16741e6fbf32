//! What a command is run in: an environment, a person who may be asked, and two places to write to.

use std::fmt::{self, Display};
use std::io::{BufRead, ErrorKind, Write};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

/// A variable's value by its name.
pub type Env<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What a command is run in; everything of the process that it may touch is an argument.
pub struct Shell<'a> {
    /// The environment.
    pub env: &'a Env<'a>,
    /// Who answers questions.
    pub person: Person<'a>,
    /// Standard output: what the command was asked for.
    pub out: Printer<'a>,
    /// Standard error: everything else.
    pub notes: Printer<'a>,
}

/// Who answers questions.
pub enum Person<'a> {
    /// Someone at a terminal.
    Present(&'a mut dyn BufRead),
    /// Nobody: standard input is no terminal.
    Absent,
}

/// Writes lines to a reader that may go away, as `head` does: then the rest is not written, and that is no failure.
pub struct Printer<'a> {
    to: &'a mut dyn Write,
    gone: bool,
}

/// The form in which a command prints what it was asked for.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Print one JSON document on standard output, and everything else on standard error.
    #[arg(long)]
    pub json: bool,
}

impl<'a> Printer<'a> {
    /// Writes there.
    pub fn new(to: &'a mut dyn Write) -> Self {
        Self { to, gone: false }
    }

    /// Writes a line.
    pub fn line(&mut self, text: impl Display) -> anyhow::Result<()> {
        self.text(&format!("{text}\n"))
    }

    /// Writes text as it is and sends it on its way.
    pub fn text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.gone {
            return Ok(());
        }
        let written = self
            .to
            .write_all(text.as_bytes())
            .and_then(|()| self.to.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Ok(()) | Err(_) => written.context("cannot print"),
        }
    }

    /// Writes a value as one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let document = serde_json::to_string(value).context("cannot write this as JSON")?;
        self.line(document)
    }
}

impl Shell<'_> {
    /// Prints what the command was asked for.
    pub fn print<T: Serialize + Display>(&mut self, form: Form, report: &T) -> anyhow::Result<()> {
        if form.json {
            self.out.json(report)
        } else {
            self.out.line(report)
        }
    }

    /// Says something beside what the command was asked for; where nobody can read it, it goes unsaid.
    pub fn note(&mut self, text: impl Display) {
        self.notes.line(text).ok();
    }
}

impl fmt::Debug for Shell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shell")
            .field("person", &self.person)
            .field("out", &self.out)
            .field("notes", &self.notes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Person<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Present(_) => "Present",
            Self::Absent => "Absent",
        })
    }
}

impl fmt::Debug for Printer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Printer")
            .field("gone", &self.gone)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    struct Failing {
        kind: ErrorKind,
        calls: u32,
    }

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.calls = self.calls.saturating_add(1);
            Err(self.kind.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn check(kind: ErrorKind, expected: (bool, u32)) {
        let mut writer = Failing { kind, calls: 0 };
        let mut printer = Printer::new(&mut writer);
        let well = printer.line("a").is_ok() && printer.json(&1).is_ok();
        assert_eq!((well, writer.calls), expected, "{kind}");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_is_written_to_no_more() {
        check(ErrorKind::BrokenPipe, (true, 1));
    }

    #[test]
    fn any_other_trouble_with_the_output_is_a_failure() {
        check(ErrorKind::StorageFull, (false, 1));
        check(ErrorKind::PermissionDenied, (false, 1));
    }
}
