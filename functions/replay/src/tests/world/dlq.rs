//! A topic of dead letters in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pipeline::replay::{Lane, Progress};
use pipeline::{Offset, Partition, Timestamp, Topic};
use tokio::time::sleep;

use super::topic;
use crate::{Chunk, DeadLetters, Entry, Reading, SourceError};

/// What a partition holds at an offset; a gap is what Kafka leaves behind transactions and compaction.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Entry(Entry),
    Gap,
}

/// The topic of dead letters, and how reading it goes.
#[derive(Debug, Default)]
pub(crate) struct Dlq {
    pub(crate) partitions: BTreeMap<i32, Vec<Slot>>,
    /// How many records a chunk holds.
    pub(crate) chunk: usize,
    /// How long a chunk takes.
    pub(crate) chunk_takes: Duration,
    /// How many polls come back empty before each chunk.
    pub(crate) empty_polls: usize,
    /// Reading fails after so many chunks.
    pub(crate) fault_after: Option<usize>,
    /// The partitions whose end an open transaction holds back.
    pub(crate) held_back: Vec<i32>,
    pub(crate) opened: usize,
    pub(crate) chunks: usize,
}

pub(crate) struct SharedDlq(pub(super) Arc<Mutex<Dlq>>);

/// A reading of the topic: what it holds beyond the ends that were fixed is never looked at.
pub(crate) struct MemoryReading {
    dlq: Arc<Mutex<Dlq>>,
    held: BTreeMap<Partition, Lane>,
    left: BTreeMap<Partition, Lane>,
    empty_polls: usize,
}

fn offset(number: usize) -> Offset {
    Offset::new(i64::try_from(number).unwrap()).unwrap()
}

impl DeadLetters for SharedDlq {
    type Reading = MemoryReading;

    async fn open(&self, name: &Topic) -> Result<MemoryReading, SourceError> {
        let mut dlq = self.0.lock().unwrap();
        if *name != topic("dlq") {
            return Err(SourceError::NoSuchTopic(name.clone()));
        }
        dlq.opened += 1;
        let held = dlq.partitions.iter().map(|(number, slots)| {
            let lane = Lane {
                next: Offset::FIRST,
                end: offset(slots.len()),
            };
            (Partition::new(*number).unwrap(), lane)
        });
        Ok(MemoryReading {
            held: held.collect(),
            left: BTreeMap::new(),
            empty_polls: dlq.empty_polls,
            dlq: Arc::clone(&self.0),
        })
    }
}

impl Reading for MemoryReading {
    fn held(&self) -> BTreeMap<Partition, Lane> {
        self.held.clone()
    }

    fn held_back(&self) -> Vec<Partition> {
        let dlq = self.dlq.lock().unwrap();
        let numbers = dlq.held_back.iter();
        numbers
            .filter_map(|number| Partition::new(*number))
            .collect()
    }

    async fn committed_by(&self, _: &str) -> Result<BTreeMap<Partition, Offset>, SourceError> {
        Ok(BTreeMap::new())
    }

    async fn first_since(
        &mut self,
        since: Timestamp,
    ) -> Result<BTreeMap<Partition, Offset>, SourceError> {
        let dlq = self.dlq.lock().unwrap();
        let first = dlq.partitions.iter().filter_map(|(number, slots)| {
            let first = slots.iter().position(|slot| {
                matches!(slot, Slot::Entry(Entry::Record(record)) if record.timestamp >= since)
            })?;
            Some((Partition::new(*number).unwrap(), offset(first)))
        });
        Ok(first.collect())
    }

    async fn start_at(&mut self, left: &Progress) -> Result<(), SourceError> {
        self.left = left.left().collect();
        Ok(())
    }

    async fn next_chunk(
        &mut self,
        until: impl Future<Output = ()> + Send,
    ) -> Result<Chunk, SourceError> {
        let takes = self.dlq.lock().unwrap().chunk_takes;
        tokio::select! {
            biased;
            () = sleep(takes) => {}
            () = until => return Ok(self.chunk(0)),
        }
        if self.empty_polls > 0 {
            self.empty_polls -= 1;
            return Ok(self.chunk(0));
        }
        let (most, fault) = {
            let mut dlq = self.dlq.lock().unwrap();
            self.empty_polls = dlq.empty_polls;
            dlq.chunks += 1;
            (
                dlq.chunk,
                dlq.fault_after.is_some_and(|after| dlq.chunks > after),
            )
        };
        if fault {
            return Err(SourceError::Fault("no answer (brokers b:9092)".to_owned()));
        }
        Ok(self.chunk(most))
    }
}

impl MemoryReading {
    /// Reads the partitions in turns, as a broker's answers come in.
    fn chunk(&mut self, most: usize) -> Chunk {
        let dlq = self.dlq.lock().unwrap();
        let mut entries = Vec::new();
        while entries.len() < most && self.left.values().any(|lane| lane.next < lane.end) {
            for (partition, lane) in self
                .left
                .iter_mut()
                .filter(|(_, lane)| lane.next < lane.end)
            {
                let index = usize::try_from(lane.next.get()).unwrap();
                if let Slot::Entry(entry) = &dlq.partitions[&partition.get()][index]
                    && entries.len() < most
                {
                    entries.push(entry.clone());
                } else if entries.len() >= most {
                    break;
                }
                lane.next = Offset::new(lane.next.get() + 1).unwrap();
            }
        }
        let positions = self
            .left
            .iter()
            .map(|(partition, lane)| (*partition, lane.next));
        Chunk {
            positions: positions.collect(),
            entries,
        }
    }
}
