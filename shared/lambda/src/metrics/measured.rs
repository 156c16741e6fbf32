//! What was counted and measured in one invocation.

use std::collections::BTreeMap;

use serde_json::Value;

use super::name::{Count, Time};

/// Gathers what was counted and measured in one invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    counts: BTreeMap<Count, u64>,
    times: BTreeMap<Time, Vec<i64>>,
    failures: BTreeMap<Failed, u64>,
    notes: BTreeMap<&'static str, Value>,
}

/// What failed, and what followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failed {
    /// What followed, as logs write it in the field `reason`.
    pub reason: &'static str,
    /// The class of the error.
    pub class: &'static str,
    /// The code of the error.
    pub code: &'static str,
}

impl Measured {
    /// Counts so many more.
    pub fn count(&mut self, what: Count, many: u64) {
        if many > 0 {
            let count = self.counts.entry(what).or_default();
            *count = count.saturating_add(many);
        }
    }

    /// Measures how long something took, in milliseconds; a clock that was set back makes it 0.
    pub fn time(&mut self, what: Time, ms: i64) {
        self.times.entry(what).or_default().push(ms.max(0));
    }

    /// Counts so many more failures of a kind.
    pub fn fail(&mut self, failed: Failed, many: u64) {
        if many > 0 {
            let count = self.failures.entry(failed).or_default();
            *count = count.saturating_add(many);
        }
    }

    /// Writes something beside the metrics that is no metric and can be searched for; never what a record holds.
    pub fn note(&mut self, name: &'static str, value: impl Into<Value>) {
        self.notes.insert(name, value.into());
    }

    /// Adds what was measured elsewhere.
    pub fn add(&mut self, other: Self) {
        for (what, many) in other.counts {
            self.count(what, many);
        }
        for (what, mut values) in other.times {
            self.times.entry(what).or_default().append(&mut values);
        }
        for (failed, many) in other.failures {
            self.fail(failed, many);
        }
        self.notes.extend(other.notes);
    }

    /// Tells whether there is nothing to tell: notes alone are nothing.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.times.is_empty() && self.failures.is_empty()
    }

    /// Returns how many were counted.
    pub fn counted(&self, what: Count) -> u64 {
        self.counts.get(&what).copied().unwrap_or_default()
    }

    /// Returns how long each took that was measured, in milliseconds.
    pub fn timed(&self, what: Time) -> &[i64] {
        self.times.get(&what).map_or(&[], Vec::as_slice)
    }

    pub(super) const fn counts(&self) -> &BTreeMap<Count, u64> {
        &self.counts
    }

    pub(super) const fn times(&self) -> &BTreeMap<Time, Vec<i64>> {
        &self.times
    }

    pub(super) const fn failures(&self) -> &BTreeMap<Failed, u64> {
        &self.failures
    }

    pub(super) const fn notes(&self) -> &BTreeMap<&'static str, Value> {
        &self.notes
    }
}
