//! A reader of one topic with a fixed end, for replay.

mod chunk;
mod error;
mod exact;
mod offsets;
mod progress;
mod reading;
mod record;

use std::collections::BTreeMap;
use std::fmt;

use pipeline::{Offset, Partition, Timestamp, Topic};
use rdkafka::Offset as NativeOffset;
use rdkafka::consumer::StreamConsumer;
use rdkafka::error::KafkaError;

pub use chunk::{Chunk, ChunkLimit, Found, Position, Range, Read, Unreadable};
pub use error::ReadError;

use crate::client::Context;
use crate::connection::Connection;
use offsets::Shared;
use progress::Progress;

/// Reads the committed records of a topic up to an end that is fixed when it is opened.
///
/// It joins no consumer group and commits nothing. The end of a partition is its last stable offset: what arrives later is not
/// read. A partition is at its end when its position has passed that offset; offsets without a record (transaction markers, aborted,
/// deleted or compacted records) are passed like others, and an empty poll says nothing.
pub struct Reader {
    topic: Topic,
    connection: Connection,
    context: Context,
    consumer: Shared<StreamConsumer<Context>>,
    ranges: Vec<Range>,
    progress: BTreeMap<Partition, Progress>,
    assigned: bool,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("topic", &self.topic)
            .field("connection", &self.connection)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Finds the partitions of a topic and fixes where each begins and ends. Needs a tokio runtime.
    pub async fn open(connection: &Connection, topic: &Topic) -> Result<Self, ReadError> {
        let context = Context::default();
        let fault = |error: KafkaError| offsets::fault(connection, &context, &error);
        let consumer = offsets::committed(connection, context.clone()).map_err(fault)?;
        let partitions = offsets::partitions(&consumer, topic).await.map_err(fault)?;
        if partitions.is_empty() {
            return Err(ReadError::NoTopic {
                topic: topic.clone(),
                connection: connection.to_string(),
            });
        }
        // Asked in this order, a high watermark above the last stable offset can only come from an open transaction.
        let watching = offsets::uncommitted(connection, context.clone()).map_err(fault)?;
        let highs = offsets::offsets(&watching, topic, &partitions, NativeOffset::End).await;
        let ends = offsets::offsets(&consumer, topic, &partitions, NativeOffset::End).await;
        let starts = offsets::offsets(&consumer, topic, &partitions, NativeOffset::Beginning).await;
        let highs = BTreeMap::from_iter(highs.map_err(fault)?);
        let ends = BTreeMap::from_iter(ends.map_err(fault)?);
        let starts = BTreeMap::from_iter(starts.map_err(fault)?);
        let ranges: Option<Vec<Range>> = partitions
            .iter()
            .map(|partition| {
                let end = Offset::new(*ends.get(partition)?)?;
                let start = Offset::new(*starts.get(partition)?)?;
                let high_watermark = Offset::new(*highs.get(partition)?)?;
                Some(Range {
                    partition: *partition,
                    // Records may be deleted between the two questions.
                    start: start.min(end),
                    end,
                    high_watermark: high_watermark.max(end),
                })
            })
            .collect();
        let ranges = ranges.ok_or_else(|| {
            ReadError::Fault(format!(
                "a partition of {topic} has no offsets ({connection})"
            ))
        })?;
        let progress = ranges
            .iter()
            .map(|range| (range.partition, Progress::new(range)));
        Ok(Self {
            topic: topic.clone(),
            connection: connection.clone(),
            progress: progress.collect(),
            ranges,
            context,
            consumer,
            assigned: false,
        })
    }

    /// Returns the range of each partition, as it was when the reader was opened.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Returns where each partition goes on.
    pub fn positions(&self) -> Vec<Position> {
        let positions = self.progress.iter().filter_map(|(partition, progress)| {
            Some(Position {
                partition: *partition,
                next: Offset::new(progress.next())?,
            })
        });
        positions.collect()
    }

    /// Tells whether every partition has been read to its end.
    pub fn is_at_end(&self) -> bool {
        self.progress.values().all(|progress| progress.is_at_end())
    }

    /// Goes on at an offset of a partition, to resume there; an offset outside the partition's range counts as its nearer border.
    pub fn start_at(&mut self, partition: Partition, offset: Offset) -> Result<(), ReadError> {
        self.progress_of(partition)?.start_at(offset.get());
        self.assigned = false;
        Ok(())
    }

    /// Ends before an offset of a partition, to keep to the end of an earlier run; never after the partition's own end.
    pub fn end_at(&mut self, partition: Partition, offset: Offset) -> Result<(), ReadError> {
        self.progress_of(partition)?.end_at(offset.get());
        self.assigned = false;
        Ok(())
    }

    /// Goes on, in every partition, at the first record of this time or later.
    ///
    /// It may start earlier than that when the broker cannot tell: the caller still has to look at each record's own time.
    pub async fn start_at_time(&mut self, time: Timestamp) -> Result<(), ReadError> {
        let partitions: Vec<Partition> = self.progress.keys().copied().collect();
        let since = self.offsets_at(time, &partitions).await;
        // No answer is either "nothing as late as that" or "I keep no times". A broker that keeps them has a first record of all time.
        let silent = since.iter().filter(|(_, offset)| *offset < 0);
        let silent: Vec<Partition> = silent.map(|(partition, _)| *partition).collect();
        let first = self.offsets_at(Timestamp::from_millis(0), &silent).await;
        for (partition, offset) in since {
            let keeps_times = || {
                first
                    .iter()
                    .any(|(other, first)| *other == partition && *first >= 0)
            };
            let start = if offset >= 0 {
                offset
            } else if keeps_times() {
                i64::MAX
            } else {
                0
            };
            self.progress_of(partition)?.start_at(start);
        }
        self.assigned = false;
        Ok(())
    }

    /// Asks for the first offset of a time; −1 for a partition that has none, and for all when the question fails.
    async fn offsets_at(&self, time: Timestamp, partitions: &[Partition]) -> Vec<(Partition, i64)> {
        let wanted = NativeOffset::Offset(time.millis().max(0));
        let found = offsets::offsets(&self.consumer, &self.topic, partitions, wanted).await;
        found.unwrap_or_else(|error| {
            tracing::debug!(%error, "the broker finds no offsets by time");
            partitions
                .iter()
                .map(|partition| (*partition, -1))
                .collect()
        })
    }

    fn progress_of(&mut self, partition: Partition) -> Result<&mut Progress, ReadError> {
        self.progress
            .get_mut(&partition)
            .ok_or_else(|| ReadError::NoPartition {
                topic: self.topic.clone(),
                partition,
            })
    }
}
