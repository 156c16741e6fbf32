//! The fields of a payload, read one by one, with every problem named.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// Reads fields and gathers what is wrong with them; a method returns `None` for a field that is absent or wrong.
#[derive(Default)]
pub(super) struct Fields {
    values: BTreeMap<String, Value>,
    problems: Vec<String>,
}

impl Fields {
    /// Starts to read an object; names every field that is not among the known, or stands twice. `None` when it is no object.
    pub(super) fn of(payload: &str, known: &[&str]) -> Option<Self> {
        let object: Object = serde_json::from_str(payload).ok()?;
        let mut fields = Self {
            values: BTreeMap::new(),
            problems: Vec::new(),
        };
        for (name, value) in object.0 {
            if !known.contains(&name.as_str()) {
                fields.problem(&short(&name), "is not a field of a replay");
            } else if fields.values.insert(name.clone(), value).is_some() {
                fields.problem(&name, "stands twice");
            }
        }
        Some(fields)
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
        self.values.contains_key(name)
    }

    /// Reads text.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.typed(name, "is not text", |value| {
            value.as_str().map(str::to_owned)
        })
    }

    /// Reads true or false.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.typed(name, "is neither true nor false", Value::as_bool)
    }

    /// Reads a list.
    pub(super) fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        self.typed(name, "is not a list", |value| value.as_array().cloned())
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
        let parsed = parse(&self.text(name)?);
        if parsed.is_none() {
            self.problem(name, wrong);
        }
        parsed
    }

    fn typed<T>(
        &mut self,
        name: &str,
        wrong: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let read = read(self.values.get(name)?);
        if read.is_none() {
            self.problem(name, wrong);
        }
        read
    }
}

/// A JSON object as it stands, duplicate fields included: of two `dry_run` none may win unseen.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Object(entries))
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
