//! The values of parameters: what is given, else their defaults, checked against what the template allows.

mod constraints;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use self::constraints::Constraints;
use super::node::{Entry, Kind, Node};
use super::place::Place;
use super::problem::{Fault, Findings, Found, cut, quoted};

/// What a parameter may say of itself.
///
/// Source: CloudFormation user guide, "Parameters".
const ATTRIBUTES: [&str; 11] = [
    "AllowedPattern",
    "AllowedValues",
    "ConstraintDescription",
    "Default",
    "Description",
    "MaxLength",
    "MaxValue",
    "MinLength",
    "MinValue",
    "NoEcho",
    "Type",
];

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    One(String),
    Many(Vec<String>),
}

/// The parameters of a template.
pub(super) struct Parameters<'t> {
    declared: &'t [Entry],
    given: &'t BTreeMap<String, String>,
    /// The values that were asked for.
    known: RefCell<BTreeMap<Rc<str>, Found<Value>>>,
    /// What could not be checked.
    unchecked: RefCell<Findings>,
}

/// What a parameter's type says of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    many: bool,
    numbers: bool,
    /// The default names a value that AWS keeps.
    remote: bool,
}

impl<'t> Parameters<'t> {
    pub(super) fn new(declared: &'t [Entry], given: &'t BTreeMap<String, String>) -> Self {
        Self {
            declared,
            given,
            known: RefCell::default(),
            unchecked: RefCell::default(),
        }
    }

    /// Checks what was given: every name is a parameter's, and every value is allowed.
    pub(super) fn check(&self, findings: &mut Findings) {
        for name in self.given.keys() {
            if let Some(value) = self.value(name) {
                findings.keep(value);
                continue;
            }
            let names: Vec<String> = self.declared.iter().map(|entry| cut(&entry.key)).collect();
            let there = match names.as_slice() {
                [] => "it has none".to_owned(),
                names => format!("it has {}", names.join(", ")),
            };
            let what = format!("the template has no parameter {}: {there}", quoted(name));
            findings.wrong(&Place::default(), what);
        }
    }

    /// Returns a parameter's value; none when there is no such parameter.
    pub(super) fn value(&self, name: &str) -> Option<Found<Value>> {
        if let Some(known) = self.known.borrow().get(name) {
            return Some(known.clone());
        }
        let parameter = self.declared.iter().find(|entry| &*entry.key == name)?;
        let value = self.read(parameter);
        let key = Rc::clone(&parameter.key);
        self.known.borrow_mut().insert(key, value.clone());
        Some(value)
    }

    /// Hands over what could not be checked.
    pub(super) fn notes(&self, findings: &mut Findings) {
        findings.add_notes(&self.unchecked.borrow());
    }

    fn read(&self, parameter: &Entry) -> Found<Value> {
        let Entry {
            key: name,
            value: declaration,
        } = parameter;
        for attribute in declaration.fields()? {
            if !ATTRIBUTES.contains(&&*attribute.key) {
                let known = ATTRIBUTES.join(", ");
                return Err(Fault::wrong(
                    &attribute.value.place,
                    format!("is nothing that a parameter has, which is {known}"),
                ));
            }
        }
        let shape = Shape::of(declaration)?;
        let text = match (self.given.get(&**name), declaration.get("Default")) {
            (Some(given), _) => given.clone(),
            (None, Some(_)) if shape.remote => {
                let what = format!(
                    "names a value in the Parameter Store, and it is needed: give --parameter {}=…",
                    cut(name)
                );
                return Err(Fault::wrong(&declaration.place, what));
            }
            (None, Some(default)) => default_text(default)?,
            (None, None) => {
                let what = format!(
                    "has no default, and it is needed: give --parameter {}=…",
                    cut(name)
                );
                return Err(Fault::wrong(&declaration.place, what));
            }
        };
        let value = if shape.many {
            Value::Many(text.split(',').map(|part| part.trim().to_owned()).collect())
        } else {
            Value::One(text)
        };
        let parts = match &value {
            Value::One(text) => std::slice::from_ref(text),
            Value::Many(texts) => texts,
        };
        let constraints = Constraints::new(declaration, shape.numbers, &self.unchecked);
        parts.iter().try_for_each(|part| constraints.check(part))?;
        Ok(value)
    }
}

impl Shape {
    /// Source: CloudFormation user guide, "Parameters", and "Supported AWS-specific parameter types".
    fn of(declaration: &Rc<Node>) -> Found<Self> {
        let kind = declaration.get("Type").and_then(|kind| kind.literal());
        let Some(kind) = kind else {
            return Err(Fault::wrong(&declaration.place, "has no Type"));
        };
        let (inner, remote) = match kind
            .strip_prefix("AWS::SSM::Parameter::Value<")
            .and_then(|rest| rest.strip_suffix('>'))
        {
            Some(inner) => (inner, true),
            None => (kind, false),
        };
        let element = inner
            .strip_prefix("List<")
            .and_then(|rest| rest.strip_suffix('>'));
        let many = inner == "CommaDelimitedList" || element.is_some();
        let element = element.unwrap_or(inner);
        let known = matches!(element, "String" | "Number" | "CommaDelimitedList")
            || element.starts_with("AWS::");
        if !known {
            let what = format!(
                "has the type {}, which is none of CloudFormation's",
                quoted(kind)
            );
            return Err(Fault::wrong(&declaration.place, what));
        }
        let numbers = element == "Number";
        Ok(Self {
            many,
            numbers,
            remote,
        })
    }
}

fn default_text(default: &Rc<Node>) -> Found<String> {
    match &default.kind {
        Kind::Text(text) => Ok(text.to_string()),
        Kind::Bool(value) => Ok(value.to_string()),
        Kind::Number(number) => default.number(number),
        Kind::Null | Kind::List(_) | Kind::Map(_) | Kind::Call(_) => Err(default.is_not("a text")),
    }
}
