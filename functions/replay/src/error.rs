//! Why an invocation fails as a whole.

use lambda::StoreFault;
use lambda_runtime::Diagnostic;
use pipeline::replay::{InvalidReplay, LeaseNote};
use pipeline::{Masker, Topic};

use crate::dead_letters::SourceError;

/// Says why a replay did not begin; once it has begun, whatever stops it is told in the answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The payload is wrong; names every wrong field.
    #[error("{0}")]
    Invalid(#[from] InvalidReplay),
    /// The topic of dead letters cannot be read.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// Another run holds the lease of the topic.
    #[error(
        "replay {holder} works on {topic}: try again when it has ended; if it has died, its lease ends {} s after its last sign of life",
        LeaseNote::LIFETIME_MS / 1_000
    )]
    Busy {
        /// The topic of dead letters.
        topic: Topic,
        /// The `replay_id` of the other run.
        holder: String,
    },
    /// The plan is not, or no longer, what there is: nothing was published. Make a new dry run.
    #[error("the plan does not match: {0}")]
    Plan(String),
    /// The store of plans, ledger and lease is away or refuses us.
    #[error("{0}")]
    Store(#[from] StoreFault),
}

impl ReplayError {
    /// Returns the `errorType` of the invocation.
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::Source(SourceError::NoSuchTopic(_)) => "InvalidReplay",
            Self::Source(SourceError::Fault(_)) => "BrokerFault",
            Self::Busy { .. } => "ReplayBusy",
            Self::Plan(_) => "PlanMismatch",
            Self::Store(_) => "StoreFault",
        }
    }
}

impl From<ReplayError> for Diagnostic {
    fn from(error: ReplayError) -> Self {
        let message = match &error {
            ReplayError::Source(SourceError::NoSuchTopic(_)) => format!("from_topic: {error}"),
            ReplayError::Invalid(_)
            | ReplayError::Source(SourceError::Fault(_))
            | ReplayError::Busy { .. }
            | ReplayError::Plan(_)
            | ReplayError::Store(_) => error.to_string(),
        };
        Self {
            error_type: error.error_type().to_owned(),
            // What a caller writes into a wrong field is told back, and logged by the runtime.
            error_message: Masker::default().text(&message),
        }
    }
}
