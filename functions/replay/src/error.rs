//! Why an invocation fails as a whole.

use lambda_runtime::Diagnostic;
use pipeline::Masker;
use pipeline::replay::InvalidReplay;

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
}

impl ReplayError {
    /// Returns the `errorType` of the invocation.
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::Source(SourceError::NoSuchTopic(_)) => "InvalidReplay",
            Self::Source(SourceError::Fault(_)) => "BrokerFault",
        }
    }
}

impl From<ReplayError> for Diagnostic {
    fn from(error: ReplayError) -> Self {
        let message = match &error {
            ReplayError::Source(SourceError::NoSuchTopic(_)) => format!("from_topic: {error}"),
            ReplayError::Invalid(_) | ReplayError::Source(SourceError::Fault(_)) => {
                error.to_string()
            }
        };
        Self {
            error_type: error.error_type().to_owned(),
            // What a caller writes into a wrong field is told back, and logged by the runtime.
            error_message: Masker::default().text(&message),
        }
    }
}
