//! Numbers and flags, as CloudFormation takes them.

use std::ops::RangeInclusive;
use std::rc::Rc;

use super::node::Node;
use super::problem::{Fault, Found, quoted};
use super::resolve::Resolver;

impl Resolver<'_> {
    /// Returns a whole number within bounds; none for `AWS::NoValue`. A text that holds one is one.
    pub(super) fn whole(self, node: &Rc<Node>, bounds: RangeInclusive<i64>) -> Found<Option<i64>> {
        let Some(text) = self.text(node)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) if bounds.contains(&number) => Ok(Some(number)),
            Ok(_) | Err(_) => {
                let (least, most) = (bounds.start(), bounds.end());
                let what = format!(
                    "{} is not a whole number from {least} to {most}",
                    quoted(&text)
                );
                Err(Fault::wrong(&node.place, what))
            }
        }
    }

    /// Returns a flag; none for `AWS::NoValue`. A text that holds one is one.
    pub(super) fn flag(self, node: &Rc<Node>) -> Found<Option<bool>> {
        let Some(text) = self.text(node)? else {
            return Ok(None);
        };
        match text.as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => {
                let what = format!("{} is neither true nor false", quoted(&text));
                Err(Fault::wrong(&node.place, what))
            }
        }
    }
}
