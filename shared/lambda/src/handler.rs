//! The one trait to implement for a pipeline of one's own.

use pipeline::{Record, Timestamp, Verdict};

use crate::metrics::Measured;

/// Handles one record: the part of a stage that is yours.
///
/// A panic is caught and dead-letters the record as `handler.panic`; a handler never produces, commits or answers itself.
pub trait Handler: Send + Sync + 'static {
    /// Handles one record and concludes what to make of it.
    fn handle(
        &self,
        record: &Record,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<Verdict, NoTimeLeft>> + Send;

    /// Returns how long before the deadline the last call may start, in milliseconds: its own time limit, without the time to produce.
    fn call_limit_ms(&self) -> i64;

    /// Returns what it has counted and measured since it was last asked, which is at the end of each invocation.
    fn measured(&self) -> Measured {
        Measured::default()
    }
}

/// What a handler may know of the attempt it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Whether the record was read from a retry stage.
    pub on_retry_stage: bool,
    /// Whether an earlier attempt at this record may have ended with the death of its process.
    pub suspect: bool,
    /// The last moment at which a call to the outside may start.
    pub last_call: Timestamp,
}

/// Says that the invocation ends too soon to start the next call: the record is handed back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTimeLeft;
