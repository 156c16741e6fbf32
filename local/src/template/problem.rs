//! What is wrong with a template.

use std::collections::BTreeSet;
use std::fmt;

use super::place::Place;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1; 0 for what is wrong with the options and not with a line.
    pub line: usize,
    /// The path in the template and what is wrong there.
    pub text: String,
}

/// All that is wrong with a template, in the order of its lines: `template.yaml:41: Resources.Payments…: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// What the template is called.
    pub template: String,
    /// At least one problem.
    pub problems: Vec<Problem>,
}

impl std::error::Error for TemplateError {}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            f.write_str(&problem.of(&self.template))?;
        }
        Ok(())
    }
}

impl Problem {
    /// Returns it as it is shown: `template.yaml:41: text`.
    pub(super) fn of(&self, template: &str) -> String {
        match self.line {
            0 => format!("{template}: {}", self.text),
            line => format!("{template}:{line}: {}", self.text),
        }
    }

    fn at(place: &Place, what: &str) -> Self {
        let path = place.path.to_string();
        Self {
            line: place.line,
            text: match path.as_str() {
                "" => what.to_owned(),
                path => format!("{path}: {what}"),
            },
        }
    }
}

/// Why something could not be read.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    place: Place,
    what: String,
    kind: FaultKind,
}

/// Whether another template would help, or only a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    /// The template, or what was given for it, is wrong.
    Wrong,
    /// Only AWS knows the value.
    Unknowable,
}

/// What was found, or why not.
pub(super) type Found<T> = Result<T, Fault>;

impl Fault {
    /// Says what is wrong.
    pub(super) fn wrong(place: &Place, what: impl Into<String>) -> Self {
        Self {
            place: place.clone(),
            what: what.into(),
            kind: FaultKind::Wrong,
        }
    }

    /// Names what only AWS knows.
    pub(super) fn unknowable(place: &Place, name: impl fmt::Display) -> Self {
        Self {
            place: place.clone(),
            what: format!("{name} cannot be known locally"),
            kind: FaultKind::Unknowable,
        }
    }

    /// Adds which flag helps where only AWS knows the value.
    pub(super) fn or_give(mut self, flag: impl fmt::Display) -> Self {
        if self.kind == FaultKind::Unknowable {
            self.what = format!("{}: give {flag}", self.what);
        }
        self
    }
}

/// Everything worth saying of a template, each thing once, in the order of lines.
#[derive(Debug, Default)]
pub(super) struct Findings {
    problems: BTreeSet<Problem>,
    notes: BTreeSet<Problem>,
}

impl Findings {
    /// Keeps a fault and returns what was found otherwise.
    pub(super) fn keep<T>(&mut self, found: Found<T>) -> Option<T> {
        found
            .inspect_err(|fault| {
                self.problems.insert(Problem::at(&fault.place, &fault.what));
            })
            .ok()
    }

    /// Keeps what is wrong.
    pub(super) fn wrong(&mut self, place: &Place, what: impl Into<String>) {
        self.problems.insert(Problem::at(place, &what.into()));
    }

    /// Keeps what is allowed and yet worth a word.
    pub(super) fn note(&mut self, place: &Place, what: impl AsRef<str>) {
        self.notes.insert(Problem::at(place, what.as_ref()));
    }

    /// Takes over another's notes.
    pub(super) fn add_notes(&mut self, other: &Self) {
        self.notes.extend(other.notes.iter().cloned());
    }

    /// Returns the notes, or the error when anything is wrong.
    pub(super) fn conclude(self, template: &str) -> Result<Vec<String>, TemplateError> {
        if self.problems.is_empty() {
            Ok(self.notes.iter().map(|note| note.of(template)).collect())
        } else {
            Err(TemplateError {
                template: template.to_owned(),
                problems: self.problems.into_iter().collect(),
            })
        }
    }
}

/// Returns a text as it may stand in an error: on one line, not too long, and with nothing that a terminal would act on.
pub(super) fn cut(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut characters = text.chars();
    let mut shown = String::new();
    for character in characters.by_ref().take(LONGEST) {
        if character.is_control() || is_invisible(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Tells whether a character has no width, or turns the direction of others.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns a text in quotes, as it may stand in an error.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", cut(text))
}
