//! A mapping's provisioned pollers.

use std::num::NonZeroUsize;
use std::rc::Rc;

use super::super::node::Node;
use super::super::problem::{Fault, Found, quoted};
use super::super::resolve::Resolver;
use super::super::resolved::ProvisionedPollers;
use super::property;

const KNOWN: [&str; 3] = ["MaximumPollers", "MinimumPollers", "PollerGroupName"];

/// Reads `ProvisionedPollerConfig`; none is standard mode.
///
/// Source: AWS Lambda API reference, `ProvisionedPollerConfig`: for Kafka, 1 to 200 (1 when unset) and 1 to 2,000 (200 when unset).
pub(super) fn provisioned(
    resolver: Resolver<'_>,
    config: Option<&Rc<Node>>,
) -> Found<Option<ProvisionedPollers>> {
    let Some(config) = config else {
        return Ok(None);
    };
    let Some(entries) = resolver.entries(config)? else {
        return Ok(None);
    };
    if let Some(other) = entries.iter().find(|entry| !KNOWN.contains(&&*entry.key)) {
        let what = format!(
            "is nothing that ProvisionedPollerConfig has, which is {}",
            KNOWN.join(", ")
        );
        return Err(Fault::wrong(&other.value.place, what));
    }
    let number = |name: &str, most: i64, unset: usize| {
        let node = property(&entries, name).map(|node| resolver.whole(node, 1..=most));
        let given = node.transpose()?.flatten();
        let given = given.and_then(|number| usize::try_from(number).ok());
        Ok(NonZeroUsize::new(given.unwrap_or(unset)).unwrap_or(NonZeroUsize::MIN))
    };
    let minimum = number("MinimumPollers", 200, 1)?;
    let maximum = number("MaximumPollers", 2000, 200)?;
    if minimum > maximum {
        let what = format!("MinimumPollers {minimum} is above MaximumPollers {maximum}");
        return Err(Fault::wrong(&config.place, what));
    }
    let group = match property(&entries, "PollerGroupName") {
        Some(node) => group(resolver, node)?,
        None => None,
    };
    Ok(Some(ProvisionedPollers {
        minimum,
        maximum,
        group,
    }))
}

fn group(resolver: Resolver<'_>, node: &Rc<Node>) -> Found<Option<String>> {
    let Some(name) = resolver.text(node)?.filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.len() <= 128 && name.bytes().all(legal) {
        return Ok(Some(name));
    }
    let what = format!(
        "{} is not at most 128 of the characters a-z, A-Z, 0-9, '-' and '_'",
        quoted(&name)
    );
    Err(Fault::wrong(&node.place, what))
}
