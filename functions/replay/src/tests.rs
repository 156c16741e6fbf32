//! Whole runs: over dead letters in memory, in moved time, and over Kafka's protocol.

mod deadline;
mod fault;
mod kafka;
mod lease;
mod ledger;
mod measured;
mod plan;
mod rate;
mod refusal;
mod resume;
mod selection;
mod store_faults;
mod world;
