//! Lines of CloudWatch's embedded metric format. Source: AWS, "Specification: Embedded metric format".

use std::collections::BTreeMap;

use pipeline::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::measured::Measured;
use super::name::{BY_FAILURE, BY_FUNCTION, Count, Dimension, FAILURES, NAMESPACE, Time};

/// How many values one metric of one document may have.
pub(super) const MOST_VALUES: usize = 100;

/// How many metrics one document may define.
pub(super) const MOST_METRICS: usize = 100;

// The names are a closed set: together they fit into one document.
const _: () = assert!(Count::ALL.len() <= MOST_METRICS - Time::ALL.len());

/// One line: a JSON object that says which of its members are metrics, and by which they are told apart.
struct Document<'a> {
    now: Timestamp,
    heading: Heading<'a>,
    sets: &'a [&'a [Dimension]],
    dimensions: Vec<(Dimension, &'a str)>,
    notes: &'a BTreeMap<&'static str, Value>,
    counts: Vec<(&'static str, u64)>,
    times: Vec<(&'static str, &'a [i64])>,
}

/// How a line reads among the logs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading<'a> {
    /// The level, as logs write it.
    pub level: &'static str,
    /// The message.
    pub message: &'a str,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metadata<'a> {
    timestamp: i64,
    cloud_watch_metrics: [Directive<'a>; 1],
}

#[derive(serde::Serialize)]
#[serde(rename_all = "PascalCase")]
struct Directive<'a> {
    namespace: &'static str,
    dimensions: &'a [&'a [Dimension]],
    metrics: Vec<Metric>,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "PascalCase")]
struct Metric {
    name: &'static str,
    unit: &'static str,
}

/// Writes what a function measured by `now`: one line with everything that has the function as its only dimension, more where a
/// metric has more values than a line may hold, and one for each kind of failure.
pub(super) fn lines(
    function: &str,
    heading: Heading<'_>,
    now: Timestamp,
    measured: &Measured,
) -> Vec<String> {
    let document = |sets, more: &[(Dimension, &'static str)]| {
        let function = (Dimension::Function, function);
        Document {
            now,
            heading,
            sets,
            dimensions: [function].into_iter().chain(more.iter().copied()).collect(),
            notes: measured.notes(),
            counts: Vec::new(),
            times: Vec::new(),
        }
    };
    let mut documents = Vec::new();
    let mut counts = named(measured.counts());
    for nth in 0.. {
        let times: Vec<_> = measured
            .times()
            .iter()
            .filter_map(|(time, values)| Some((time.name(), values.chunks(MOST_VALUES).nth(nth)?)))
            .collect();
        if counts.is_empty() && times.is_empty() {
            break;
        }
        documents.push(Document {
            counts: std::mem::take(&mut counts),
            times,
            ..document(BY_FUNCTION, &[])
        });
    }
    documents.extend(measured.failures().iter().map(|(failed, many)| Document {
        counts: vec![(FAILURES, *many)],
        ..document(
            BY_FAILURE,
            &[
                (Dimension::Reason, failed.reason),
                (Dimension::ErrorClass, failed.class),
                (Dimension::ErrorCode, failed.code),
            ],
        )
    }));
    let written = documents.iter().map(serde_json::to_string);
    // Every key is a string and every value a plain one, so each of them can be written.
    written.filter_map(Result::ok).collect()
}

fn named(counts: &BTreeMap<Count, u64>) -> Vec<(&'static str, u64)> {
    counts
        .iter()
        .map(|(count, many)| (count.name(), *many))
        .collect()
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(None)?;
        // What a person reads comes first.
        members.serialize_entry("level", self.heading.level)?;
        members.serialize_entry("message", self.heading.message)?;
        members.serialize_entry("_aws", &self.metadata())?;
        for (dimension, value) in &self.dimensions {
            members.serialize_entry(dimension, value)?;
        }
        for (name, value) in self.notes {
            members.serialize_entry(name, value)?;
        }
        for (name, many) in &self.counts {
            members.serialize_entry(name, many)?;
        }
        for (name, values) in &self.times {
            members.serialize_entry(name, values)?;
        }
        members.end()
    }
}

impl Document<'_> {
    fn metadata(&self) -> Metadata<'_> {
        let counts = self.counts.iter().map(|(name, _)| (*name, Count::UNIT));
        let times = self.times.iter().map(|(name, _)| (*name, Time::UNIT));
        Metadata {
            timestamp: self.now.millis(),
            cloud_watch_metrics: [Directive {
                namespace: NAMESPACE,
                dimensions: self.sets,
                metrics: counts
                    .chain(times)
                    .map(|(name, unit)| Metric { name, unit })
                    .collect(),
            }],
        }
    }
}
