//! How many records of a batch came to what.

use crate::event::Entry;
use crate::outcome::{Cause, Outcome};

/// Counts the outcomes of one invocation for its summary line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) handled: usize,
    pub(crate) forwarded: usize,
    pub(crate) dead_lettered: usize,
    pub(crate) done_before: usize,
    /// Handed back in the normal course of things: not due, no time, behind another.
    pub(crate) waiting: usize,
    /// Handed back because it failed, to be tried again.
    pub(crate) failed: usize,
    /// Handed back because something is wrong around it.
    pub(crate) faults: usize,
}

impl Tally {
    pub(crate) fn of(outcomes: &[(&Entry, &Outcome)]) -> Self {
        let count =
            |of: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| of(outcome)).count();
        Self {
            handled: count(|outcome| matches!(outcome, Outcome::Handled)),
            forwarded: count(|outcome| matches!(outcome, Outcome::Forwarded)),
            dead_lettered: count(|outcome| matches!(outcome, Outcome::DeadLettered)),
            done_before: count(|outcome| matches!(outcome, Outcome::DoneBefore)),
            waiting: count(|outcome| {
                matches!(
                    outcome,
                    Outcome::HandBack(Cause::NotDue | Cause::NoTime | Cause::KeyBefore)
                )
            }),
            failed: count(|outcome| matches!(outcome, Outcome::HandBack(Cause::Failed(_)))),
            faults: count(
                |outcome| matches!(outcome, Outcome::HandBack(cause) if Cause::is_fault(cause)),
            ),
        }
    }
}
