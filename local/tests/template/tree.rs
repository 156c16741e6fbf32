//! A template's YAML as it is written, for rules that hold of every part of it.

use saphyr_parser::{Event, Parser, Tag};

/// A value with its tag, such as `Sub` of `!Sub`.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) tag: Option<String>,
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    pub(crate) fn read(text: &str) -> Self {
        let mut open = vec![(None, Vec::new())];
        let close = |open: &mut Vec<(Option<String>, Vec<Self>)>, map: bool| {
            let (tag, items) = open.pop().unwrap();
            let kind = if map {
                let mut items = items.into_iter();
                let mut entries = Vec::new();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    entries.push((key.text().unwrap().to_owned(), value));
                }
                Kind::Map(entries)
            } else {
                Kind::List(items)
            };
            open.last_mut().unwrap().1.push(Self { tag, kind });
        };
        let named = |tag: Option<&Tag>| tag.map(|tag| tag.suffix.clone());
        for event in Parser::new_from_str(text) {
            match event.unwrap().0 {
                Event::Scalar(text, _, _, tag) => {
                    let (tag, kind) = (named(tag.as_deref()), Kind::Text(text.into_owned()));
                    open.last_mut().unwrap().1.push(Self { tag, kind });
                }
                Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) => {
                    open.push((named(tag.as_deref()), Vec::new()));
                }
                Event::SequenceEnd => close(&mut open, false),
                Event::MappingEnd => close(&mut open, true),
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd
                | Event::Alias(_) => {}
            }
        }
        open.pop().unwrap().1.pop().unwrap()
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => {
                let entry = entries.iter().find(|(name, _)| name == key)?;
                Some(&entry.1)
            }
            Kind::Text(_) | Kind::List(_) => None,
        }
    }

    /// Calls for this value and all within.
    pub(crate) fn each<'t>(&'t self, see: &mut dyn FnMut(&'t Self)) {
        see(self);
        match &self.kind {
            Kind::Text(_) => {}
            Kind::List(items) => items.iter().for_each(|item| item.each(see)),
            Kind::Map(entries) => entries.iter().for_each(|(_, value)| value.each(see)),
        }
    }

    /// Returns every text that the value may be or hold: all branches of conditions, functions as they are written.
    pub(crate) fn texts(&self) -> Vec<String> {
        match (self.tag.as_deref(), &self.kind) {
            (Some("Ref"), Kind::Text(text)) if text == "AWS::NoValue" => Vec::new(),
            (None, Kind::Text(text)) => vec![text.clone()],
            (Some(tag), Kind::Text(text)) => vec![format!("!{tag} {text}")],
            (Some("If"), Kind::List(items)) => {
                let branches = items.iter().skip(1);
                branches.flat_map(Self::texts).collect()
            }
            (Some(tag), Kind::List(items)) => {
                let first = items.first().and_then(Self::text).unwrap_or_default();
                vec![format!("!{tag} {first}")]
            }
            (None, Kind::List(items)) => items.iter().flat_map(Self::texts).collect(),
            (_, Kind::Map(entries)) => {
                let named = entries.iter();
                named
                    .flat_map(|(name, value)| {
                        value
                            .texts()
                            .into_iter()
                            .map(move |text| format!("{name} {text}"))
                    })
                    .collect()
            }
        }
    }
}
