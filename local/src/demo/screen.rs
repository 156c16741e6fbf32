//! What the demo says, line by line, with colours where they are seen.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::journey::{Step, Word};

/// Where the demo's lines go; whoever runs the demo prints them.
#[derive(Clone, Debug)]
pub struct Screen {
    lines: UnboundedSender<String>,
    colours: Colours,
    since: Instant,
}

/// Whether lines are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// They are plain text.
    #[default]
    Off,
    /// They hold a terminal's escape codes.
    On,
}

/// The few colours there are.
#[derive(Clone, Copy, Debug)]
enum Colour {
    Bold,
    Faint,
    Green,
    Yellow,
    Red,
}

/// A line under the head, and nothing else that does not tell anything.
const TABLES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

impl Screen {
    /// Says lines to `lines`; times count from now.
    pub fn new(lines: UnboundedSender<String>, colours: Colours) -> Self {
        Self {
            lines,
            colours,
            since: Instant::now(),
        }
    }

    /// Says lines to the same place; times count from now.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self::new(self.lines.clone(), self.colours)
    }

    /// Says a line as it is.
    pub fn say(&self, line: impl Into<String>) {
        // When nobody reads, the demo goes on: its end is told in other ways too.
        self.lines.send(line.into()).ok();
    }

    /// Begins a part of the story.
    pub fn heading(&self, text: &str) {
        self.say("");
        self.say(self.painted(Colour::Bold, text));
    }

    /// Says what is being done or waited for.
    pub fn aside(&self, text: &str) {
        self.say(self.painted(Colour::Faint, text));
    }

    /// Says what is wrong.
    pub fn wrong(&self, text: &str) {
        self.say(self.painted(Colour::Red, text));
    }

    /// Says what is as it must be.
    pub fn right(&self, text: &str) {
        self.say(self.painted(Colour::Green, text));
    }

    /// Shows a step of a record's way.
    pub fn step(&self, step: &Step) {
        self.say(self.step_line(step, self.since.elapsed()));
    }

    /// Shows a table; columns whose number is in `numbers` are aligned to the right.
    pub fn table(&self, head: &[&str], rows: &[Vec<String>], numbers: &[usize]) {
        let mut table = Table::new();
        table
            .load_style(TABLES)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(head.iter().map(|name| Cell::new(*name)));
        for row in rows {
            table.add_row(row.clone());
        }
        for number in numbers {
            if let Some(column) = table.column_mut(*number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.to_string().lines() {
            self.say(line.trim_end());
        }
    }

    fn step_line(&self, step: &Step, at: Duration) -> String {
        let colour = match step.word {
            Word::Ok | Word::Commit => Colour::Green,
            Word::Fail | Word::Back => Colour::Yellow,
            Word::Wait => Colour::Faint,
            Word::Alert | Word::Trouble => Colour::Red,
        };
        let word = self.painted(colour, &format!("{:<7}", step.word.as_str()));
        let seconds = at.as_secs_f64();
        let kind = step.kind.map_or("", |kind| kind.as_str());
        let line = format!(
            "{seconds:>6.1} s  {word}  {:<6} {kind:<14} {:<9}  {}",
            step.key, step.place, step.text
        );
        line.trim_end().to_owned()
    }

    fn painted(&self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Bold => 1,
            Colour::Faint => 2,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Red => 31,
        };
        match self.colours {
            Colours::Off => text.to_owned(),
            Colours::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::super::seeds::Kind;
    use super::*;
    use crate::provider::Mode;

    fn screen(colours: Colours) -> Screen {
        Screen::new(mpsc::unbounded_channel().0, colours)
    }

    fn line(colours: Colours, key: &str, kind: Option<Kind>) -> String {
        let step = Step {
            word: Word::Fail,
            key: key.to_owned(),
            kind,
            place: "main".to_owned(),
            text: "provider.unavailable → retry.30s".to_owned(),
        };
        screen(colours).step_line(&step, Duration::from_millis(1_234))
    }

    #[test]
    fn steps_stand_in_columns() {
        let text_at = |line: &str| line.find("provider").unwrap();
        let one = line(Colours::Off, "k-9", Some(Kind::Payment(Mode::RateLimit)));
        assert_eq!(
            one,
            "   1.2 s  FAIL     k-9    rate-limit     main       provider.unavailable → retry.30s"
        );
        let other = line(Colours::Off, "", None);
        assert_eq!(text_at(&other), text_at(&one));
    }

    #[test]
    fn only_colours_differ_between_a_terminal_and_a_file() {
        let plain = line(Colours::Off, "k-9", None);
        let coloured = line(Colours::On, "k-9", None);
        assert!(!plain.contains('\u{1b}'));
        assert!(coloured.contains("\u{1b}[33mFAIL"));
        assert_eq!(
            coloured.replace("\u{1b}[33m", "").replace("\u{1b}[0m", ""),
            plain
        );
    }
}
