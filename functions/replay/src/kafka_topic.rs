//! Dead letters read from Kafka.

use std::collections::BTreeMap;

use kafka::{ChunkLimit, Connection, Position, Read, ReadError, Reader, Unreadable};
use pipeline::replay::{Lane, Progress};
use pipeline::{Offset, Partition, Timestamp, Topic};

use crate::dead_letters::{Chunk, DeadLetters, Entry, Reading, SourceError};

/// How much is held at a time: a function may have 128 MB in all.
const CHUNK: ChunkLimit = ChunkLimit {
    records: Chunk::MOST,
    bytes: 4 << 20,
};

/// Topics of dead letters in Kafka.
#[derive(Clone, Debug)]
pub struct KafkaTopics {
    connection: Connection,
}

/// A topic of dead letters in Kafka that is being read.
#[derive(Debug)]
pub struct KafkaReading {
    reader: Reader,
}

impl KafkaTopics {
    /// Reads by this connection.
    pub const fn new(connection: Connection) -> Self {
        Self { connection }
    }
}

impl DeadLetters for KafkaTopics {
    type Reading = KafkaReading;

    async fn open(&self, topic: &Topic) -> Result<KafkaReading, SourceError> {
        Ok(KafkaReading {
            reader: Reader::open(&self.connection, topic).await?,
        })
    }
}

impl Reading for KafkaReading {
    fn held(&self) -> BTreeMap<Partition, Lane> {
        let ranges = self.reader.ranges().iter();
        ranges
            .map(|range| {
                let lane = Lane {
                    next: range.start,
                    end: range.end,
                };
                (range.partition, lane)
            })
            .collect()
    }

    fn held_back(&self) -> Vec<Partition> {
        let ranges = self.reader.ranges().iter();
        ranges
            .filter(|range| range.is_held_back())
            .map(|range| range.partition)
            .collect()
    }

    async fn committed_by(&self, group: &str) -> Result<BTreeMap<Partition, Offset>, SourceError> {
        Ok(self.reader.committed_by(group).await?)
    }

    async fn first_since(
        &mut self,
        since: Timestamp,
    ) -> Result<BTreeMap<Partition, Offset>, SourceError> {
        self.reader.start_at_time(since).await?;
        Ok(positions(self.reader.positions()))
    }

    async fn start_at(&mut self, left: &Progress) -> Result<(), SourceError> {
        let left: BTreeMap<Partition, Lane> = left.left().collect();
        let ranges = self.reader.ranges().to_vec();
        for range in ranges {
            // A partition of which nothing is left ends where it begins.
            let (next, end) = left
                .get(&range.partition)
                .map_or((range.start, range.start), |lane| (lane.next, lane.end));
            self.reader.end_at(range.partition, end)?;
            self.reader.start_at(range.partition, next)?;
        }
        Ok(())
    }

    async fn next_chunk(
        &mut self,
        until: impl Future<Output = ()> + Send,
    ) -> Result<Chunk, SourceError> {
        let chunk = self.reader.next_chunk(CHUNK, until).await?;
        Ok(Chunk {
            entries: chunk.records.into_iter().map(Entry::from).collect(),
            positions: positions(chunk.positions),
        })
    }
}

fn positions(list: Vec<Position>) -> BTreeMap<Partition, Offset> {
    list.into_iter()
        .map(|position| (position.partition, position.next))
        .collect()
}

impl From<Read> for Entry {
    fn from(read: Read) -> Self {
        match read {
            Read::Record(record) => Self::Record(record),
            Read::Unreadable(Unreadable {
                coordinates,
                timestamp,
                why: _,
            }) => Self::Unreadable {
                at: coordinates,
                time: timestamp,
            },
        }
    }
}

impl From<ReadError> for SourceError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoTopic { topic, .. } => Self::NoSuchTopic(topic),
            ReadError::NoPartition { .. } | ReadError::OtherTopic(_) | ReadError::Fault(_) => {
                Self::Fault(error.to_string())
            }
        }
    }
}
