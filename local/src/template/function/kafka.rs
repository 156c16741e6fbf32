//! A function's Kafka mappings.

use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::Duration;

use super::super::node::{Entry, Kind, Node};
use super::super::place::Place;
use super::super::problem::{Fault, Findings, Found, cut, quoted};
use super::super::resolve::Resolver;
use super::super::resolved::TemplateMapping;
use super::{names, pollers, property, seconds, source};

/// What both kinds of Kafka mapping have.
///
/// Source: SAM developer guide, "MSK" and "SelfManagedKafka".
const COMMON: [&str; 18] = [
    "BatchSize",
    "BisectBatchOnFunctionError",
    "ConsumerGroupId",
    "DestinationConfig",
    "Enabled",
    "FilterCriteria",
    "FunctionResponseTypes",
    "KmsKeyArn",
    "LoggingConfig",
    "MaximumBatchingWindowInSeconds",
    "MaximumRecordAgeInSeconds",
    "MaximumRetryAttempts",
    "MetricsConfig",
    "ProvisionedPollerConfig",
    "SchemaRegistryConfig",
    "SourceAccessConfigurations",
    "StartingPosition",
    "StartingPositionTimestamp",
];

/// What a mapping may have on AWS and the emulator does not do.
const REFUSED: [(&str, &str); 3] = [
    ("DestinationConfig", "on-failure destinations"),
    ("FilterCriteria", "filters"),
    ("SchemaRegistryConfig", "schema registries"),
];

/// What Lambda offers only in provisioned mode.
///
/// Source: AWS Lambda developer guide, "Retry configurations for Kafka" and "Partial batch responses for Kafka".
const PROVISIONED_ONLY: [&str; 4] = [
    "BisectBatchOnFunctionError",
    "FunctionResponseTypes",
    "MaximumRecordAgeInSeconds",
    "MaximumRetryAttempts",
];

/// The two kinds of Kafka mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cluster {
    /// Amazon MSK.
    Msk,
    /// Brokers of one's own.
    SelfManaged,
}

impl Cluster {
    fn of_type(name: &str) -> Option<Self> {
        match name {
            "MSK" => Some(Self::Msk),
            "SelfManagedKafka" => Some(Self::SelfManaged),
            _ => None,
        }
    }

    /// Tells the properties that only this kind has.
    const fn own(self) -> &'static [&'static str] {
        match self {
            Self::Msk => &["Stream", "Topics"],
            Self::SelfManaged => &["KafkaBootstrapServers", "SecretsManagerKmsKeyId", "Topics"],
        }
    }
}

/// Tells, without resolving anything, whether a function may have Kafka mappings.
pub(super) fn may_have_mappings(properties: &Rc<Node>) -> bool {
    let Kind::Map(_) = &properties.kind else {
        return true;
    };
    let Some(events) = properties.get("Events") else {
        return properties
            .fields()
            .is_ok_and(|fields| fields.iter().any(|entry| entry.key.starts_with("Fn::")));
    };
    let Kind::Map(events) = &events.kind else {
        return true;
    };
    events.iter().any(
        |event| match event.value.get("Type").and_then(|kind| kind.literal()) {
            Some(kind) => !names::is_other_event(kind),
            None => true,
        },
    )
}

/// Tells whether the properties of an `AWS::Lambda::EventSourceMapping` are those of a Kafka mapping.
pub(super) fn is_kafka(properties: &Rc<Node>) -> bool {
    let of_kafka = [
        "AmazonManagedKafkaEventSourceConfig",
        "SelfManagedEventSource",
        "SelfManagedKafkaEventSourceConfig",
        "Topics",
    ];
    let arn = properties
        .get("EventSourceArn")
        .and_then(|arn| arn.literal());
    of_kafka.iter().any(|name| properties.get(name).is_some())
        || arn.is_some_and(|arn| arn.contains(":kafka:"))
}

/// Reads the enabled Kafka mappings; none when there are none, and nothing is wrong with any.
pub(super) fn mappings(
    resolver: Resolver<'_>,
    events: &Rc<Node>,
    findings: &mut Findings,
) -> Option<Vec<TemplateMapping>> {
    let events = findings.keep(resolver.entries(events))??;
    let mut mappings = Vec::new();
    let mut wrong = false;
    for Entry {
        key: name,
        value: event,
    } in events
    {
        match findings.keep(kafka_event(resolver, &event)) {
            None => wrong = true,
            Some(None) => {}
            Some(Some(event)) => match event.read(&name, findings) {
                Some(mapping) => mappings.push(mapping),
                None => wrong = true,
            },
        }
    }
    // With something wrong, the rest of the function is read for what else there is to say.
    (wrong || !mappings.is_empty()).then_some(mappings)
}

/// A Kafka event that is enabled.
pub(super) struct Event<'e> {
    pub(super) resolver: Resolver<'e>,
    pub(super) cluster: Cluster,
    pub(super) place: Place,
    pub(super) properties: Vec<Entry>,
}

fn kafka_event<'e>(resolver: Resolver<'e>, event: &Rc<Node>) -> Found<Option<Event<'e>>> {
    let Some(fields) = resolver.entries(event)? else {
        return Ok(None);
    };
    let Some(kind) = property(&fields, "Type") else {
        return Err(Fault::wrong(&event.place, "has no Type"));
    };
    let Some(name) = resolver.text(kind)? else {
        return Err(kind.is_not("a type of event"));
    };
    let Some(cluster) = Cluster::of_type(&name) else {
        if names::is_other_event(&name) {
            return Ok(None);
        }
        let what = format!(
            "{} is none of SAM's types of event; Kafka's are MSK and SelfManagedKafka",
            quoted(&name)
        );
        return Err(Fault::wrong(&kind.place, what));
    };
    if let Some(other) = fields
        .iter()
        .find(|entry| !matches!(&*entry.key, "Type" | "Properties"))
    {
        return Err(Fault::wrong(
            &other.value.place,
            "is nothing that an event has, which is Type and Properties",
        ));
    }
    let Some(node) = property(&fields, "Properties") else {
        return Err(Fault::wrong(&event.place, "has no Properties"));
    };
    let properties = resolver.entries(node)?.unwrap_or_default();
    let place = node.place.clone();
    let enabled = property(&properties, "Enabled").map(|enabled| resolver.flag(enabled));
    let enabled = enabled.transpose()?.flatten().unwrap_or(true);
    Ok(enabled.then_some(Event {
        resolver,
        cluster,
        place,
        properties,
    }))
}

impl Event<'_> {
    pub(super) fn read(self, name: &str, findings: &mut Findings) -> Option<TemplateMapping> {
        let names_fit = self.check_names(findings);
        let Self {
            resolver,
            cluster,
            ref place,
            ref properties,
        } = self;
        let source = match cluster {
            Cluster::Msk => source::msk(resolver, place, properties),
            Cluster::SelfManaged => source::self_managed(resolver, place, properties),
        };
        let source = findings.keep(source);
        let topic = findings.keep(source::topic(resolver, place, properties));
        let group = findings.keep(source::group(resolver, properties));
        let start = source::start(resolver, place, properties, findings);
        // Source: AWS Lambda API reference, `CreateEventSourceMapping`.
        let batch_size = findings.keep(self.whole("BatchSize", 1, 10_000));
        let window = findings.keep(self.whole("MaximumBatchingWindowInSeconds", 0, 300));
        let retries = findings.keep(self.whole("MaximumRetryAttempts", -1, 10_000));
        let max_age = findings.keep(self.max_age());
        let report = findings.keep(self.reports());
        let bisect = findings.keep(self.bisects());
        let config = property(properties, "ProvisionedPollerConfig");
        let pollers = findings.keep(pollers::provisioned(resolver, config));
        if let Some(None) = pollers {
            self.note_standard_mode(findings);
        }
        self.note_limit("MaximumRetryAttempts", retries.flatten(), findings);
        self.note_limit("MaximumRecordAgeInSeconds", max_age.flatten(), findings);
        let batch_size = batch_size?.and_then(|size| usize::try_from(size).ok());
        let without_end =
            |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
        let mapping = TemplateMapping {
            event: name.to_owned(),
            source: source?,
            topic: topic?,
            group: group?,
            start: start?,
            batch_size: batch_size
                .and_then(NonZeroUsize::new)
                .unwrap_or(DEFAULT_BATCH_SIZE),
            window: window?.map(seconds),
            report_batch_item_failures: report?,
            bisect: bisect?,
            retries: without_end(retries?),
            max_age: without_end(max_age?).map(|age| Duration::from_secs(age.into())),
            pollers: pollers?,
        };
        names_fit.then_some(mapping)
    }

    /// Refuses what Kafka mappings do not have, and what the emulator does not do.
    fn check_names(&self, findings: &mut Findings) -> bool {
        let mut fit = true;
        for Entry { key: name, value } in &self.properties {
            let refused = REFUSED.iter().find(|(refused, _)| *refused == &**name);
            let what = if let Some((name, what)) = refused {
                match findings.keep(self.resolver.resolve(value)) {
                    Some(None) => continue,
                    Some(Some(_)) => format!(
                        "{what} are not emulated: take {name} out, or make it AWS::NoValue under a condition that is false here"
                    ),
                    None => {
                        fit = false;
                        continue;
                    }
                }
            } else if COMMON.contains(&&**name) || self.cluster.own().contains(&&**name) {
                continue;
            } else {
                let known: Vec<&str> = COMMON.iter().chain(self.cluster.own()).copied().collect();
                format!(
                    "{} is no property of such a mapping, which has {}",
                    cut(name),
                    known.join(", ")
                )
            };
            findings.wrong(&value.place, what);
            fit = false;
        }
        fit
    }

    fn whole(&self, name: &str, least: i64, most: i64) -> Found<Option<i64>> {
        match property(&self.properties, name) {
            Some(node) => self.resolver.whole(node, least..=most),
            None => Ok(None),
        }
    }

    /// Reads `MaximumRecordAgeInSeconds`: −1, or at least a minute.
    fn max_age(&self) -> Found<Option<i64>> {
        let name = "MaximumRecordAgeInSeconds";
        let age = self.whole(name, -1, 604_800)?;
        match (age, property(&self.properties, name)) {
            (Some(0..60), Some(node)) => Err(Fault::wrong(
                &node.place,
                "is below 60 s, the least that Lambda takes but -1",
            )),
            _ => Ok(age),
        }
    }

    /// Reads `FunctionResponseTypes`.
    fn reports(&self) -> Found<bool> {
        let Some(node) = property(&self.properties, "FunctionResponseTypes") else {
            return Ok(false);
        };
        let types = self.resolver.texts(node)?.unwrap_or_default();
        match types.as_slice() {
            [] => Ok(false),
            [one] if one == "ReportBatchItemFailures" => Ok(true),
            types => {
                let what = format!(
                    "{} is not the one that there is, ReportBatchItemFailures",
                    quoted(&types.join(", "))
                );
                Err(Fault::wrong(&node.place, what))
            }
        }
    }

    fn bisects(&self) -> Found<bool> {
        let node = property(&self.properties, "BisectBatchOnFunctionError");
        let flag = node.map(|node| self.resolver.flag(node));
        Ok(flag.transpose()?.flatten().unwrap_or(false))
    }

    fn note_standard_mode(&self, findings: &mut Findings) {
        for name in PROVISIONED_ONLY {
            let Some(node) = property(&self.properties, name) else {
                continue;
            };
            if let Ok(Some(_)) = self.resolver.resolve(node) {
                findings.note(&node.place, "AWS offers this only in provisioned mode, with a ProvisionedPollerConfig; it is emulated all the same");
            }
        }
    }

    fn note_limit(&self, name: &str, limit: Option<i64>, findings: &mut Findings) {
        if let (Some(0..), Some(node)) = (limit, property(&self.properties, name)) {
            findings.note(&node.place, "records past this limit are discarded, not kept and not dead-lettered: -1 has no limit");
        }
    }
}

/// Lambda's, when `BatchSize` is unset.
const DEFAULT_BATCH_SIZE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);
