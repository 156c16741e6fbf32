//! What a template's expressions come to, as far as that can be known without AWS.

mod cidr;
mod conditions;
mod functions;
mod loops;
mod references;
mod sub;
mod trail;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

use self::trail::Trail;
use super::TemplateOptions;
use super::intrinsic::Intrinsic;
use super::node::{Entry, Kind, Node};
use super::parameters::Parameters;
use super::place::Place;
use super::problem::{Fault, Found, cut};
use super::sections::Sections;

pub(super) use self::references::Partition;

/// What is known of a template, and what was found out so far.
pub(super) struct State<'t> {
    pub(super) sections: &'t Sections,
    pub(super) options: &'t TemplateOptions,
    pub(super) parameters: Parameters<'t>,
    /// What each condition came to.
    conditions: RefCell<BTreeMap<Rc<str>, Found<bool>>>,
    /// The sections whose loops were unrolled.
    unrolled_conditions: OnceCell<Found<Vec<Entry>>>,
    unrolled_resources: OnceCell<Found<Vec<Entry>>>,
    trail: Trail,
}

/// What an expression may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Parameters and resources.
    Everything,
    /// Parameters only: a condition, or what a loop runs over.
    Parameters,
}

/// Resolves expressions; cheap to copy.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'r> {
    pub(super) state: &'r State<'r>,
    reach: Reach,
}

impl<'t> State<'t> {
    pub(super) fn new(sections: &'t Sections, options: &'t TemplateOptions) -> Self {
        Self {
            sections,
            options,
            parameters: Parameters::new(&sections.parameters, &options.parameters),
            conditions: RefCell::default(),
            unrolled_conditions: OnceCell::new(),
            unrolled_resources: OnceCell::new(),
            trail: Trail::default(),
        }
    }

    /// Says that the template takes too much work, if it did, so that nothing more is worth trying.
    pub(super) fn check(&self) -> Found<()> {
        self.trail.check()
    }
}

impl<'r> Resolver<'r> {
    pub(super) fn new(state: &'r State<'r>) -> Self {
        let reach = Reach::Everything;
        Self { state, reach }
    }

    /// Returns the value of an expression, in which further expressions may stand; none for `AWS::NoValue`.
    pub(super) fn resolve(self, node: &Rc<Node>) -> Found<Option<Rc<Node>>> {
        let Kind::Call(call) = &node.kind else {
            return Ok(Some(Rc::clone(node)));
        };
        let _deeper = self.state.trail.deeper(&node.place)?;
        let argument = &call.argument;
        let Some(function) = Intrinsic::named(&call.name) else {
            let what = format!("{} is none of CloudFormation's functions", call.written());
            return Err(Fault::wrong(&node.place, what));
        };
        match function {
            Intrinsic::Ref => self.refer(node, argument),
            Intrinsic::GetAtt => self.get_attribute(node, argument).map(Some),
            Intrinsic::If => self.choose(node, argument),
            Intrinsic::Sub => self.substitute(node, argument).map(Some),
            Intrinsic::Join => self.join(node, argument).map(Some),
            Intrinsic::Select => self.select(node, argument).map(Some),
            Intrinsic::Split => self.split(node, argument).map(Some),
            Intrinsic::FindInMap => self.find_in_map(node, argument),
            Intrinsic::Base64 => self.base64(node, argument).map(Some),
            Intrinsic::Cidr => self.cidr(node, argument).map(Some),
            Intrinsic::Length => self.length(node, argument).map(Some),
            Intrinsic::Remote => Err(Fault::unknowable(&node.place, call.written())),
            Intrinsic::Unsupported => {
                let what = format!("{} is not supported here", call.written());
                Err(Fault::wrong(&node.place, what))
            }
            Intrinsic::Logic(_) => {
                let what = format!("{} stands only in the section Conditions", call.written());
                Err(Fault::wrong(&node.place, what))
            }
        }
    }

    /// Returns the text of an expression, numbers and booleans as CloudFormation renders them; none for `AWS::NoValue`.
    pub(super) fn text(self, node: &Rc<Node>) -> Found<Option<String>> {
        self.state.trail.spend(1)?;
        let Some(node) = self.resolve(node)? else {
            return Ok(None);
        };
        let text = match &node.kind {
            Kind::Text(text) => text.to_string(),
            Kind::Bool(value) => value.to_string(),
            Kind::Number(number) => node.number(number)?,
            Kind::Null | Kind::List(_) | Kind::Map(_) | Kind::Call(_) => {
                return Err(node.is_not("a text"));
            }
        };
        if let Some((_, reference)) = text.split_once("{{resolve:") {
            let name = reference.split("}}").next().unwrap_or_default();
            return Err(Fault::unknowable(
                &node.place,
                format_args!("{{{{resolve:{}}}}}", cut(name)),
            ));
        }
        Ok(Some(text))
    }

    /// Returns the text of an expression that must have one.
    pub(super) fn some_text(self, node: &Rc<Node>) -> Found<String> {
        self.text(node)?
            .ok_or_else(|| absent(&node.place, "a text"))
    }

    /// Returns the entries of a list without those that are `AWS::NoValue`; none when the list itself is.
    pub(super) fn list(self, node: &Rc<Node>) -> Found<Option<Vec<Rc<Node>>>> {
        let Some(node) = self.resolve(node)? else {
            return Ok(None);
        };
        let items = node.items()?.iter();
        let resolved = items.filter_map(|item| self.resolve(item).transpose());
        resolved.collect::<Found<_>>().map(Some)
    }

    /// Returns the texts of a list; none when the list is `AWS::NoValue`.
    pub(super) fn texts(self, node: &Rc<Node>) -> Found<Option<Vec<String>>> {
        let Some(items) = self.list(node)? else {
            return Ok(None);
        };
        let texts = items.iter().map(|item| self.some_text(item));
        texts.collect::<Found<_>>().map(Some)
    }

    /// Returns the entries of a map, with loops unrolled and values unresolved; none for `AWS::NoValue`.
    pub(super) fn entries(self, node: &Rc<Node>) -> Found<Option<Vec<Entry>>> {
        match self.resolve(node)? {
            None => Ok(None),
            Some(node) => self.unroll(&node).map(Some),
        }
    }

    /// Returns a section's entries, with loops unrolled once.
    fn section(
        self,
        section: &Rc<Node>,
        name: &str,
        known: &'r OnceCell<Found<Vec<Entry>>>,
    ) -> Found<&'r [Entry]> {
        if known.get().is_none() {
            // A loop may run over what is made of the section.
            let _inside = self.state.trail.enter(&section.place, name)?;
            known.set(self.unroll(section)).ok();
        }
        match known.get() {
            Some(unrolled) => unrolled.as_deref().map_err(Clone::clone),
            None => Ok(&[]),
        }
    }

    fn list_of(self, node: &Rc<Node>) -> Found<Vec<Rc<Node>>> {
        self.list(node)?
            .ok_or_else(|| absent(&node.place, "a list"))
    }
}

fn absent(place: &Place, expected: &str) -> Fault {
    Fault::wrong(
        place,
        format!("is AWS::NoValue, where {expected} is expected"),
    )
}

/// Returns a function's arguments when there are so many.
fn exactly<'n, const N: usize>(node: &Node, argument: &'n Node) -> Found<&'n [Rc<Node>; N]> {
    let items = argument.items().ok();
    let items = items.and_then(|items| items.try_into().ok());
    items.ok_or_else(|| wrong_arguments(node, &N.to_string()))
}

/// Returns a function's arguments when their number is within bounds.
fn between<'n>(
    node: &Node,
    argument: &'n Node,
    bounds: &RangeInclusive<usize>,
) -> Found<&'n [Rc<Node>]> {
    let items = argument.items().ok();
    let items = items.filter(|items| bounds.contains(&items.len()));
    items.ok_or_else(|| wrong_arguments(node, &format!("{} to {}", bounds.start(), bounds.end())))
}

fn wrong_arguments(node: &Node, number: &str) -> Fault {
    let what = format!("{} takes a list of {number}", written(node));
    Fault::wrong(&node.place, what)
}

/// Returns a call as it is written in short.
fn written(node: &Node) -> String {
    match &node.kind {
        Kind::Call(call) => call.written(),
        Kind::Null
        | Kind::Bool(_)
        | Kind::Number(_)
        | Kind::Text(_)
        | Kind::List(_)
        | Kind::Map(_) => String::new(),
    }
}
