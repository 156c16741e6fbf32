//! For how long an answer is held after a fault, so that redelivery does not spin.

use std::sync::{Mutex, PoisonError};

use crate::outcome::Outcome;

/// The longest hold, in milliseconds.
const LONGEST_MS: i64 = 30_000;

/// After so many doublings of a second the longest hold is reached.
const MOST_DOUBLINGS: u32 = 5;

/// Counts the invocations in a row that met a fault: 1, 2, 4 … 30 s while they last.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    faults_in_a_row: Mutex<u32>,
}

impl Hold {
    /// Returns for how long the answer to these outcomes is held, in milliseconds; 0 when none of them is a fault.
    pub(crate) fn after<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> i64 {
        let fault = outcomes
            .into_iter()
            .any(|outcome| matches!(outcome, Outcome::HandBack(cause) if cause.is_fault()));
        let before = {
            let mut in_a_row = self
                .faults_in_a_row
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let next = if fault {
                in_a_row.saturating_add(1).min(MOST_DOUBLINGS)
            } else {
                0
            };
            std::mem::replace(&mut *in_a_row, next)
        };
        if fault {
            1_000_i64
                .checked_shl(before)
                .unwrap_or(LONGEST_MS)
                .min(LONGEST_MS)
        } else {
            0
        }
    }
}
