//! The pure core of the retry ladder: what becomes of a record, and how it is told.
//!
//! Nothing here does I/O, reads a clock or an environment, or awaits: time, settings and bytes are arguments, and every
//! choice is returned as a value for the shell to act on.

pub mod alert;
pub mod answer;
pub mod counting;
pub mod decide;
pub mod failure;
pub mod headers;
pub mod incident;
pub mod lanes;
pub mod mask;
pub mod origin;
pub mod outgoing;
pub mod record;
pub mod replay;
pub mod span;
pub mod spill;
pub mod stages;

pub use answer::BatchAnswer;
pub use counting::{CountedDecision, Counting, FailedAttempt, decide_counted};
pub use decide::{Decision, Forward, Reason, decide};
pub use failure::{DlqReason, ErrorClass, ErrorCode, Failure, Verdict};
pub use headers::{Header, Headers};
pub use incident::Incident;
pub use mask::Masker;
pub use origin::Origin;
pub use outgoing::Outgoing;
pub use record::{Coordinates, Offset, Partition, Record, Timestamp, Topic, digits};
pub use span::Span;
pub use stages::{Stage, Stages, due_at};
