//! `Fn::Sub`: a text with variables.

use std::rc::Rc;

use super::super::node::{Kind, Node};
use super::super::problem::{Fault, Found, cut, quoted};
use super::{Resolver, absent, wrong_arguments};

/// A part of a text with variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part<'t> {
    Literal(&'t str),
    /// What stands in `${…}`.
    Variable(&'t str),
}

impl Resolver<'_> {
    /// `Fn::Sub`: a text, or a text and a map of variables that win over the template's names.
    pub(super) fn substitute(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let (text, variables) = match &argument.kind {
            Kind::List(items) => match items.as_slice() {
                [text, variables] => (text, Some(self.entries(variables)?.unwrap_or_default())),
                _ => return Err(wrong_arguments(node, "2")),
            },
            Kind::Text(_) => (argument, None),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Map(_) | Kind::Call(_) => {
                return Err(argument.is_not("the text of !Sub"));
            }
        };
        let Some(text) = text.literal() else {
            return Err(text.is_not("the text of !Sub"));
        };
        let mut substituted = String::new();
        for part in parts(text).map_err(|what| Fault::wrong(&node.place, what))? {
            match part {
                Part::Literal(literal) => substituted.push_str(literal),
                Part::Variable(name) => {
                    let own = variables.iter().flatten().find(|entry| &*entry.key == name);
                    let value = match own {
                        Some(entry) => self.some_text(&entry.value)?,
                        None => self.variable(node, name)?,
                    };
                    self.state.trail.spend(value.len() >> 6)?;
                    substituted.push_str(&value);
                }
            }
        }
        self.made(node, &substituted)
    }

    /// Returns the text of a variable that the template names.
    fn variable(self, node: &Node, name: &str) -> Found<String> {
        let shown = format!("${{{}}}", cut(name));
        let value = match name.split_once('.') {
            Some((resource, attribute)) => Some(self.attribute(node, resource, attribute, &shown)?),
            None => self.named(node, name, &shown)?,
        };
        let value = value.ok_or_else(|| absent(&node.place, &format!("the text of {shown}")))?;
        if matches!(value.kind, Kind::List(_)) {
            let what = format!("{shown} is a list, and !Sub takes texts: use !Join");
            return Err(Fault::wrong(&node.place, what));
        }
        self.some_text(&value)
    }
}

/// Takes a text apart; `${!Name}` is the text `${Name}`.
///
/// Source: CloudFormation template reference, `Fn::Sub`.
fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        parts.push(Part::Literal(before));
        let Some((name, next)) = after.split_once('}') else {
            parts.push(Part::Literal("${"));
            parts.push(Part::Literal(after));
            return Ok(parts);
        };
        rest = next;
        if let Some(literal) = name.strip_prefix('!') {
            parts.extend(["${", literal, "}"].map(Part::Literal));
        } else if !name.trim().is_empty() && name.trim().chars().all(may_name) {
            parts.push(Part::Variable(name.trim()));
        } else {
            return Err(format!(
                "!Sub: {} is no variable, whose name has letters, digits, '_', '.' and ':'; for the text itself write ${{!…}}",
                quoted(&format!("${{{name}}}"))
            ));
        }
    }
    parts.push(Part::Literal(rest));
    Ok(parts)
}

fn may_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match parts(text) {
            Err(_) => "refused".to_owned(),
            Ok(parts) => parts
                .iter()
                .map(|part| match part {
                    Part::Literal(text) => (*text).to_owned(),
                    Part::Variable(name) => format!("<{name}>"),
                })
                .collect(),
        };
        assert_eq!(shown, expected, "{text:?}");
    }

    #[test]
    fn variables_and_literals_are_told_apart() {
        check("", "");
        check("no variable", "no variable");
        check("www.${Domain}", "www.<Domain>");
        check("${A}${B}", "<A><B>");
        check(
            "arn:${AWS::Partition}:x:${Q.Arn}",
            "arn:<AWS::Partition>:x:<Q.Arn>",
        );
        check("${!Literal} ${A}", "${Literal} <A>");
        check("${!}", "${}");
        check("${ A }", "<A>");
        check("$${A}", "$<A>");
        check("{A} $ {A} $A", "{A} $ {A} $A");
        check("${A", "${A");
        check("a ${A} ${", "a <A> ${");
        check("ä${A}ö", "ä<A>ö");
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for text in ["${}", "${ }", "${A B}", "${A-B}", "${A{B}}", "${ä}"] {
            check(text, "refused");
        }
    }
}
