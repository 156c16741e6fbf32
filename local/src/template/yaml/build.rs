//! The tree, built from a parser's events.

use std::collections::HashMap;
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::super::intrinsic;
use super::super::node::{Call, Entry, Kind, Node};
use super::super::place::{Path, Place, Segment};
use super::super::problem::{Fault, Found, cut, quoted};
use super::{characters, scalar};

/// How deep a template may be nested: far deeper than any that people write.
const DEEPEST: usize = 100;

/// Reads a template's text into a tree.
pub(in super::super) fn read(bytes: &[u8]) -> Found<Rc<Node>> {
    let text = characters::text(bytes)?;
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        builder.take(event, span.start.line())?;
    }
    let empty = || Fault::wrong(&Place::default(), "the template is empty");
    builder.root.ok_or_else(empty)
}

fn unreadable(error: &ScanError) -> Fault {
    let hint = if error.info().contains("tab") {
        " (YAML is indented with spaces)"
    } else {
        ""
    };
    at(
        error.marker().line(),
        format!("is not YAML: {}{hint}", error.info()),
    )
}

fn at(line: usize, what: impl Into<String>) -> Fault {
    let path = Path::default();
    Fault::wrong(&Place { line, path }, what)
}

#[derive(Default)]
struct Builder {
    /// The collections that are open, the innermost last.
    open: Vec<Frame>,
    root: Option<Rc<Node>>,
}

/// A collection that is open.
struct Frame {
    place: Place,
    function: Option<Rc<str>>,
    /// Whether it holds a function's arguments, which have the path of the function.
    arguments: bool,
    content: Content,
}

enum Content {
    List(Vec<Rc<Node>>),
    Map(Map),
}

#[derive(Default)]
struct Map {
    entries: Vec<Entry>,
    /// The line of each key.
    lines: HashMap<Rc<str>, usize>,
    /// The key whose value comes next, and its line.
    key: Option<(Rc<str>, usize)>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Found<()> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.root.is_none() => Ok(()),
            Event::DocumentStart(_) => Err(at(line, "a second document begins: a template is one")),
            Event::Alias(_) => Err(self.refuse(
                line,
                "an alias (*name) is not taken by CloudFormation: write the value out",
            )),
            Event::Scalar(text, style, _, tag) if self.awaits_key() => {
                self.key(&text, style, tag.as_deref(), line)
            }
            Event::Scalar(text, style, _, tag) => {
                let place = self.place(line);
                let node = value(&place, &text, style, tag.as_deref())?;
                self.attach(node);
                Ok(())
            }
            Event::SequenceStart(_, tag) => {
                self.begin(Content::List(Vec::new()), tag.as_deref(), "seq", line)
            }
            Event::MappingStart(_, tag) => {
                self.begin(Content::Map(Map::default()), tag.as_deref(), "map", line)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(frame) = self.open.pop() {
                    let node = frame.finish();
                    self.attach(node);
                }
                Ok(())
            }
        }
    }

    fn refuse(&self, line: usize, what: &str) -> Fault {
        let Place { path, .. } = self.place(line);
        Fault::wrong(&Place { line, path }, what)
    }

    fn awaits_key(&self) -> bool {
        self.open.last().is_some_and(|frame| match &frame.content {
            Content::Map(map) => map.key.is_none(),
            Content::List(_) => false,
        })
    }

    /// Takes a map's next key.
    fn key(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Found<()> {
        let refuse = |builder: &Self, what: String| {
            let path = builder
                .open
                .last()
                .map_or_else(Path::default, |frame| frame.place.path.clone());
            Fault::wrong(&Place { line, path }, what)
        };
        if let Some(tag) = tag {
            return Err(refuse(
                self,
                format!(
                    "the key {} has a tag, {}",
                    quoted(text),
                    cut(&tag.to_string())
                ),
            ));
        }
        if text == "<<" && style == ScalarStyle::Plain {
            return Err(refuse(
                self,
                "a merge key (<<) is not taken by CloudFormation: write the entries out".to_owned(),
            ));
        }
        let Some(Frame {
            content: Content::Map(map),
            ..
        }) = self.open.last_mut()
        else {
            return Ok(());
        };
        let key: Rc<str> = text.into();
        if let Some(first) = map.lines.insert(Rc::clone(&key), line) {
            return Err(refuse(
                self,
                format!(
                    "the key {} stands twice, first in line {first}",
                    quoted(text)
                ),
            ));
        }
        map.key = Some((key, line));
        Ok(())
    }

    /// Returns the place of the next value: with a key, on the key's line.
    fn place(&self, line: usize) -> Place {
        let Some(frame) = self.open.last() else {
            let path = Path::default();
            return Place { line, path };
        };
        match &frame.content {
            Content::List(_) if frame.arguments => Place {
                line,
                path: frame.place.path.clone(),
            },
            Content::List(items) => frame.place.below(line, Segment::Index(items.len())),
            Content::Map(Map {
                key: Some((key, line)),
                ..
            }) => Entry::place(&frame.place, key, *line),
            Content::Map(Map { key: None, .. }) => frame.place.clone(),
        }
    }

    /// Tells whether the next value is the argument of a function, or a list in it.
    fn in_arguments(&self) -> bool {
        self.open.last().is_some_and(|frame| match &frame.content {
            Content::List(_) => frame.arguments,
            Content::Map(map) => map
                .key
                .as_ref()
                .is_some_and(|(key, _)| intrinsic::is_function(key)),
        })
    }

    fn begin(&mut self, content: Content, tag: Option<&Tag>, core: &str, line: usize) -> Found<()> {
        let place = self.place(line);
        if self.awaits_key() {
            return Err(Fault::wrong(
                &Place { line, ..place },
                "a key is a list or a map, and must be a text",
            ));
        }
        if self.open.len() >= DEEPEST {
            return Err(at(line, format!("is nested more than {DEEPEST} deep")));
        }
        let function = match tag {
            None => None,
            Some(tag) => match Meaning::of(tag) {
                Meaning::Function(name) => Some(name),
                Meaning::Core(name) if name == core => None,
                Meaning::Text | Meaning::Core(_) | Meaning::Unknown => {
                    return Err(no_tag(&place, tag));
                }
            },
        };
        let arguments = function.is_some() || self.in_arguments();
        self.open.push(Frame {
            place,
            function,
            arguments,
            content,
        });
        Ok(())
    }

    fn attach(&mut self, node: Rc<Node>) {
        match self.open.last_mut().map(|frame| &mut frame.content) {
            None => self.root = Some(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map(map)) => {
                if let Some((key, _)) = map.key.take() {
                    map.entries.push(Entry { key, value: node });
                }
            }
        }
    }
}

impl Frame {
    fn finish(self) -> Rc<Node> {
        let kind = match self.content {
            Content::List(items) => Kind::List(items),
            Content::Map(map) => map_or_call(map.entries),
        };
        let node = Node::new(&self.place, kind);
        match self.function {
            None => node,
            Some(name) => Node::new(
                &self.place,
                Kind::Call(Call {
                    name,
                    argument: node,
                }),
            ),
        }
    }
}

/// Takes a map whose only key is a function for a call of it.
fn map_or_call(mut entries: Vec<Entry>) -> Kind {
    match entries.as_slice() {
        [entry] if intrinsic::is_function(&entry.key) => {}
        _ => return Kind::Map(entries),
    }
    match entries.pop() {
        Some(Entry {
            key: name,
            value: argument,
        }) => Kind::Call(Call { name, argument }),
        None => Kind::Map(entries),
    }
}

/// Makes a scalar's node.
fn value(place: &Place, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Found<Rc<Node>> {
    let kind = match tag {
        None if style == ScalarStyle::Plain => scalar::plain(text),
        None => Kind::Text(text.into()),
        Some(tag) => match Meaning::of(tag) {
            Meaning::Text | Meaning::Core("str") => Kind::Text(text.into()),
            Meaning::Function(name) => {
                let argument = Node::text(place, text);
                Kind::Call(Call { name, argument })
            }
            Meaning::Core("null" | "bool" | "int" | "float") => scalar::plain(text),
            Meaning::Core(_) | Meaning::Unknown => return Err(no_tag(place, tag)),
        },
    };
    Ok(Node::new(place, kind))
}

fn no_tag(place: &Place, tag: &Tag) -> Fault {
    let shown = match tag.handle.as_str() {
        "" => format!("!<{}>", tag.suffix),
        "tag:yaml.org,2002:" => format!("!!{}", tag.suffix),
        handle => format!("{handle}{}", tag.suffix),
    };
    Fault::wrong(
        place,
        format!(
            "the tag {} is not taken by CloudFormation here",
            cut(&shown)
        ),
    )
}

/// What a tag says of its value.
enum Meaning<'t> {
    /// `!`: it is a text.
    Text,
    /// `!GetAtt`: it is the argument of a function, known or not.
    Function(Rc<str>),
    /// `!!str`: it is of a type of YAML's own.
    Core(&'t str),
    /// It is of some other type.
    Unknown,
}

impl<'t> Meaning<'t> {
    fn of(tag: &'t Tag) -> Self {
        match tag.handle.as_str() {
            "" if tag.suffix == "!" => Self::Text,
            "!" if tag.suffix.is_empty() => Self::Text,
            "!" => Self::Function(intrinsic::long_name(&tag.suffix).into()),
            "tag:yaml.org,2002:" => Self::Core(&tag.suffix),
            _ => Self::Unknown,
        }
    }
}
