//! What happens in a run, made into lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pipeline::Span;
use serde_json::Value;
use tokio::time::Instant;

use super::invocation::{Ended, InvocationLine, Of, Open, OutcomeWord};
use super::plan::Plan;
use super::poison::{PoisonWatch, poisonous};
use super::words::{discarded, reads, summary};
use crate::invoke::Fault;
use crate::mapping::{Answers, BatchVerdict, Progress, Report};

/// Follows the mappings and tells of what they do.
#[derive(Debug)]
pub struct Chronicle {
    mappings: BTreeMap<String, Facts>,
    open: BTreeMap<(Arc<str>, u64), Open>,
    poison: PoisonWatch,
    joined: BTreeSet<Arc<str>>,
    ignored: BTreeSet<Arc<str>>,
    troubles: BTreeSet<(Arc<str>, String)>,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// An invocation is over.
    Invocation(Box<InvocationLine>),
    /// Something that is as it must be.
    Note(String),
    /// Something that a person should know.
    Loud(String),
}

/// What must be known of a mapping.
#[derive(Debug)]
struct Facts {
    function: String,
    topic: String,
    delay: Duration,
    answers: Answers,
}

impl InvocationLine {
    /// Returns a summary for people, on one line.
    pub fn summary(&self) -> String {
        summary(self)
    }

    /// Tells whether everything is done.
    pub fn is_done(&self) -> bool {
        self.outcome == OutcomeWord::Done
    }
}

impl Chronicle {
    /// Follows the mappings of a plan.
    pub fn new(plan: &Plan) -> Self {
        let delays = plan.delays();
        let facts = plan.mappings().map(|(function, mapping)| {
            let delay = delays.get(&mapping.topic).copied();
            let facts = Facts {
                function: function.id.clone(),
                topic: mapping.topic.to_string(),
                delay: delay.map_or(Duration::ZERO, Span::to_duration),
                answers: mapping.answers,
            };
            (mapping.name.clone(), facts)
        });
        Self {
            mappings: facts.collect(),
            open: BTreeMap::new(),
            poison: PoisonWatch::default(),
            joined: BTreeSet::new(),
            ignored: BTreeSet::new(),
            troubles: BTreeSet::new(),
        }
    }

    /// Returns the mappings that have never been members of their groups.
    pub fn not_joined(&self) -> Vec<&str> {
        let names = self.mappings.keys().map(String::as_str);
        names.filter(|name| !self.joined.contains(*name)).collect()
    }

    /// Takes in a step of a mapping and returns what there is to tell.
    pub fn take(&mut self, report: &Report, now: Instant) -> Vec<Told> {
        let mapping = &report.mapping;
        let Some(facts) = self.mappings.get(&**mapping) else {
            return Vec::new();
        };
        let topic = &facts.topic;
        let loud = |text: String| vec![Told::Loud(format!("{mapping}: {text}"))];
        match &report.progress {
            Progress::Assigned(partitions) => {
                self.joined.insert(Arc::clone(mapping));
                let note = format!("{mapping}: {}", reads(topic, partitions));
                self.of(mapping)
                    .for_each(|(_, open)| open.give_up_commits());
                let mut told = self.over(mapping);
                told.push(Told::Note(note));
                told
            }
            Progress::Delivered { invocation, parts } => {
                self.troubles.retain(|(of, _)| of != mapping);
                let (topic, delay) = (topic.clone(), facts.delay);
                let poison = parts
                    .iter()
                    .filter(|part| self.poison.delivered(mapping, part, delay, now));
                let told = poison
                    .map(|part| Told::Loud(poisonous(&topic, part)))
                    .collect();
                self.open
                    .insert((Arc::clone(mapping), *invocation), Open::new(parts.clone()));
                told
            }
            Progress::Answered {
                invocation,
                took,
                verdict,
                answer,
                commits,
            } => {
                let ignored = facts.answers == Answers::Ignored
                    && *verdict == BatchVerdict::AllDone
                    && answer.as_deref().is_some_and(lists_failures)
                    && self.ignored.insert(Arc::clone(mapping));
                let ended = Ended {
                    took: *took,
                    verdict: verdict.clone(),
                    answer: answer.clone(),
                    awaited: commits.iter().copied().collect(),
                    committed: BTreeMap::new(),
                };
                if let Some(open) = self.open.get_mut(&(Arc::clone(mapping), *invocation)) {
                    if !has_reached(verdict) {
                        let parts = open.parts().iter();
                        parts.for_each(|part| self.poison.not_reached(mapping, part));
                    }
                    open.end(ended);
                }
                let mut told = self.over(mapping);
                if ignored {
                    told.extend(loud(
                        "the answer lists records that are not done, and the mapping has no ReportBatchItemFailures: THEY COUNT AS DONE".to_owned(),
                    ));
                }
                told
            }
            Progress::Committed { partition, offset } => {
                self.of(mapping)
                    .for_each(|(_, open)| open.commit(*partition, *offset));
                self.over(mapping)
            }
            Progress::Waiting { .. } => Vec::new(),
            Progress::Lost(partition) => loud(format!(
                "{topic}-{partition} was taken away during the invocation, so that its answer counts for nothing"
            )),
            Progress::Recreated => loud(format!(
                "topic {topic} was deleted and created again: it is read from its first record, and what was read of the old one is dropped"
            )),
            Progress::Gone {
                partition,
                committed,
                oldest,
            } => loud(format!(
                "the committed offset {committed} of {topic}-{partition} is not there any more: it is read from its oldest record, offset {oldest}"
            )),
            Progress::Discarded { record, reason } => loud(format!(
                "DISCARDED offset {} of {topic}-{}, which is gone for good: {}",
                record.offset,
                record.partition,
                discarded(*reason)
            )),
            Progress::HeadersLost { record, headers } => loud(format!(
                "offset {} of {topic}-{} has {headers} headers whose names are not UTF-8; they were delivered as {{}}",
                record.offset, record.partition
            )),
            Progress::Trouble(text) => {
                let told = loud(text.clone());
                // Several take turns while a broker is away; each is told once.
                let new = self.troubles.insert((Arc::clone(mapping), text.clone()));
                if new { told } else { Vec::new() }
            }
        }
    }

    /// Returns the lines of invocations that ended and whose offsets nobody waits for any more, now that all is over.
    pub fn rest(&mut self) -> Vec<Told> {
        self.open.values_mut().for_each(Open::give_up_commits);
        let mappings: Vec<Arc<str>> = self
            .mappings
            .keys()
            .map(|name| name.as_str().into())
            .collect();
        mappings
            .iter()
            .flat_map(|mapping| self.over(mapping))
            .collect()
    }

    fn of(&mut self, mapping: &Arc<str>) -> impl Iterator<Item = (&(Arc<str>, u64), &mut Open)> {
        let of_mapping = (Arc::clone(mapping), 0)..=(Arc::clone(mapping), u64::MAX);
        self.open.range_mut(of_mapping)
    }

    /// Takes out what is over, in the order of the invocations.
    fn over(&mut self, mapping: &Arc<str>) -> Vec<Told> {
        let over: Vec<u64> = self
            .of(mapping)
            .filter(|(_, open)| open.is_over())
            .map(|((_, invocation), _)| *invocation)
            .collect();
        let Some(facts) = self.mappings.get(&**mapping) else {
            return Vec::new();
        };
        let line = |invocation| {
            let open = self.open.remove(&(Arc::clone(mapping), invocation))?;
            open.line(Of {
                mapping,
                function: &facts.function,
                topic: &facts.topic,
                invocation,
            })
        };
        let lines = over.into_iter().filter_map(line);
        lines.map(|line| Told::Invocation(Box::new(line))).collect()
    }
}

/// Tells whether the function got the event.
fn has_reached(verdict: &BatchVerdict) -> bool {
    match verdict {
        BatchVerdict::Failed(Fault::Init(_)) => false,
        BatchVerdict::Failed(fault) => fault.is_of_function(),
        BatchVerdict::AllDone | BatchVerdict::HandedBack(_) | BatchVerdict::Malformed(_) => true,
    }
}

/// Tells whether an answer lists records that are not done.
fn lists_failures(answer: &[u8]) -> bool {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let failures = answer.get("batchItemFailures").and_then(Value::as_array);
    failures.is_some_and(|failures| !failures.is_empty())
}

#[cfg(test)]
mod tests;
