//! Brokers for local use.

mod embedded;

pub use embedded::{Cluster, EmbeddedBroker};
