//! `Fn::ForEach`: entries that stand once for each of a list's values.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::intrinsic;
use super::super::node::{Call, Entry, Kind, Node};
use super::super::place::{Path, Place};
use super::super::problem::{Fault, Found, cut, quoted};
use super::{Reach, Resolver, absent};

/// A name and the value that stands for it in one round of a loop.
struct Round<'l> {
    identifier: &'l str,
    value: &'l str,
    resolver: Resolver<'l>,
}

impl Resolver<'_> {
    /// Returns a map's entries with its loops unrolled.
    ///
    /// Source: CloudFormation template reference, `Fn::ForEach`.
    pub(super) fn unroll(self, map: &Rc<Node>) -> Found<Vec<Entry>> {
        let fields = map.fields()?;
        if !fields.iter().any(|entry| entry.key.starts_with("Fn::")) {
            return Ok(fields.to_vec());
        }
        let _deeper = self.state.trail.deeper(&map.place)?;
        let mut entries = Vec::new();
        for entry in fields {
            if intrinsic::is_loop(&entry.key) {
                entries.extend(self.unrolled(map, entry)?);
            } else if intrinsic::is_function(&entry.key) {
                let what = format!(
                    "{} stands beside other keys, and a function must stand alone",
                    cut(&entry.key)
                );
                return Err(Fault::wrong(&entry.value.place, what));
            } else {
                entries.push(entry.clone());
            }
        }
        let mut keys = BTreeSet::new();
        match entries.iter().find(|entry| !keys.insert(&entry.key)) {
            None => Ok(entries),
            Some(entry) => {
                let what = format!("a loop makes the key {} a second time", quoted(&entry.key));
                Err(Fault::wrong(&entry.value.place, what))
            }
        }
    }

    fn unrolled(self, map: &Rc<Node>, the_loop: &Entry) -> Found<Vec<Entry>> {
        let place = &the_loop.value.place;
        self.state
            .sections
            .transforms
            .extended(place, "Fn::ForEach")?;
        let malformed = || {
            Fault::wrong(
                place,
                "Fn::ForEach takes a list of a name, a list of values, and a map",
            )
        };
        let [identifier, values, fragment] = the_loop.value.items().map_err(|_| malformed())?
        else {
            return Err(malformed());
        };
        let identifier = identifier.literal().ok_or_else(malformed)?;
        let reach = Reach::Parameters;
        let over = Self { reach, ..self };
        let values = over
            .texts(values)?
            .ok_or_else(|| absent(&values.place, "a list of values"))?;
        let mut entries = Vec::new();
        for value in &values {
            let resolver = self;
            let round = Round {
                identifier,
                value,
                resolver,
            };
            let fragment = round.copy(fragment, &map.place.path)?;
            entries.extend(self.unroll(&fragment)?);
        }
        Ok(entries)
    }
}

impl Round<'_> {
    /// Copies what stands in a loop with the value in place of its name, as if it stood at `path`.
    fn copy(&self, node: &Rc<Node>, path: &Path) -> Found<Rc<Node>> {
        let place = Place {
            line: node.place.line,
            path: path.clone(),
        };
        self.resolver.state.trail.spend(1)?;
        let kind = match &node.kind {
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => node.kind.clone(),
            Kind::Text(text) => Kind::Text(self.text(text)?),
            Kind::List(items) => {
                let copies = items
                    .iter()
                    .map(|item| self.copy(item, &node.moved(item, path)));
                Kind::List(copies.collect::<Found<_>>()?)
            }
            Kind::Map(entries) => {
                let copies = entries.iter().map(|entry| {
                    let key = self.text(&entry.key)?;
                    let place = Entry::place(&place, &key, entry.value.place.line);
                    let value = self.copy(&entry.value, &place.path)?;
                    Ok(Entry { key, value })
                });
                Kind::Map(copies.collect::<Found<_>>()?)
            }
            Kind::Call(call) => return self.call(node, call, place),
        };
        Ok(Rc::new(Node { place, kind }))
    }

    fn call(&self, node: &Rc<Node>, call: &Call, place: Place) -> Found<Rc<Node>> {
        if &*call.name == "Ref" && call.argument.literal() == Some(self.identifier) {
            return Ok(Node::text(&place, self.value));
        }
        let path = node.moved(&call.argument, &place.path);
        let mut argument = self.copy(&call.argument, &path)?;
        // The name of a condition stays as it is written.
        if &*call.name == "Fn::If"
            && let (Kind::List(before), Kind::List(after)) = (&call.argument.kind, &argument.kind)
            && let Some(condition) = before.first()
        {
            let rest = after.iter().skip(1).map(Rc::clone);
            let items = std::iter::once(Rc::clone(condition)).chain(rest);
            argument = Node::new(&argument.place, Kind::List(items.collect()));
        }
        let name = Rc::clone(&call.name);
        let kind = Kind::Call(Call { name, argument });
        Ok(Rc::new(Node { place, kind }))
    }

    /// Puts the value in place of `${Name}`, and its letters and digits in place of `&{Name}`.
    fn text(&self, text: &Rc<str>) -> Found<Rc<str>> {
        let whole = format!("${{{}}}", self.identifier);
        let letters = format!("&{{{}}}", self.identifier);
        if !text.contains(&whole) && !text.contains(&letters) {
            return Ok(Rc::clone(text));
        }
        let alphanumeric: String = self
            .value
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let text = text
            .replace(&whole, self.value)
            .replace(&letters, &alphanumeric);
        self.resolver.state.trail.spend(text.len() >> 6)?;
        Ok(text.into())
    }
}
