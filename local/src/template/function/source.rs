//! Where a mapping's records come from, and from which of them on.

use std::rc::Rc;

use pipeline::{Topic, digits};

use crate::mapping::StartingPosition;

use super::super::node::{Entry, Node};
use super::super::place::Place;
use super::super::problem::{Fault, Findings, Found, quoted};
use super::super::resolve::{Partition, Resolver};
use super::super::resolved::TemplateSource;
use super::property;

/// Reads an MSK mapping's cluster; its brokers must be given.
pub(super) fn msk(
    resolver: Resolver<'_>,
    place: &Place,
    properties: &[Entry],
) -> Found<TemplateSource> {
    let Some(stream) = property(properties, "Stream") else {
        return Err(Fault::wrong(place, "has no Stream, the cluster's ARN"));
    };
    let options = resolver.state.options;
    if options.fixed_brokers.is_none() {
        let what =
            "the brokers of an MSK cluster cannot be known locally: give --brokers HOST:PORT,…";
        return Err(Fault::wrong(&stream.place, what));
    }
    let arn = resolver
        .text(stream)
        .ok()
        .flatten()
        .filter(|arn| arn.starts_with("arn:"));
    let made_up = || {
        let partition = Partition::of(&options.region).name;
        format!(
            "arn:{partition}:kafka:{}:{}:cluster/local/00000000-0000-0000-0000-000000000000-0",
            options.region, options.account
        )
    };
    Ok(TemplateSource::Msk {
        arn: arn.unwrap_or_else(made_up),
    })
}

/// Reads the brokers of a cluster of one's own, unless others are given.
pub(super) fn self_managed(
    resolver: Resolver<'_>,
    place: &Place,
    properties: &[Entry],
) -> Found<TemplateSource> {
    let servers = property(properties, "KafkaBootstrapServers");
    let given = resolver.state.options.fixed_brokers.clone();
    let brokers = match (given, servers) {
        (Some(given), _) => given,
        (None, Some(servers)) => {
            let found = bootstrap(resolver, servers);
            found.map_err(|fault| fault.or_give("--brokers HOST:PORT,…"))?
        }
        (None, None) => return Err(Fault::wrong(place, "has no KafkaBootstrapServers")),
    };
    Ok(TemplateSource::SelfManaged { brokers })
}

fn bootstrap(resolver: Resolver<'_>, servers: &Rc<Node>) -> Found<String> {
    let texts = resolver.texts(servers)?.unwrap_or_default();
    if !(1..=10).contains(&texts.len()) {
        let what = format!("has {} brokers, and Lambda takes 1 to 10", texts.len());
        return Err(Fault::wrong(&servers.place, what));
    }
    match texts.iter().find(|text| !is_endpoint(text)) {
        None => Ok(texts.join(",")),
        Some(text) => {
            let what = format!("{} is not of the form host:port", quoted(text));
            Err(Fault::wrong(&servers.place, what))
        }
    }
}

/// Source: AWS Lambda API reference, `SelfManagedEventSource`.
fn is_endpoint(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let is_label = |label: &str| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(legal)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 300
        && host.split('.').all(is_label)
        && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Reads the one topic.
pub(super) fn topic(resolver: Resolver<'_>, place: &Place, properties: &[Entry]) -> Found<Topic> {
    let Some(node) = property(properties, "Topics") else {
        return Err(Fault::wrong(place, "has no Topics"));
    };
    let topics = resolver.texts(node)?.unwrap_or_default();
    let [topic] = topics.as_slice() else {
        let what = format!("has {} topics, and a Kafka mapping has one", topics.len());
        return Err(Fault::wrong(&node.place, what));
    };
    topic.parse().map_err(|_| {
        let what = format!(
            "{} is no name of a topic: 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'",
            quoted(topic)
        );
        Fault::wrong(&node.place, what)
    })
}

/// Reads the consumer group.
pub(super) fn group(resolver: Resolver<'_>, properties: &[Entry]) -> Found<Option<String>> {
    let Some(node) = property(properties, "ConsumerGroupId") else {
        return Ok(None);
    };
    let Some(group) = resolver.text(node)? else {
        return Ok(None);
    };
    // Source: AWS Lambda API reference, `AmazonManagedKafkaEventSourceConfig`.
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b" -/*:_+=.@".contains(&byte);
    if (1..=200).contains(&group.len()) && group.bytes().all(legal) {
        return Ok(Some(group));
    }
    let what = format!(
        "{} is not 1 to 200 letters, digits, spaces and the characters -/*:_+=.@",
        quoted(&group)
    );
    Err(Fault::wrong(&node.place, what))
}

/// Reads where a group without offsets starts.
pub(super) fn start(
    resolver: Resolver<'_>,
    place: &Place,
    properties: &[Entry],
    findings: &mut Findings,
) -> Option<StartingPosition> {
    let position =
        property(properties, "StartingPosition").map(|node| Ok((node, resolver.text(node)?)));
    let time = property(properties, "StartingPositionTimestamp")
        .map(|node| Ok((node, seconds(resolver, node)?)));
    let position = position.map_or(Some(None), |position| findings.keep(position).map(Some));
    let time = time.map_or(Some(None), |time| findings.keep(time).map(Some));
    let time = time?.and_then(|(node, time)| Some((node, time?)));
    let Some((node, position)) = position?.and_then(|(node, text)| Some((node, text?))) else {
        findings.note(
            place,
            "has no StartingPosition, which Lambda wants: taken as TRIM_HORIZON",
        );
        return Some(StartingPosition::TrimHorizon);
    };
    match (position.as_str(), time) {
        ("TRIM_HORIZON", None) => Some(StartingPosition::TrimHorizon),
        ("LATEST", None) => Some(StartingPosition::Latest),
        ("AT_TIMESTAMP", Some((_, time))) => Some(StartingPosition::AtTimestamp(time)),
        ("AT_TIMESTAMP", None) => {
            findings.wrong(
                &node.place,
                "AT_TIMESTAMP wants a StartingPositionTimestamp beside it",
            );
            None
        }
        ("TRIM_HORIZON" | "LATEST", Some((time, _))) => {
            findings.wrong(
                &time.place,
                "stands beside a StartingPosition other than AT_TIMESTAMP",
            );
            None
        }
        _ => {
            let what = format!(
                "{} is none of TRIM_HORIZON, LATEST and AT_TIMESTAMP",
                quoted(&position)
            );
            findings.wrong(&node.place, what);
            None
        }
    }
}

/// Reads seconds since 1970, fractions allowed, and returns milliseconds.
///
/// Source: CloudFormation template reference, `AWS::Lambda::EventSourceMapping`: "in Unix time seconds".
fn seconds(resolver: Resolver<'_>, node: &Rc<Node>) -> Found<Option<i64>> {
    let Some(text) = resolver.text(node)? else {
        return Ok(None);
    };
    match milliseconds(&text) {
        Some(time) if time <= LAST_MILLISECOND => Ok(Some(time)),
        Some(_) => {
            let what = format!(
                "{} is past the year 9999: is it in milliseconds? It must be in seconds",
                quoted(&text)
            );
            Err(Fault::wrong(&node.place, what))
        }
        None => {
            let what = format!("{} is not a time in seconds since 1970", quoted(&text));
            Err(Fault::wrong(&node.place, what))
        }
    }
}

/// The last of the year 9999.
const LAST_MILLISECOND: i64 = 253_402_300_799_999;

fn milliseconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let (whole, fraction) = (digits(whole)?, digits(fraction)?);
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let whole: i64 = whole.parse().unwrap_or(i64::MAX);
    let thousandths: i64 = thousandths.parse().ok()?;
    Some(whole.saturating_mul(1000).saturating_add(thousandths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_milliseconds() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1755933141", Some(1_755_933_141_000)),
            ("1755933141.5", Some(1_755_933_141_500)),
            ("1755933141.123456", Some(1_755_933_141_123)),
            ("99999999999999999999", Some(i64::MAX)),
            ("", None),
            ("-1", None),
            ("1.", None),
            (".5", None),
            ("1e9", None),
            ("now", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text:?}");
        }
    }

    #[test]
    fn an_endpoint_is_a_host_and_a_port() {
        for (text, expected) in [
            ("127.0.0.1:9092", true),
            ("b-1.cluster.kafka.eu-central-1.amazonaws.com:9098", true),
            ("localhost:1", true),
            ("localhost", false),
            ("localhost:", false),
            ("localhost:0", false),
            ("localhost:65536", false),
            (":9092", false),
            ("a..b:9092", false),
            ("-a:9092", false),
            ("a b:9092", false),
            ("", false),
        ] {
            assert_eq!(is_endpoint(text), expected, "{text:?}");
        }
    }
}
