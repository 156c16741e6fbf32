//! Conditions, evaluated when they are asked for, each once.

use std::rc::Rc;

use super::super::intrinsic::{Intrinsic, Logic};
use super::super::node::{Entry, Kind, Node};
use super::super::place::Place;
use super::super::problem::{Fault, Found, cut, quoted};
use super::{Reach, Resolver, between, exactly};

impl<'r> Resolver<'r> {
    /// Tells whether the condition of this name is true.
    pub(super) fn condition(self, name: &str, asked: &Place) -> Found<bool> {
        if let Some(known) = self.state.conditions.borrow().get(name) {
            return known.clone();
        }
        let conditions = self.conditions()?;
        self.state.trail.spend(conditions.len() >> 4)?;
        let Some(condition) = conditions.iter().find(|entry| &*entry.key == name) else {
            let what = format!("the template has no condition {}", quoted(name));
            return Err(Fault::wrong(asked, what));
        };
        let inside = self
            .state
            .trail
            .enter(&condition.value.place, &format!("Conditions.{name}"))?;
        let reach = Reach::Parameters;
        let truth = Self { reach, ..self }.truth(&condition.value);
        drop(inside);
        let mut known = self.state.conditions.borrow_mut();
        known.insert(Rc::clone(&condition.key), truth.clone());
        truth
    }

    fn conditions(self) -> Found<&'r [Entry]> {
        let Some(section) = &self.state.sections.conditions else {
            return Ok(&[]);
        };
        self.section(section, "Conditions", &self.state.unrolled_conditions)
    }

    /// Evaluates a condition's expression, which stops where its value is certain.
    fn truth(self, node: &Rc<Node>) -> Found<bool> {
        let _deeper = self.state.trail.deeper(&node.place)?;
        let (name, argument) = match &node.kind {
            Kind::Call(call) => (&*call.name, &call.argument),
            Kind::Map(entries) => match entries.as_slice() {
                [Entry { key, value }] => (&**key, value),
                _ => return Err(node.is_not("a condition")),
            },
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
                return Err(node.is_not("a condition"));
            }
        };
        let Some(Intrinsic::Logic(logic)) = Intrinsic::named(name) else {
            let what = format!(
                "{} is no condition: those are made with !Equals, !And, !Or, !Not and !Condition",
                cut(name)
            );
            return Err(Fault::wrong(&node.place, what));
        };
        match logic {
            Logic::Condition => match argument.literal() {
                Some(name) => self.condition(name, &argument.place),
                None => Err(argument.is_not("the name of a condition")),
            },
            Logic::Equals => {
                let [left, right] = exactly(node, argument)?;
                Ok(self.some_text(left)? == self.some_text(right)?)
            }
            Logic::Not => {
                let [condition] = exactly(node, argument)?;
                Ok(!self.truth(condition)?)
            }
            Logic::And => self.first(node, argument, false),
            Logic::Or => self.first(node, argument, true),
        }
    }

    /// Tells whether one of the conditions comes to `sought`: `sought` if so, the other if none does.
    fn first(self, node: &Node, argument: &Rc<Node>, sought: bool) -> Found<bool> {
        for condition in between(node, argument, &(2..=10))? {
            if self.truth(condition)? == sought {
                return Ok(sought);
            }
        }
        Ok(!sought)
    }
}
