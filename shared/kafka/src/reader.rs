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

use lambda::{Clock, SystemClock};
use pipeline::{Offset, Partition, Timestamp, Topic};
use rdkafka::Offset as NativeOffset;
use rdkafka::consumer::StreamConsumer;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};

pub use chunk::{Chunk, ChunkLimit, Found, Position, Range, Read, Unreadable};
pub use error::ReadError;

use crate::auth::Credentials;
use crate::client::Context;
use crate::connection::Connection;
use crate::obstacle::Obstacle;
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
        let credentials = credentials(connection).await?;
        let context = connection.context();
        let first = Self::open_with(connection, &credentials, context.clone(), topic);
        let opened = Box::pin(first).await;
        let refused = opened.is_err() && context.trouble.is_refused();
        if refused && Box::pin(connection.auth.have_changed(&credentials)).await == Ok(true) {
            let credentials = self::credentials(connection).await?;
            let context = connection.context();
            return Box::pin(Self::open_with(connection, &credentials, context, topic)).await;
        }
        opened
    }

    async fn open_with(
        connection: &Connection,
        credentials: &Credentials,
        context: Context,
        topic: &Topic,
    ) -> Result<Self, ReadError> {
        let consumer = offsets::committed(connection, credentials, context.clone())
            .map_err(|error| ReadError::Fault(format!("{error} ({connection})")))?;
        let ranges = ranges(connection, credentials, &context, &consumer, topic).await;
        let ranges = match ranges {
            Ok(ranges) => ranges,
            Err(error) => return Err(fault(connection, &context, &consumer, &error)),
        };
        if ranges.is_empty() {
            return Err(ReadError::NoTopic {
                topic: topic.clone(),
                connection: connection.to_string(),
            });
        }
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

    /// Returns what a consumer group has committed of this topic; a partition of which it has committed nothing is absent.
    pub async fn committed_by(
        &self,
        group: &str,
    ) -> Result<BTreeMap<Partition, Offset>, ReadError> {
        let (connection, context) = (&self.connection, &self.context);
        let partitions: Vec<Partition> = self.ranges.iter().map(|range| range.partition).collect();
        let credentials = credentials(connection).await?;
        let asked = offsets::of_group(
            connection,
            &credentials,
            context.clone(),
            group,
            &self.topic,
            &partitions,
        );
        let committed = asked.await.map_err(|error| {
            let trouble = &context.trouble;
            ReadError::Fault(format!(
                "no answer when asked what group {group} has committed: {error}{trouble} ({connection})"
            ))
        })?;
        let committed = committed.into_iter();
        Ok(committed
            .filter_map(|(partition, offset)| Some((partition, Offset::new(offset)?)))
            .collect())
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

/// Finds where each partition begins and ends; none when there is no such topic.
async fn ranges(
    connection: &Connection,
    credentials: &Credentials,
    context: &Context,
    consumer: &Shared<StreamConsumer<Context>>,
    topic: &Topic,
) -> KafkaResult<Vec<Range>> {
    let partitions = offsets::partitions(consumer, context, topic).await?;
    let watching = offsets::uncommitted(connection, credentials, context.clone())?;
    let (first, last) = (NativeOffset::Beginning, NativeOffset::End);
    // Asked in this order, a high watermark above the last stable offset can only come from an open transaction.
    let highs = offsets::offsets(&watching, topic, &partitions, last).await?;
    let ends = offsets::offsets(consumer, topic, &partitions, last).await?;
    let starts = offsets::offsets(consumer, topic, &partitions, first).await?;
    let of = |offsets: &[(Partition, i64)], partition: Partition| {
        let found = offsets.iter().find(|(other, _)| *other == partition);
        found
            .and_then(|(_, offset)| Offset::new(*offset))
            .ok_or(KafkaError::OffsetFetch(RDKafkaErrorCode::NoOffset))
    };
    let range = |partition: &Partition| {
        let end = of(&ends, *partition)?;
        Ok(Range {
            partition: *partition,
            // Records may be deleted between two questions.
            start: of(&starts, *partition)?.min(end),
            end,
            high_watermark: of(&highs, *partition)?.max(end),
        })
    };
    partitions.iter().map(range).collect()
}

/// Sees to it that a client has what it makes itself known with.
async fn credentials(connection: &Connection) -> Result<Credentials, ReadError> {
    let credentials = connection.credentials(SystemClock.now()).await;
    credentials.map_err(|fault| ReadError::Fault(format!("{fault} ({connection})")))
}

/// Puts an error into words that name the brokers.
fn fault(
    connection: &Connection,
    context: &Context,
    consumer: &Shared<StreamConsumer<Context>>,
    error: &KafkaError,
) -> ReadError {
    // What went wrong with the single brokers waits in the queue, before the first record.
    offsets::serve(consumer);
    let trouble = &context.trouble;
    let obstacle = error.rdkafka_error_code().and_then(Obstacle::in_answer);
    let advice = obstacle.map(|obstacle| format!(": {}", obstacle.advice(connection.auth.mode())));
    let advice = advice.unwrap_or_default();
    ReadError::Fault(format!("{error}{advice}{trouble} ({connection})"))
}
