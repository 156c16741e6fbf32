//! A function's environment.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::node::{Entry, Node};
use super::super::problem::{Fault, Findings, Found};
use super::super::resolve::Resolver;
use super::{names, property};

/// The variable that tells a function of the brokers; fixed ones take its place.
const BROKERS: &str = "KAFKA_BROKERS";

/// Reads the variables; those that the options give are not resolved.
pub(super) fn variables(
    resolver: Resolver<'_>,
    environment: Option<&Rc<Node>>,
    findings: &mut Findings,
) -> Option<BTreeMap<String, String>> {
    let given = &resolver.state.options.env;
    let mut variables = BTreeMap::new();
    let mut whole = true;
    for Entry { key: name, value } in findings.keep(entries(resolver, environment))? {
        if let Err(fault) = check(&name, &value) {
            findings.keep(Err::<(), _>(fault));
            whole = false;
        }
        if given.contains_key(&*name) {
            continue;
        }
        let fixed = resolver.state.options.fixed_brokers.as_ref();
        let text = match (resolver.text(&value), fixed) {
            (Ok(Some(_)) | Err(_), Some(brokers)) if &*name == BROKERS => Ok(Some(brokers.clone())),
            (text, _) => text.map_err(|fault| fault.or_give(format_args!("--env {name}=…"))),
        };
        match findings.keep(text) {
            Some(Some(text)) => {
                variables.insert(name.to_string(), text);
            }
            Some(None) => {}
            None => whole = false,
        }
        findings.keep(resolver.state.check())?;
    }
    variables.extend(
        given
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    whole.then_some(variables)
}

fn entries(resolver: Resolver<'_>, environment: Option<&Rc<Node>>) -> Found<Vec<Entry>> {
    let Some(environment) = environment else {
        return Ok(Vec::new());
    };
    let parts = resolver.entries(environment)?.unwrap_or_default();
    if let Some(other) = parts.iter().find(|entry| &*entry.key != "Variables") {
        return Err(Fault::wrong(
            &other.value.place,
            "is nothing that an environment has, which is Variables",
        ));
    }
    let variables = property(&parts, "Variables").map(|variables| resolver.entries(variables));
    Ok(variables.transpose()?.flatten().unwrap_or_default())
}

/// Refuses the names that Lambda refuses.
///
/// Source: AWS Lambda API reference, `Environment`.
fn check(name: &str, value: &Node) -> Found<()> {
    let refuse = |what| Err(Fault::wrong(&value.place, what));
    if names::is_reserved_variable(name) {
        return refuse("is a variable that Lambda sets itself, and refuses here");
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.len() < 2
        || !name.starts_with(|first: char| first.is_ascii_alphabetic())
        || !name.bytes().all(legal)
    {
        return refuse(
            "Lambda takes variables of two or more letters, digits and '_', with a letter first",
        );
    }
    Ok(())
}
