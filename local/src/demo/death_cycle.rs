//! The death cycle: an order that nobody can read holds its partition for ever, until it is dead-lettered and one commit frees it.
//!
//! The real programs of `orders` and `dlq` run here. That the first does not dead-letter at first is this demo's doing: it is told to
//! count further than anybody waits.

mod orders;
mod seen;
mod services;
mod story;
mod topics;
mod witness;

pub use self::seen::Seen;
pub use self::story::{DeathCycleSettings, run};
