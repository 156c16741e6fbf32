//! Kafka as the functions see it: a producer that says what became of each record, and a reader with a fixed end.
//!
//! No other production crate names rdkafka.

mod client;
mod connection;
mod headers;
pub mod producer;
pub mod reader;

pub use connection::{Auth, Brokers, BrokersError, Connection};
pub use producer::Producer;
pub use reader::{Chunk, ChunkLimit, Found, Position, Range, Read, ReadError, Reader, Unreadable};
