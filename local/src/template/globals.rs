//! What a function gets from the section Globals.

use std::rc::Rc;

use super::node::{Entry, Kind, Node};
use super::problem::{Fault, Found};

/// Merges a function's own value over the global one: maps are merged, lists are added to the global ones, all else is replaced.
///
/// A function call is replaced too, whatever it would come to. Source: SAM developer guide, "Globals section", "Overridable properties".
pub(super) fn merged(global: &Rc<Node>, own: &Rc<Node>) -> Rc<Node> {
    match (&global.kind, &own.kind) {
        (Kind::Map(global), Kind::Map(entries)) => {
            let both = global.iter().map(|entry| match own.get(&entry.key) {
                Some(value) => Entry {
                    key: Rc::clone(&entry.key),
                    value: merged(&entry.value, value),
                },
                None => entry.clone(),
            });
            let is_new = |entry: &&Entry| !global.iter().any(|other| other.key == entry.key);
            let only_own = entries.iter().filter(is_new).cloned();
            Node::new(&own.place, Kind::Map(both.chain(only_own).collect()))
        }
        (Kind::List(global), Kind::List(items)) => {
            let items = global.iter().chain(items).map(Rc::clone);
            Node::new(&own.place, Kind::List(items.collect()))
        }
        _ => Rc::clone(own),
    }
}

/// Returns the globals without those that a function ignores: all of them, or those of a list.
///
/// Source: SAM developer guide, "Globals section", `IgnoreGlobals`.
pub(super) fn heeded(global: &Rc<Node>, ignored: Option<&Rc<Node>>) -> Found<Option<Rc<Node>>> {
    let Some(ignored) = ignored else {
        return Ok(Some(Rc::clone(global)));
    };
    if ignored.literal() == Some("*") {
        return Ok(None);
    }
    let mut entries = global.fields()?.to_vec();
    for name in ignored
        .items()
        .map_err(|_| ignored.is_not("\"*\" or a list of properties"))?
    {
        let name_there = name.literal().filter(|name| global.get(name).is_some());
        let Some(name_there) = name_there else {
            return Err(Fault::wrong(
                &name.place,
                "is not the name of a global property of functions",
            ));
        };
        entries.retain(|entry| &*entry.key != name_there);
    }
    Ok(Some(Node::new(&global.place, Kind::Map(entries))))
}

#[cfg(test)]
mod tests {
    use super::super::yaml;
    use super::*;

    fn shown(node: &Node) -> String {
        match &node.kind {
            Kind::Text(text) => text.to_string(),
            Kind::Call(call) => call.written(),
            Kind::List(items) => {
                let items: Vec<String> = items.iter().map(|item| shown(item)).collect();
                format!("[{}]", items.join(" "))
            }
            Kind::Map(entries) => {
                let entries = entries.iter();
                let entries: Vec<String> = entries
                    .map(|entry| format!("{}:{}", entry.key, shown(&entry.value)))
                    .collect();
                format!("{{{}}}", entries.join(" "))
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => panic!("not in these tests"),
        }
    }

    /// The expected values are those of SAM's own translator.
    #[test]
    fn values_are_merged_as_sam_merges_them() {
        for (global, own, expected) in [
            ("a", "b", "b"),
            ("[a, b]", "[b, c]", "[a b b c]"),
            (
                "{A: a, B: {C: c}}",
                "{B: {D: d}, E: e}",
                "{A:a B:{C:c D:d} E:e}",
            ),
            ("{A: a}", "[b]", "[b]"),
            ("[a]", "b", "b"),
            ("{A: a}", "{}", "{A:a}"),
            ("{A: a}", "!If [x]", "!If"),
            ("!Ref X", "{A: a}", "{A:a}"),
            ("{A: {B: b}}", "{A: {Ref: X}}", "{A:!Ref X}"),
        ] {
            let read = |text: &str| yaml::read(text.as_bytes()).unwrap();
            let merged = merged(&read(global), &read(own));
            assert_eq!(shown(&merged), expected, "{own} over {global}");
        }
    }
}
