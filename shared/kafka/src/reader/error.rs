//! Why a topic cannot be read.

use pipeline::{Coordinates, Partition, Topic};

/// Says why a topic cannot be read, or not as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The topic does not exist, or has no partition.
    #[error("topic {topic} does not exist ({connection})")]
    NoTopic {
        /// The topic that was asked for.
        topic: Topic,
        /// The brokers that were asked.
        connection: String,
    },
    /// The topic had no such partition when reading began.
    #[error("topic {topic} has no partition {partition}")]
    NoPartition {
        /// The topic.
        topic: Topic,
        /// The partition that it does not have.
        partition: Partition,
    },
    /// Coordinates name another topic than the one being read.
    #[error("{0} is in another topic than the one that is read")]
    OtherTopic(Coordinates),
    /// The broker is away or refuses us. Names the brokers and the authentication mode.
    #[error("the broker cannot be read from now: {0}")]
    Fault(String),
}
