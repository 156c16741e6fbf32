//! Where dead letters are read, as an argument.

use std::collections::BTreeMap;

use pipeline::replay::{Lane, Progress};
use pipeline::{Coordinates, Offset, Partition, Record, Timestamp, Topic};

/// Opens topics of dead letters.
pub trait DeadLetters: Send + Sync + 'static {
    /// A topic that is being read.
    type Reading: Reading;

    /// Opens a topic and fixes the end of each of its partitions: the last stable offset at this moment.
    fn open(
        &self,
        topic: &Topic,
    ) -> impl Future<Output = Result<Self::Reading, SourceError>> + Send;
}

/// Reads a topic up to its fixed ends.
pub trait Reading: Send {
    /// Returns for each partition the first offset that it still holds and its fixed end.
    fn held(&self) -> BTreeMap<Partition, Lane>;

    /// Returns the partitions whose end an open transaction holds back.
    fn held_back(&self) -> Vec<Partition>;

    /// Returns what a consumer group has committed of the topic; a partition of which it has committed nothing is absent.
    fn committed_by(
        &self,
        group: &str,
    ) -> impl Future<Output = Result<BTreeMap<Partition, Offset>, SourceError>> + Send;

    /// Returns for each partition the first offset whose record is of this time or later; a partition that has none, or cannot tell, is absent.
    fn first_since(
        &mut self,
        since: Timestamp,
    ) -> impl Future<Output = Result<BTreeMap<Partition, Offset>, SourceError>> + Send;

    /// Starts to read what is left of each partition.
    fn start_at(&mut self, left: &Progress)
    -> impl Future<Output = Result<(), SourceError>> + Send;

    /// Reads the next records, at most [`Chunk::MOST`] and only so many bytes as memory bears, until `until` is over.
    ///
    /// An empty chunk says nothing about the end: only positions do.
    fn next_chunk(
        &mut self,
        until: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = Result<Chunk, SourceError>> + Send;
}

/// A few records of several partitions, and how far reading them has come.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// What was read, each partition in order.
    pub entries: Vec<Entry>,
    /// The position of each partition after it: past gaps and transaction markers too.
    pub positions: BTreeMap<Partition, Offset>,
}

/// One dead letter.
#[derive(Clone, Debug)]
pub enum Entry {
    /// It was read whole.
    Record(Record),
    /// Its headers cannot be read.
    Unreadable {
        /// Where it is.
        at: Coordinates,
        /// When it died.
        time: Timestamp,
    },
}

impl Chunk {
    /// How many records a chunk holds at most.
    pub const MOST: usize = 500;
}

impl Entry {
    /// Returns where the dead letter is.
    pub const fn at(&self) -> &Coordinates {
        match self {
            Self::Record(record) => &record.coordinates,
            Self::Unreadable { at, .. } => at,
        }
    }
}

/// Says why dead letters cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The broker knows no such topic.
    #[error("topic {0} does not exist")]
    NoSuchTopic(Topic),
    /// The broker is away or refuses us. Names the brokers and the authentication mode.
    #[error("{0}")]
    Fault(String),
}
