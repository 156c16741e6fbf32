//! Kafka mappings that are resources of their own, `AWS::Lambda::EventSourceMapping`: one can serve either kind of cluster, as its
//! conditions say, where an event of a function is of one kind.

use std::rc::Rc;

use super::super::node::{Entry, Node};
use super::super::problem::{Fault, Findings, Found, quoted};
use super::super::resolve::Resolver;
use super::super::resolved::TemplateMapping;
use super::kafka::{self, Cluster, Event};
use super::property;

/// The type of such a resource.
pub(super) const TYPE: &str = "AWS::Lambda::EventSourceMapping";

/// What is called otherwise in an event of a function, or lies deeper here, or is not there at all.
///
/// Source: CloudFormation template reference, `AWS::Lambda::EventSourceMapping`.
const OWN: [&str; 6] = [
    "AmazonManagedKafkaEventSourceConfig",
    "EventSourceArn",
    "FunctionName",
    "SelfManagedEventSource",
    "SelfManagedKafkaEventSourceConfig",
    "Tags",
];

/// What an event of a function has and such a resource has not, or not at this place.
const ELSEWHERE: [&str; 3] = ["ConsumerGroupId", "KafkaBootstrapServers", "Stream"];

/// A mapping and whom it calls.
pub(super) struct Standalone {
    /// The function's name, or its logical ID where it has none.
    pub(super) calls: String,
    /// Where that is said.
    pub(super) target: Rc<Node>,
    /// Absent when something is wrong with it, which was reported.
    pub(super) mapping: Option<TemplateMapping>,
}

/// Reads a resource, if it is an enabled Kafka mapping.
pub(super) fn of_resource(
    resolver: Resolver<'_>,
    resource: &Entry,
    findings: &mut Findings,
) -> Option<Standalone> {
    let node = resource.value.get("Properties")?;
    if !kafka::is_kafka(node) || !findings.keep(resolver.is_there(resource))? {
        return None;
    }
    let properties = findings.keep(resolver.entries(node))??;
    let enabled = property(&properties, "Enabled").map(|enabled| resolver.flag(enabled));
    if let Some(false) = findings.keep(enabled.transpose())?.flatten() {
        return None;
    }
    let Some(target) = property(&properties, "FunctionName") else {
        findings.wrong(&node.place, "has no FunctionName");
        return None;
    };
    let calls = findings.keep(resolver.some_text(target))?;
    let event = findings.keep(event(resolver, node, &properties));
    Some(Standalone {
        calls: name_of(&calls).to_owned(),
        target: Rc::clone(target),
        mapping: event.and_then(|event| event.read(&resource.key, findings)),
    })
}

/// Returns the mapping as the event of a function that says the same.
fn event<'e>(resolver: Resolver<'e>, node: &Rc<Node>, properties: &[Entry]) -> Found<Event<'e>> {
    let there = |name: &str| {
        property(properties, name).is_some_and(|value| !matches!(resolver.resolve(value), Ok(None)))
    };
    let (cluster, config) = match (there("EventSourceArn"), there("SelfManagedEventSource")) {
        (true, false) => (Cluster::Msk, "AmazonManagedKafkaEventSourceConfig"),
        (false, true) => (Cluster::SelfManaged, "SelfManagedKafkaEventSourceConfig"),
        (true, true) => {
            let what = "has both an EventSourceArn and a SelfManagedEventSource";
            return Err(Fault::wrong(&node.place, what));
        }
        (false, false) => {
            let what = "has neither an EventSourceArn nor a SelfManagedEventSource";
            return Err(Fault::wrong(&node.place, what));
        }
    };
    let mut entries = Vec::new();
    for entry in properties {
        if ELSEWHERE.contains(&&*entry.key) {
            let what = format!(
                "{} is no property of an {TYPE} at this place",
                quoted(&entry.key)
            );
            return Err(Fault::wrong(&entry.value.place, what));
        }
        if !OWN.contains(&&*entry.key) {
            entries.push(entry.clone());
        }
    }
    let mut add = |name: &str, value: &Rc<Node>| {
        entries.push(Entry {
            key: name.into(),
            value: Rc::clone(value),
        });
    };
    if let (Cluster::Msk, Some(arn)) = (cluster, property(properties, "EventSourceArn")) {
        add("Stream", arn);
    }
    if let Some(source) = property(properties, "SelfManagedEventSource")
        && let Some(source) = resolver.entries(source)?
        && let Some(endpoints) = property(&source, "Endpoints")
        && let Some(endpoints) = resolver.entries(endpoints)?
        && let Some(servers) = property(&endpoints, "KafkaBootstrapServers")
    {
        add("KafkaBootstrapServers", servers);
    }
    if let Some(config) = property(properties, config)
        && let Some(config) = resolver.entries(config)?
    {
        for Entry { key, value } in &config {
            add(key, value);
        }
    }
    Ok(Event {
        resolver,
        cluster,
        place: node.place.clone(),
        properties: entries,
    })
}

/// Returns the name in what may be a name, a part of an ARN or an ARN, with or without a version.
///
/// Source: AWS Lambda API reference, `CreateEventSourceMapping`, "`FunctionName`".
fn name_of(text: &str) -> &str {
    let name = match text.split_once("function:") {
        Some((_, name)) => name,
        None => text,
    };
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_functions_name_is_found_in_every_form() {
        for text in [
            "charge",
            "charge:live",
            "000000000000:function:charge",
            "arn:aws:lambda:us-east-1:000000000000:function:charge",
            "arn:aws:lambda:us-east-1:000000000000:function:charge:3",
        ] {
            assert_eq!(name_of(text), "charge", "{text}");
        }
    }
}
