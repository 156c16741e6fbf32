//! The functions that make values of values.

use std::net::Ipv4Addr;
use std::rc::Rc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::super::node::{Kind, Node};
use super::super::problem::{Fault, Found, cut, quoted};
use super::{Resolver, absent, between, cidr, exactly, written};

impl Resolver<'_> {
    /// `Fn::If`: a condition's name, and the values for true and for false.
    pub(super) fn choose(self, node: &Node, argument: &Rc<Node>) -> Found<Option<Rc<Node>>> {
        let [condition, yes, no] = exactly(node, argument)?;
        let Some(name) = condition.literal() else {
            return Err(condition.is_not("the name of a condition"));
        };
        if self.condition(name, &condition.place)? {
            self.resolve(yes)
        } else {
            self.resolve(no)
        }
    }

    /// `Fn::Join`: a delimiter and a list.
    pub(super) fn join(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let [delimiter, list] = exactly(node, argument)?;
        let delimiter = literal(delimiter)?;
        let texts: Vec<String> = self
            .list_of(list)?
            .iter()
            .map(|item| self.some_text(item))
            .collect::<Found<_>>()?;
        self.made(node, &texts.join(delimiter))
    }

    /// `Fn::Select`: an index from 0 and a list, of which only the entry at the index must be known.
    pub(super) fn select(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let [index, list] = exactly(node, argument)?;
        let index_text = self.some_text(index)?;
        let Ok(index) = index_text.parse::<usize>() else {
            let what = format!("!Select takes an index from 0, not {}", quoted(&index_text));
            return Err(Fault::wrong(&node.place, what));
        };
        let list = self
            .resolve(list)?
            .ok_or_else(|| absent(&list.place, "a list"))?;
        let items = list.items()?;
        let Some(item) = items.get(index) else {
            let what = format!(
                "!Select wants entry {index}, counted from 0, of a list of {}",
                items.len()
            );
            return Err(Fault::wrong(&node.place, what));
        };
        // Nobody says whether an entry that is not there counts.
        let is_absent = |item: &Rc<Node>| matches!(self.resolve(item), Ok(None));
        if items.iter().take(index.saturating_add(1)).any(is_absent) {
            let what = format!(
                "!Select wants entry {index} of a list in which AWS::NoValue stands at or before it"
            );
            return Err(Fault::wrong(&node.place, what));
        }
        self.resolve(item)?
            .ok_or_else(|| absent(&item.place, "a value"))
    }

    /// `Fn::Split`: a delimiter and a text.
    pub(super) fn split(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let [delimiter, text] = exactly(node, argument)?;
        let delimiter = literal(delimiter)?;
        let text = self.some_text(text)?;
        if delimiter.is_empty() {
            return Err(Fault::wrong(
                &node.place,
                "!Split takes a delimiter that is not empty",
            ));
        }
        let parts: Vec<&str> = text.split(delimiter).collect();
        self.state.trail.spend(parts.len())?;
        Ok(Node::texts(&node.place, parts))
    }

    /// `Fn::FindInMap`: a mapping's name, a key, a key of what is there, and perhaps what stands in where one is missing.
    pub(super) fn find_in_map(self, node: &Node, argument: &Rc<Node>) -> Found<Option<Rc<Node>>> {
        let (names, otherwise) = match between(node, argument, &(3..=4))? {
            [names @ .., otherwise] if names.len() == 3 => (names, Some(otherwise)),
            names => (names, None),
        };
        let names: Vec<String> = names
            .iter()
            .map(|name| self.some_text(name))
            .collect::<Found<_>>()?;
        let mut place = self.state.sections.mappings.as_ref();
        let mut missing = None;
        for name in &names {
            let Some(section) = place else { break };
            let width = section.fields().map_or(0, <[_]>::len);
            self.state.trail.spend(width >> 4)?;
            place = section.get(name);
            if place.is_none() {
                missing = Some(name);
            }
        }
        if let Some(otherwise) = otherwise {
            self.state
                .sections
                .transforms
                .extended(&node.place, "the DefaultValue of !FindInMap")?;
            let Some(value) = otherwise.get("DefaultValue") else {
                return Err(otherwise.is_not("a map with DefaultValue"));
            };
            if place.is_none() {
                return self.resolve(value);
            }
        }
        match place {
            Some(value) if matches!(value.kind, Kind::Map(_)) => {
                Err(value.is_not("a text or a list"))
            }
            Some(value) => Ok(Some(Rc::clone(value))),
            None => {
                let missing = quoted(missing.or(names.first()).map_or("", String::as_str));
                let what = format!(
                    "!FindInMap [{}]: the mappings have no {missing} there",
                    cut(&names.join(", "))
                );
                Err(Fault::wrong(&node.place, what))
            }
        }
    }

    /// `Fn::Base64`: a text's bytes.
    pub(super) fn base64(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let text = self.some_text(argument)?;
        self.made(node, &BASE64_STANDARD.encode(text))
    }

    /// `Fn::Length`: the number of a list's entries.
    pub(super) fn length(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        self.state
            .sections
            .transforms
            .extended(&node.place, &written(node))?;
        let length = self.list_of(argument)?.len().to_string();
        Ok(Node::new(&node.place, Kind::Number(length.into())))
    }

    /// `Fn::Cidr`: a block of addresses, how many blocks to take of it, and how many bits each has.
    pub(super) fn cidr(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let [block, count, bits] = exactly(node, argument)?;
        let block = self.some_text(block)?;
        let count = self.some_text(count)?;
        let bits = self.some_text(bits)?;
        let refuse = |what: &str| Fault::wrong(&node.place, format!("!Cidr {what}"));
        let (address, mask) = block.split_once('/').unwrap_or((&block, "32"));
        let (Ok(address), Ok(mask)) = (address.parse::<Ipv4Addr>(), mask.parse()) else {
            return Err(refuse(&format!(
                "takes an IPv4 block here, not {}",
                quoted(&block)
            )));
        };
        let (Ok(count), Ok(bits)) = (count.parse(), bits.parse()) else {
            return Err(refuse("takes a number of blocks and a number of bits"));
        };
        let blocks = cidr::blocks(address, mask, count, bits).map_err(refuse)?;
        self.state.trail.spend(blocks.len())?;
        Ok(Node::texts(&node.place, blocks.iter().map(String::as_str)))
    }

    /// Makes a node of a text, unless texts grow beyond bounds.
    pub(super) fn made(self, node: &Node, text: &str) -> Found<Rc<Node>> {
        let cost = text.len() >> 6;
        self.state.trail.spend(cost)?;
        Ok(Node::text(&node.place, text))
    }
}

/// Returns a delimiter, which CloudFormation takes only as it stands.
fn literal(delimiter: &Node) -> Found<&str> {
    let text = delimiter.literal();
    text.ok_or_else(|| delimiter.is_not("the text of a delimiter"))
}
