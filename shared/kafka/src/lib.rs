//! Kafka as the functions see it: a producer that says what became of each record, a reader with a fixed end, and how both make
//! themselves known to the brokers.
//!
//! No other production crate names rdkafka.

mod auth;
mod brokers;
mod client;
mod connection;
mod headers;
mod obstacle;
pub mod producer;
mod reach;
pub mod reader;

pub use auth::{Auth, Iam, Scram, Trust, TrustError};
pub use brokers::{Brokers, BrokersError};
pub use connection::Connection;
pub use producer::Producer;
pub use reader::{Chunk, ChunkLimit, Found, Position, Range, Read, ReadError, Reader, Unreadable};
