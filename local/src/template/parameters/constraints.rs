//! What a template allows a parameter to be.

use std::cell::RefCell;
use std::rc::Rc;

use regex::Regex;

use super::super::node::{Kind, Node};
use super::super::problem::{Fault, Findings, Found, cut, quoted};
use super::default_text;

/// The constraints of one parameter.
pub(super) struct Constraints<'c> {
    declaration: &'c Rc<Node>,
    numbers: bool,
    pattern: Option<Regex>,
}

impl<'c> Constraints<'c> {
    /// Reads them; a pattern that this program cannot read is noted, since it cannot be checked.
    pub(super) fn new(
        declaration: &'c Rc<Node>,
        numbers: bool,
        unchecked: &RefCell<Findings>,
    ) -> Self {
        let written = declaration.get("AllowedPattern");
        let pattern = written.and_then(|node| {
            let pattern = Regex::new(&format!("^(?:{})$", node.literal()?));
            if pattern.is_err() {
                let what = "cannot be read here, so values are not checked against it";
                unchecked.borrow_mut().note(&node.place, what);
            }
            pattern.ok()
        });
        Self {
            declaration,
            numbers,
            pattern,
        }
    }

    /// Says which constraint a value breaks.
    pub(super) fn check(&self, value: &str) -> Found<()> {
        let number = value
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        if self.numbers && number.is_none() {
            return Err(self.broken(value, "is not a number"));
        }
        if let Some(allowed) = self.declaration.get("AllowedValues") {
            let allowed: Vec<String> = allowed
                .items()?
                .iter()
                .map(default_text)
                .collect::<Found<_>>()?;
            if !allowed.iter().any(|one| one == value) {
                return Err(self.broken(
                    value,
                    &format!(
                        "is not among the AllowedValues {}",
                        cut(&allowed.join(", "))
                    ),
                ));
            }
        }
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(value)
        {
            let written = self
                .declaration
                .get("AllowedPattern")
                .and_then(|node| node.literal());
            let written = quoted(written.unwrap_or_default());
            return Err(self.broken(
                value,
                &format!("does not match the AllowedPattern {written}"),
            ));
        }
        // A length is below 2⁵³, so this is exact.
        let length = value.chars().fold(0.0, |length, _| length + 1.0);
        self.bound(
            "MinLength",
            |least| length < least,
            value,
            "is shorter than the",
        )?;
        self.bound(
            "MaxLength",
            |most| length > most,
            value,
            "is longer than the",
        )?;
        if let Some(number) = number {
            self.bound(
                "MinValue",
                |least| number < least,
                value,
                "is less than the",
            )?;
            self.bound("MaxValue", |most| number > most, value, "is more than the")?;
        }
        Ok(())
    }

    fn bound(
        &self,
        name: &str,
        breaks: impl FnOnce(f64) -> bool,
        value: &str,
        how: &str,
    ) -> Found<()> {
        let Some(node) = self.declaration.get(name) else {
            return Ok(());
        };
        let written = default_text(node)?;
        match written.parse() {
            Ok(bound) if breaks(bound) => {
                Err(self.broken(value, &format!("{how} {name} {}", cut(&written))))
            }
            Ok(_) => Ok(()),
            Err(_) => Err(node.is_not("a number")),
        }
    }

    fn broken(&self, value: &str, how: &str) -> Fault {
        let secret = self
            .declaration
            .get("NoEcho")
            .is_some_and(|node| match &node.kind {
                Kind::Bool(secret) => *secret,
                Kind::Text(text) => &**text == "true",
                Kind::Null | Kind::Number(_) | Kind::List(_) | Kind::Map(_) | Kind::Call(_) => {
                    false
                }
            });
        let value = if secret {
            "its value".to_owned()
        } else {
            quoted(value)
        };
        let description = self
            .declaration
            .get("ConstraintDescription")
            .and_then(|node| node.literal());
        let what = match description {
            Some(description) => format!("{value} {how}: {}", cut(description)),
            None => format!("{value} {how}"),
        };
        Fault::wrong(&self.declaration.place, what)
    }
}
