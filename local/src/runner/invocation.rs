//! One invocation, from its delivery to its commits, as a line of JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use pipeline::{Offset, Partition};
use serde::Serialize;
use serde_json::Value;

use crate::invoke::Fault;
use crate::mapping::{BatchVerdict, Portion};

/// What is told of an invocation once it is over: its answer counts, and what it moves is committed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InvocationLine {
    /// The mapping: `<function>.<event>`.
    pub mapping: String,
    /// The function's logical ID.
    pub function: String,
    /// The topic.
    pub topic: String,
    /// Counts the mapping's invocations, from 1.
    pub invocation: u64,
    /// What the event held of each partition.
    pub partitions: Vec<PartitionLine>,
    /// How long the invocation took.
    pub took_ms: u64,
    /// What it came to.
    pub outcome: OutcomeWord,
    /// The answer, where there is one: its JSON, or its text where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Why it was no success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many records were handed back.
    #[serde(skip)]
    pub handed_back: usize,
}

/// What an event held of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionLine {
    /// Its number.
    pub partition: i32,
    /// The first offset.
    pub first_offset: i64,
    /// The last offset.
    pub last_offset: i64,
    /// How many records.
    pub records: usize,
    /// How often the first of them has been delivered in a row.
    pub delivery: u32,
    /// The next offset to read, as the broker has it because of this invocation; null when the offset did not move.
    pub committed: Option<i64>,
}

/// What an invocation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeWord {
    /// Every record is done, or the mapping takes any answer for that.
    Done,
    /// Some records were handed back.
    Partial,
    /// The answer makes no sense.
    Malformed,
    /// The function reported an error.
    Error,
    /// Its process ended.
    Crashed,
    /// Its time was up.
    TimedOut,
    /// The answer was larger than Lambda takes.
    TooLarge,
    /// It did not start.
    Init,
    /// The endpoint was away, or refused the invocation.
    Unreachable,
}

/// An invocation that is not over yet.
#[derive(Clone, Debug)]
pub(super) struct Open {
    parts: Vec<Portion>,
    ended: Option<Ended>,
}

/// How an invocation ended, and which offsets are on their way because of it.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) took: Duration,
    pub(super) verdict: BatchVerdict,
    pub(super) answer: Option<Bytes>,
    pub(super) awaited: BTreeMap<Partition, Offset>,
    pub(super) committed: BTreeMap<Partition, Offset>,
}

/// What every line of a mapping begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of<'a> {
    pub(super) mapping: &'a str,
    pub(super) function: &'a str,
    pub(super) topic: &'a str,
    pub(super) invocation: u64,
}

impl Open {
    pub(super) const fn new(parts: Vec<Portion>) -> Self {
        Self { parts, ended: None }
    }

    pub(super) fn parts(&self) -> &[Portion] {
        &self.parts
    }

    pub(super) fn end(&mut self, ended: Ended) {
        self.ended = Some(ended);
    }

    /// Notes that the broker has an offset; one that is further on covers those before it.
    pub(super) fn commit(&mut self, partition: Partition, offset: Offset) {
        let Some(ended) = &mut self.ended else { return };
        if let Some(awaited) = ended.awaited.get(&partition).copied()
            && awaited <= offset
        {
            ended.awaited.remove(&partition);
            ended.committed.insert(partition, awaited);
        }
    }

    /// Gives up offsets that are on their way: whoever reads the partitions now has them.
    pub(super) fn give_up_commits(&mut self) {
        if let Some(ended) = &mut self.ended {
            ended.awaited.clear();
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended
            .as_ref()
            .is_some_and(|ended| ended.awaited.is_empty())
    }

    /// Returns the line of an invocation that is over; `None` while it runs.
    pub(super) fn line(self, of: Of<'_>) -> Option<InvocationLine> {
        let ended = self.ended?;
        let partitions = self.parts.iter().map(|part| PartitionLine {
            partition: part.partition.get(),
            first_offset: part.first.get(),
            last_offset: part.last.get(),
            records: part.records,
            delivery: part.delivery,
            committed: ended.committed.get(&part.partition).map(|next| next.get()),
        });
        let (outcome, error) = word(&ended.verdict);
        Some(InvocationLine {
            mapping: of.mapping.to_owned(),
            function: of.function.to_owned(),
            topic: of.topic.to_owned(),
            invocation: of.invocation,
            partitions: partitions.collect(),
            took_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
            outcome,
            answer: ended.answer.as_deref().map(answer),
            error,
            handed_back: match ended.verdict {
                BatchVerdict::HandedBack(records) => records,
                BatchVerdict::AllDone | BatchVerdict::Malformed(_) | BatchVerdict::Failed(_) => 0,
            },
        })
    }
}

fn answer(body: &[u8]) -> Value {
    serde_json::from_slice(body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

fn word(verdict: &BatchVerdict) -> (OutcomeWord, Option<String>) {
    let fault = match verdict {
        BatchVerdict::AllDone => return (OutcomeWord::Done, None),
        BatchVerdict::HandedBack(_) => return (OutcomeWord::Partial, None),
        BatchVerdict::Malformed(problem) => {
            return (OutcomeWord::Malformed, Some(problem.clone()));
        }
        BatchVerdict::Failed(fault) => fault,
    };
    let word = match fault {
        Fault::Error { .. } => OutcomeWord::Error,
        Fault::Crashed(_) => OutcomeWord::Crashed,
        Fault::TimedOut(_) => OutcomeWord::TimedOut,
        Fault::AnswerTooLarge => OutcomeWord::TooLarge,
        Fault::Init(_) => OutcomeWord::Init,
        Fault::Endpoint(_) | Fault::Throttled(_) | Fault::Unreachable(_) => {
            OutcomeWord::Unreachable
        }
    };
    (word, Some(fault.to_string()))
}
