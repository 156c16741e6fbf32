//! What came of one record in one invocation.

use std::fmt;

use pipeline::{ErrorClass, ErrorCode, FailedAttempt, Forward, Reason};

/// What came of one record in one invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is handled.
    Handled,
    /// It is in the next retry topic, acknowledged by the broker.
    Forwarded(Move),
    /// It is in the dead-letter topic, acknowledged by the broker, or spilled.
    DeadLettered(Move),
    /// An earlier invocation, which did not end clean, had done it.
    DoneBefore,
    /// It is not done: its offset stays.
    HandBack(Cause),
}

/// Why a record went to another topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// What made it go there.
    pub reason: Reason,
    /// The class of the error.
    pub class: ErrorClass,
    /// The code of the error.
    pub code: ErrorCode,
}

impl From<&Forward> for Move {
    fn from(forward: &Forward) -> Self {
        Self {
            reason: forward.reason(),
            class: forward.class(),
            code: forward.failure().code,
        }
    }
}

/// Why a record is handed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is not due before this invocation must answer.
    NotDue,
    /// Too little time is left to start on it.
    NoTime,
    /// An earlier record of its key was handed back.
    KeyBefore,
    /// It failed, and is tried again as it has not failed often enough to be dead-lettered.
    Failed(FailedAttempt),
    /// The broker or the object store is away or refuses us.
    Fault(Outside, String),
    /// Our own fault: no stage reads its topic, or a part of ours panicked.
    Broken(String),
}

/// What is away or refuses us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The broker.
    Broker,
    /// The object store.
    Store,
}

impl Cause {
    /// Returns the cause as logs write it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotDue => "not-due",
            Self::NoTime => "no-time",
            Self::KeyBefore => "key-before",
            Self::Failed(_) => "failed",
            Self::Fault(_, _) => "fault",
            Self::Broken(_) => "broken",
        }
    }

    /// Tells whether redelivery at once would only fail again, so that the answer is held for a while.
    pub const fn is_fault(&self) -> bool {
        match self {
            Self::Fault(_, _) | Self::Broken(_) => true,
            Self::NotDue | Self::NoTime | Self::KeyBefore | Self::Failed(_) => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDue => f.write_str("it is not due yet"),
            Self::NoTime => f.write_str("too little time is left to start on it"),
            Self::KeyBefore => f.write_str("an earlier record of its key was handed back"),
            Self::Failed(failed) => failed.fmt(f),
            Self::Fault(_, fault) | Self::Broken(fault) => f.write_str(fault),
        }
    }
}
