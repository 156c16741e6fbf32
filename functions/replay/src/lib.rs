//! Dead letters back to the main topic: an operator's tool, bounded in memory and time.
//!
//! The rules (what is asked, what is selected, how a record goes back, what is counted) are `pipeline::replay`; here is what reads and produces.

#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::significant_drop_tightening,
        reason = "tests count on small numbers and hold locks for as long as they read"
    )
)]

mod account;
mod check;
mod chunk;
mod course;
pub mod dead_letters;
mod error;
mod journal;
pub mod kafka_topic;
mod lease;
mod ledger;
mod measured;
mod pace;
mod planning;
mod run;
mod serve;
pub mod settings;
pub mod standing;
pub mod store;
mod telling;
#[cfg(test)]
mod tests;

pub use check::checks;
pub use dead_letters::{Chunk, DeadLetters, Entry, Reading, SourceError};
pub use error::ReplayError;
pub use kafka_topic::KafkaTopics;
pub use run::Replay;
pub use serve::serve;
pub use settings::Settings;
pub use standing::Standing;
pub use store::Store;
