//! The Lambda edge: events in, answers out, and the loop that runs a batch of one stage between them.
//!
//! Broker, object store, clock, marker directory and handler are arguments of the loop, so that a simulation can drive it.

pub mod broker;
pub mod clock;
pub mod deadline;
pub mod event;
pub mod handler;
pub mod incidents;
pub mod objects;
pub mod settings;

pub use broker::{Broker, ProduceError};
pub use clock::{Clock, SystemClock};
pub use deadline::Deadline;
pub use event::{Entry, Event, EventError, Undecodable};
pub use handler::{Attempt, Handler, NoTimeLeft};
pub use incidents::{Incidents, Recorded};
pub use objects::{Objects, Put, StoreFault};
pub use settings::{SettingsError, SettingsReader};
