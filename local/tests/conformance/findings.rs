//! What happened in a run, in the words of the table.

use std::collections::{BTreeMap, BTreeSet};

use local::invoke::Fault;
use local::mapping::{BatchVerdict, Discard, Portion, Progress};

use crate::broker::Offsets;
use crate::row::Row;

/// What happened in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub(crate) deliveries: Vec<String>,
    pub(crate) committed: String,
    pub(crate) discarded: Vec<(String, Discard)>,
    pub(crate) at_once: Option<usize>,
}

/// For each partition of an event, the offsets of its records.
pub(crate) type Event = Vec<(i64, Vec<i64>)>;

impl Findings {
    /// Returns what a row expects, as far as it says.
    pub(crate) fn expected(row: &Row) -> Self {
        let discarded = row.discarded.iter();
        Self {
            deliveries: row.deliveries.iter().map(ToString::to_string).collect(),
            committed: row.committed.to_owned(),
            discarded: discarded
                .map(|(record, reason)| ((*record).to_owned(), *reason))
                .collect(),
            at_once: row.at_once,
        }
    }

    /// Puts together what a mapping reported, what its function was given, and what the group has.
    pub(crate) fn of(progress: &[Progress], mut events: Vec<Event>, committed: &Offsets) -> Self {
        let mut deliveries: BTreeMap<u64, String> = BTreeMap::new();
        let mut findings = Self {
            committed: places(
                committed
                    .iter()
                    .map(|(at, offset)| (*at, offset.to_string())),
            ),
            ..Self::default()
        };
        let not_started: BTreeSet<u64> = progress
            .iter()
            .filter_map(|step| {
                if let Progress::Answered {
                    invocation,
                    verdict: BatchVerdict::Failed(Fault::Init(_)),
                    ..
                } = step
                {
                    Some(*invocation)
                } else {
                    None
                }
            })
            .collect();
        let (mut running, mut most) = (0, 0);
        for step in progress {
            if let Progress::Delivered { invocation, parts } = step {
                let text = if not_started.contains(invocation) {
                    format!("!{}", told(parts))
                } else {
                    delivered(parts, &mut events)
                };
                deliveries.insert(*invocation, text);
                running += 1;
                most = most.max(running);
            } else if let Progress::Answered {
                invocation,
                commits,
                ..
            } = step
            {
                running -= 1;
                let text = deliveries.get_mut(invocation).unwrap();
                if !commits.is_empty() {
                    let commits = commits
                        .iter()
                        .map(|(at, offset)| (at.get(), offset.get().to_string()));
                    *text = format!("{text} > {}", places(commits));
                }
            } else if let Progress::Discarded { record, reason } = step {
                let place = format!("{}:{}", record.partition.get(), record.offset.get());
                findings.discarded.push((place, *reason));
            }
        }
        findings.deliveries = deliveries.into_values().collect();
        findings.at_once = Some(most);
        // An event that no report tells of would be a bug of the emulator, or of this.
        let untold = events.iter().map(|event| format!("untold {event:?}"));
        findings.deliveries.extend(untold);
        findings
    }
}

/// Says what was delivered, with the offsets as they stood in the event.
fn delivered(parts: &[Portion], events: &mut Vec<Event>) -> String {
    let is_of = |event: &Event| {
        event.len() == parts.len()
            && event.iter().zip(parts).all(|((at, offsets), part)| {
                *at == i64::from(part.partition.get())
                    && offsets.len() == part.records
                    && offsets.first() == Some(&part.first.get())
                    && offsets.last() == Some(&part.last.get())
            })
    };
    match events.iter().position(is_of) {
        Some(event) => {
            let event = events.remove(event);
            places(event.iter().map(|(at, offsets)| (*at, ranges(offsets))))
        }
        None => format!("without an event {}", told(parts)),
    }
}

/// Says what was delivered as far as a report tells.
fn told(parts: &[Portion]) -> String {
    places(parts.iter().map(|part| {
        let offsets: Vec<i64> = (part.first.get()..=part.last.get()).collect();
        (part.partition.get(), ranges(&offsets))
    }))
}

fn places<P: ToString>(places: impl Iterator<Item = (P, String)>) -> String {
    let places: Vec<String> = places
        .map(|(partition, offsets)| format!("{}:{offsets}", partition.to_string()))
        .collect();
    places.join(" ")
}

/// Writes offsets as `0-2,4`.
fn ranges(offsets: &[i64]) -> String {
    let runs = offsets.chunk_by(|one, next| one + 1 == *next);
    let runs: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            [one] => one.to_string(),
            [] => String::new(),
        })
        .collect();
    runs.join(",")
}

#[test]
fn offsets_are_written_as_ranges() {
    let check = |offsets: &[i64], expected| assert_eq!(ranges(offsets), expected);
    check(&[0, 1, 2, 4], "0-2,4");
    check(&[3], "3");
    check(&[1, 3], "1,3");
    check(&[], "");
}
