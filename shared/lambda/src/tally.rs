//! How many records of a batch came to what.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::event::Entry;
use crate::metrics::{Count, Failed, Measured};
use crate::outcome::{Cause, Move, Outcome, Outside};

/// Counts the outcomes of one invocation for its summary line and its metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) handled: u64,
    pub(crate) forwarded: u64,
    pub(crate) dead_lettered: u64,
    pub(crate) done_before: u64,
    /// Handed back in the normal course of things: not due, no time, behind another.
    pub(crate) waiting: u64,
    /// Handed back because it failed, to be tried again.
    pub(crate) failed: u64,
    /// Handed back because something is wrong around it.
    pub(crate) faults: u64,
    causes: BTreeMap<&'static str, u64>,
    failures: BTreeMap<Failed, u64>,
}

impl Tally {
    pub(crate) fn of(outcomes: &[(&Entry, &Outcome)]) -> Self {
        let mut tally = Self::default();
        for (_, outcome) in outcomes {
            tally.add(outcome);
        }
        tally
    }

    fn add(&mut self, outcome: &Outcome) {
        let count = match outcome {
            Outcome::Handled => &mut self.handled,
            Outcome::Forwarded(moved) => {
                one_more(&mut self.failures, moved.into());
                &mut self.forwarded
            }
            Outcome::DeadLettered(moved) => {
                one_more(&mut self.failures, moved.into());
                &mut self.dead_lettered
            }
            Outcome::DoneBefore => &mut self.done_before,
            Outcome::HandBack(cause) => {
                one_more(&mut self.causes, told(cause));
                match cause {
                    Cause::NotDue | Cause::NoTime | Cause::KeyBefore => &mut self.waiting,
                    Cause::Fault(_, _) | Cause::Broken(_) => &mut self.faults,
                    Cause::Failed(failed) => {
                        let failed = Failed {
                            reason: cause.as_str(),
                            class: failed.class.as_str(),
                            code: failed.failure.code.as_str(),
                        };
                        one_more(&mut self.failures, failed);
                        &mut self.failed
                    }
                }
            }
        };
        *count = count.saturating_add(1);
    }

    /// Returns the counts as metrics.
    pub(crate) fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        measured.count(Count::RecordsDone, self.handled);
        measured.count(Count::RecordsForwarded, self.forwarded);
        measured.count(Count::RecordsDeadLettered, self.dead_lettered);
        measured.count(Count::RecordsDoneBefore, self.done_before);
        measured.count(Count::RecordsWaiting, self.waiting);
        measured.count(Count::RecordsFailed, self.failed);
        measured.count(Count::RecordsFaulted, self.faults);
        for (failed, many) in &self.failures {
            measured.fail(*failed, *many);
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter();
            let causes = causes.map(|(cause, many)| ((*cause).to_owned(), Value::from(*many)));
            measured.note("hand_backs", causes.collect::<Value>());
        }
        measured
    }
}

impl From<&Move> for Failed {
    fn from(moved: &Move) -> Self {
        Self {
            reason: moved.reason.as_str(),
            class: moved.class.as_str(),
            code: moved.code.as_str(),
        }
    }
}

/// Returns a cause as metrics tell it, which say what is away.
const fn told(cause: &Cause) -> &'static str {
    match cause {
        Cause::Fault(Outside::Broker, _) => "broker",
        Cause::Fault(Outside::Store, _) => "store",
        Cause::NotDue | Cause::NoTime | Cause::KeyBefore | Cause::Failed(_) | Cause::Broken(_) => {
            cause.as_str()
        }
    }
}

fn one_more<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add(1);
}
