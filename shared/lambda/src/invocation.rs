//! How an invocation ends.

use std::num::NonZeroU16;

use pipeline::BatchAnswer;

use crate::check::Checked;
use crate::event::EventError;

/// What an invocation is answered.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Which records are not done.
    Batch(BatchAnswer),
    /// What the function can reach.
    Check(Checked),
}

/// How an invocation says that records are not done: `BATCH_FAILURES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchFailures {
    /// It lists them, for a mapping with `ReportBatchItemFailures`.
    Report,
    /// It fails, for a mapping that ignores the answer and would lose them.
    Raise,
}

impl std::str::FromStr for BatchFailures {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "report" => Ok(Self::Report),
            "raise" => Ok(Self::Raise),
            _ => Err("neither `report` nor `raise`"),
        }
    }
}

/// Why an invocation fails, which makes Lambda deliver its whole batch again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvocationError {
    /// The event is none of Lambda's for Kafka.
    #[error(transparent)]
    Event(#[from] EventError),
    /// No call can ever be made within the function's time.
    #[error(
        "the function's timeout leaves {left_ms} ms, and no call may start with less than {needed_ms} ms left: its own limit \
         (GATEWAY_TIMEOUT for the provider) and 5 s to conclude; raise the function's timeout or lower that limit"
    )]
    TimeoutTooShort {
        /// What is left of the invocation at its start, in milliseconds.
        left_ms: i64,
        /// What one call needs, in milliseconds.
        needed_ms: i64,
    },
    /// Records are handed back, and the mapping would ignore a list of them.
    #[error(
        "{count} of {of} records are handed back (BATCH_FAILURES=raise); the first because {first}"
    )]
    HandedBack {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
        /// Why the first.
        first: String,
    },
    /// An entry that is not done has no offset to be listed by.
    #[error("an entry of the event without partition and offset is not done, because {0}")]
    Unnamed(String),
}

impl InvocationError {
    /// Returns the error's name for Lambda's `errorType`.
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Event(EventError::Check(_)) => "InvalidCheck",
            Self::Event(
                EventError::NotJson { .. }
                | EventError::NotAnObject
                | EventError::NoRecords
                | EventError::RecordsNotAnObject,
            ) => "InvalidEvent",
            Self::TimeoutTooShort { .. } => "TimeoutTooShort",
            Self::HandedBack { .. } => "RecordsHandedBack",
            Self::Unnamed(_) => "EntryNotDone",
        }
    }
}

/// Reads `CONCURRENCY`: how many records run at once, 1 to 1,000.
pub fn concurrency(text: &str) -> Result<NonZeroU16, &'static str> {
    text.parse::<u16>()
        .ok()
        .and_then(NonZeroU16::new)
        .filter(|width| width.get() <= 1_000)
        .ok_or("not a whole number from 1 to 1000")
}
