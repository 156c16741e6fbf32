//! The fields of a payload, read one by one, with every problem named.

use std::fmt;

use serde_json::{Map, Value};

/// Reads fields and gathers what is wrong with them; a method returns `None` for a field that is absent or wrong.
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    problems: Vec<String>,
}

impl<'a> Fields<'a> {
    /// Starts to read; names every field that is not among the known.
    pub(super) fn new(object: &'a Map<String, Value>, known: &[&str]) -> Self {
        let mut fields = Self {
            object,
            problems: Vec::new(),
        };
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            fields.problem(&short(name), "is not a field of a replay");
        }
        fields
    }

    /// Notes a problem; `text` continues the field's name, as in "is empty".
    pub(super) fn problem(&mut self, name: &str, text: impl fmt::Display) {
        self.problems.push(format!("{name} {text}"));
    }

    /// Ends the reading.
    pub(super) fn into_problems(self) -> Vec<String> {
        self.problems
    }

    /// Tells whether the field stands, right or wrong.
    pub(super) fn has(&self, name: &str) -> bool {
        self.object.contains_key(name)
    }

    /// Reads text.
    pub(super) fn text(&mut self, name: &str) -> Option<&'a str> {
        self.typed(name, "is not text", Value::as_str)
    }

    /// Reads true or false.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.typed(name, "is neither true nor false", Value::as_bool)
    }

    /// Reads a list.
    pub(super) fn list(&mut self, name: &str) -> Option<&'a [Value]> {
        self.typed(name, "is not a list", |value| {
            value.as_array().map(Vec::as_slice)
        })
    }

    /// Reads a whole number above zero.
    pub(super) fn positive(&mut self, name: &str) -> Option<u64> {
        self.typed(name, "is not a whole number above zero", |value| {
            value.as_u64().filter(|number| *number > 0)
        })
    }

    /// Reads a number, fractions included.
    pub(super) fn number(&mut self, name: &str) -> Option<f64> {
        self.typed(name, "is not a number", Value::as_f64)
    }

    /// Reads text that must parse.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        wrong: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let parsed = parse(self.text(name)?);
        if parsed.is_none() {
            self.problem(name, wrong);
        }
        parsed
    }

    fn typed<T>(
        &mut self,
        name: &str,
        wrong: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let read = read(self.object.get(name)?);
        if read.is_none() {
            self.problem(name, wrong);
        }
        read
    }
}

/// Quotes what a caller wrote, cut to a length that a message can bear.
pub(super) fn short(text: &str) -> String {
    const LONGEST: usize = 64;
    if text.chars().count() > LONGEST {
        let start: String = text.chars().take(LONGEST).collect();
        format!("{start:?}…")
    } else {
        format!("{text:?}")
    }
}
