//! The Lambda edge: events in, answers out, and the loop that runs a batch of one stage between them.
//!
//! Broker, object store, clock, marker directory and handler are arguments of the loop, so that a simulation can drive it.

#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        reason = "tests count on small numbers"
    )
)]

pub mod attempts;
pub mod batch;
pub mod broker;
pub mod check;
pub mod clock;
pub mod counting;
pub mod deadline;
pub mod event;
pub mod forwarding;
pub mod gate;
mod handed_back;
pub mod handler;
mod hold;
pub mod incidents;
pub mod invocation;
pub mod log;
pub mod markers;
pub mod memory;
pub mod metrics;
pub mod objects;
pub mod outcome;
pub mod panic;
pub mod serve;
pub mod settings;
#[cfg(test)]
mod sim;
pub mod stage;
pub mod start;
pub mod stop;
mod tally;
pub mod turn;

pub use attempts::Attempts;
pub use batch::{BatchLoop, Step};
pub use broker::{Broker, ProduceError};
pub use check::{Checked, Checks};
pub use clock::{Clock, SystemClock};
pub use counting::CountingStep;
pub use deadline::Deadline;
pub use event::{Entry, Event, EventError, Undecodable};
pub use forwarding::Forwarding;
pub use handler::{Attempt, Handler, NoTimeLeft};
pub use incidents::{Incidents, Recorded};
pub use invocation::{Answer, BatchFailures, InvocationError};
pub use metrics::{Count, Measured, Metrics, Time};
pub use objects::{Objects, Put, StoreFault};
pub use outcome::{Cause, Move, Outcome, Outside};
pub use serve::{serve, serve_batches};
pub use settings::{SettingsError, SettingsReader};
pub use stage::StageStep;
pub use start::start;
pub use stop::Stop;
pub use turn::Turn;
