//! A template as a tree: values with their places, nothing resolved.

use std::rc::Rc;

use super::intrinsic;
use super::place::{Path, Place, Segment};
use super::problem::{Fault, Found, cut};
use super::yaml;

/// A value and where it stands; cheap to share.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) kind: Kind,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`, and what YAML 1.1 takes for them.
    Bool(bool),
    /// A number as it was written.
    Number(Rc<str>),
    /// A text.
    Text(Rc<str>),
    /// A list.
    List(Vec<Rc<Node>>),
    /// A map, in the order of the file; keys are distinct.
    Map(Vec<Entry>),
    /// A function with its argument, in either form.
    Call(Call),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Rc<str>,
    pub(super) value: Rc<Node>,
}

/// A function with its argument.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// The long name: `Ref`, `Condition`, `Fn::GetAtt`.
    pub(super) name: Rc<str>,
    pub(super) argument: Rc<Node>,
}

impl Node {
    /// Makes a node.
    pub(super) fn new(place: &Place, kind: Kind) -> Rc<Self> {
        let place = place.clone();
        Rc::new(Self { place, kind })
    }

    /// Makes a text that came out of a function.
    pub(super) fn text(place: &Place, text: &str) -> Rc<Self> {
        Self::new(place, Kind::Text(text.into()))
    }

    /// Makes a list of texts that came out of a function.
    pub(super) fn texts<'a>(place: &Place, texts: impl IntoIterator<Item = &'a str>) -> Rc<Self> {
        let nodes = texts.into_iter().map(|text| Self::text(place, text));
        Self::new(place, Kind::List(nodes.collect()))
    }

    /// Returns the value of a key when this is a map that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Rc<Self>> {
        let Kind::Map(entries) = &self.kind else {
            return None;
        };
        let entry = entries.iter().find(|entry| &*entry.key == key)?;
        Some(&entry.value)
    }

    /// Returns the text when this is one, as it stands.
    pub(super) fn literal(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::List(_)
            | Kind::Map(_)
            | Kind::Call(_) => None,
        }
    }

    /// Returns the text of the number that this is, unless readers disagree on it.
    pub(super) fn number(&self, number: &str) -> Found<String> {
        if yaml::is_as_written(number) {
            return Ok(number.to_owned());
        }
        let what = format!(
            "the number {} is read in several ways: put it in quotes, or write it plainly",
            cut(number)
        );
        Err(Fault::wrong(&self.place, what))
    }

    /// Returns the entries of a list that must be one.
    pub(super) fn items(&self) -> Found<&[Rc<Self>]> {
        match &self.kind {
            Kind::List(items) => Ok(items),
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::Text(_)
            | Kind::Map(_)
            | Kind::Call(_) => Err(self.is_not("a list")),
        }
    }

    /// Returns the entries of a map that must be one.
    pub(super) fn fields(&self) -> Found<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Ok(entries),
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::Text(_)
            | Kind::List(_)
            | Kind::Call(_) => Err(self.is_not("a map")),
        }
    }

    /// Says that this is not what is expected here.
    pub(super) fn is_not(&self, expected: &str) -> Fault {
        let what = match &self.kind {
            Kind::Null => format!("has no value, where {expected} is expected"),
            // As a name, `Yes` is meant as a text.
            Kind::Bool(_) => format!(
                "is true or false, as yes, no, on and off are without quotes, where {expected} is expected"
            ),
            Kind::Number(_) | Kind::Text(_) => {
                format!("is one value, where {expected} is expected")
            }
            Kind::List(_) => format!("is a list, where {expected} is expected"),
            Kind::Map(_) => format!("is a map, where {expected} is expected"),
            Kind::Call(call) => format!("is {}, where {expected} is expected", call.written()),
        };
        Fault::wrong(&self.place, what)
    }

    /// Returns the path of a node below this one after this one was moved to `path`.
    pub(super) fn moved(&self, below: &Self, path: &Path) -> Path {
        match below.place.path.last() {
            Some(segment) if !below.place.path.is(&self.place.path) => path.push(segment.clone()),
            Some(_) | None => path.clone(),
        }
    }
}

impl Entry {
    /// Returns the place of a value: on the line of its key.
    pub(super) fn place(map: &Place, key: &Rc<str>, line: usize) -> Place {
        if intrinsic::is_function(key) {
            // The argument of a function in its long form.
            let path = map.path.clone();
            return Place { line, path };
        }
        map.below(line, Segment::Key(Rc::clone(key)))
    }
}

impl Call {
    /// Returns it as it is written in short: `!GetAtt Secret.Arn`.
    pub(super) fn written(&self) -> String {
        let name = self.name.strip_prefix("Fn::").unwrap_or(&self.name);
        match &self.argument.kind {
            Kind::Text(text) => format!("!{} {}", cut(name), cut(text)),
            Kind::List(items) if name == "GetAtt" => {
                let parts: Vec<&str> = items.iter().filter_map(|item| item.literal()).collect();
                format!("!GetAtt {}", cut(&parts.join(".")))
            }
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::List(_)
            | Kind::Map(_)
            | Kind::Call(_) => format!("!{}", cut(name)),
        }
    }
}
