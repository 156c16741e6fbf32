//! Invoking a function, and what that comes to.

pub mod endpoint;

use std::time::Duration;

use bytes::Bytes;

pub use self::endpoint::Endpoint;

/// Something that can be invoked with an event: a function of processes started here, or any Lambda endpoint.
pub trait Invoke: Send + Sync + 'static {
    /// Invokes the function with one event and waits for the end of the invocation.
    fn invoke(&self, event: Bytes) -> impl Future<Output = Outcome> + Send;
}

/// How an invocation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function answered with this body.
    Answered(Bytes),
    /// There is no answer.
    Failed(Fault),
}

/// Why an invocation has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The function reported an error itself.
    #[error("the function failed: {error_type}: {message}")]
    Error {
        /// Its `errorType`.
        error_type: String,
        /// Its `errorMessage`.
        message: String,
    },
    /// The process ended before it answered.
    #[error("the function's process ended during the invocation: {0}")]
    Crashed(String),
    /// The time was up, and the process was killed.
    #[error("the invocation timed out after {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The answer was larger than Lambda takes.
    #[error("its answer, or the error that it reports, is larger than 6 MB")]
    AnswerTooLarge,
    /// The process could not be started, or did not get as far as asking for its first invocation.
    #[error("the function did not start: {0}")]
    Init(String),
    /// The endpoint refused the invocation: the status that it answered, and why.
    #[error("the endpoint refused the invocation: {0}")]
    Endpoint(String),
    /// The endpoint takes no more invocations now.
    #[error("the endpoint takes no more invocations now: {0}")]
    Throttled(String),
    /// The endpoint could not be reached, or went away before it answered.
    #[error("the endpoint cannot be reached: {0}")]
    Unreachable(String),
}

impl Fault {
    /// Tells whether the function itself failed; else it was not reached, or nobody knows.
    pub const fn is_of_function(&self) -> bool {
        match self {
            Self::Error { .. }
            | Self::Crashed(_)
            | Self::TimedOut(_)
            | Self::AnswerTooLarge
            | Self::Init(_) => true,
            Self::Endpoint(_) | Self::Throttled(_) | Self::Unreachable(_) => false,
        }
    }
}
