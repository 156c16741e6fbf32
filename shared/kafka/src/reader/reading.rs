//! Reading on, chunk by chunk.

use std::pin::pin;
use std::time::Duration;

use lambda::{Clock, SystemClock};
use pipeline::{Partition, Topic};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::{Offset as NativeOffset, TopicPartitionList};
use tokio::time::{Instant, sleep};

use super::chunk::{Chunk, ChunkLimit, Read};
use super::error::ReadError;
use super::offsets::{self, Shared};
use super::{Reader, record};
use crate::client::Context;

/// How long reading may stand still before the broker counts as away. A partition with a leader answers within a fraction of a
/// second, also when it has nothing.
const STANDSTILL: Duration = Duration::from_secs(20);

/// How long to wait before a partition is read again whose leader does not know our end yet.
const LEADER_INTERVAL: Duration = Duration::from_millis(200);

/// What the consumer says next.
enum Event {
    /// There is a record.
    Record(Read),
    /// The partition has nothing after what was read.
    NothingMore(Partition),
}

impl Reader {
    /// Reads on until the chunk is full, every partition is at its end, or `until` is over.
    ///
    /// Cut it short by `until`, not by dropping it: the records it had would be passed over.
    pub async fn next_chunk(
        &mut self,
        most: ChunkLimit,
        until: impl Future<Output = ()>,
    ) -> Result<Chunk, ReadError> {
        let mut until = pin!(until);
        let mut standstill = pin!(sleep(STANDSTILL));
        let mut chunk = Chunk::default();
        let mut bytes: usize = 0;
        while !self.is_at_end() && chunk.records.len() < most.records && bytes < most.bytes {
            // The consumer asks for the next token while it reads.
            self.connection.auth.keep_up(SystemClock.now()).await;
            if let Err(error) = self.assign() {
                return Err(self.fault(&error));
            }
            let event = tokio::select! {
                biased;
                () = &mut until => break,
                event = next_event(&self.consumer, &self.topic) => event,
                () = &mut standstill => return Err(self.stood_still()),
            };
            let moved = match event {
                Ok(Event::Record(read)) => {
                    if self.pass(&read) {
                        bytes = bytes.saturating_add(read.bytes());
                        chunk.records.push(read);
                    }
                    true
                }
                Ok(Event::NothingMore(partition)) => self.nothing_more(partition).await?,
                Err(error) if offsets::is_lasting(&error) => return Err(self.fault(&error)),
                Err(error) => {
                    // librdkafka connects again by itself; the standstill tells when that takes too long.
                    tracing::debug!(%error, "reading is disturbed");
                    false
                }
            };
            if moved && let Some(later) = Instant::now().checked_add(STANDSTILL) {
                standstill.as_mut().reset(later);
            }
        }
        chunk.positions = self.positions();
        Ok(chunk)
    }

    /// Has the consumer read the unfinished partitions from their positions on, unless it does so already.
    fn assign(&mut self) -> KafkaResult<()> {
        if self.assigned {
            return Ok(());
        }
        let mut list = TopicPartitionList::new();
        for (partition, progress) in &self.progress {
            if !progress.is_at_end() {
                let next = NativeOffset::Offset(progress.next());
                list.add_partition_offset(self.topic.as_str(), partition.get(), next)?;
            }
        }
        self.consumer.assign(&list)?;
        self.assigned = true;
        Ok(())
    }

    /// Passes a record; tells whether it is one to return.
    fn pass(&mut self, read: &Read) -> bool {
        let coordinates = read.coordinates();
        let Some(progress) = self.progress.get_mut(&coordinates.partition) else {
            return false;
        };
        let was_at_end = progress.is_at_end();
        let wanted = progress.pass(coordinates.offset.get());
        if progress.is_at_end() && !was_at_end {
            self.pause(coordinates.partition);
        }
        wanted
    }

    /// Spares the brokers what comes after the end of a partition.
    fn pause(&self, partition: Partition) {
        let mut list = TopicPartitionList::new();
        list.add_partition(self.topic.as_str(), partition.get());
        if let Err(error) = self.consumer.pause(&list) {
            tracing::debug!(%error, "a partition that was read to its end is read on");
        }
    }

    /// Notes that a partition has nothing more, and looks closer when that holds for all that are unfinished.
    ///
    /// Tells whether that was a step forward.
    async fn nothing_more(&mut self, partition: Partition) -> Result<bool, ReadError> {
        let Some(progress) = self.progress.get_mut(&partition) else {
            return Ok(false);
        };
        let was_at_end = progress.is_at_end();
        progress.nothing_more();
        if progress.is_at_end() {
            return Ok(!was_at_end);
        }
        let unfinished = || {
            self.progress
                .iter()
                .filter(|(_, progress)| !progress.is_at_end())
        };
        if !unfinished().all(|(_, progress)| progress.is_at_gap()) {
            return Ok(false);
        }
        let partitions: Vec<Partition> = unfinished().map(|(partition, _)| *partition).collect();
        let ends = offsets::offsets(&self.consumer, &self.topic, &partitions, NativeOffset::End);
        let ends = match ends.await {
            Ok(ends) => ends,
            Err(error) => return Err(self.fault(&error)),
        };
        let mut confirmed = true;
        for (partition, end) in ends {
            confirmed &= self.progress_of(partition)?.confirm(end);
        }
        if !confirmed {
            sleep(LEADER_INTERVAL).await;
        }
        self.assigned = false;
        Ok(confirmed)
    }

    fn fault(&self, error: &KafkaError) -> ReadError {
        super::fault(&self.connection, &self.context, &self.consumer, error)
    }

    fn stood_still(&self) -> ReadError {
        let (trouble, connection) = (&self.context.trouble, &self.connection);
        ReadError::Fault(format!(
            "no answer in {STANDSTILL:?}{trouble} ({connection})"
        ))
    }
}

async fn next_event(
    consumer: &Shared<StreamConsumer<Context>>,
    topic: &Topic,
) -> KafkaResult<Event> {
    loop {
        match consumer.recv().await {
            Ok(message) => {
                if let Some(read) = record::read(topic, &message) {
                    return Ok(Event::Record(read));
                }
            }
            Err(KafkaError::PartitionEOF(number)) => {
                if let Some(partition) = Partition::new(number) {
                    return Ok(Event::NothingMore(partition));
                }
            }
            Err(error) => return Err(error),
        }
    }
}
