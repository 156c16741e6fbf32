//! What is already done, though it may be delivered again.

use std::collections::{HashMap, VecDeque};

use pipeline::{Coordinates, Offset, Partition, Timestamp, Topic};

/// Remembers records that were done in an invocation that did not end clean, so that redelivery does not run them twice.
///
/// It is a cache that spares duplicates; no guarantee rests on it. A record is known by its place and its own time, so that a topic
/// that was deleted and created again is not taken for the old one.
#[derive(Debug)]
pub struct DoneMemory {
    capacity: usize,
    count: usize,
    partitions: HashMap<(Topic, Partition), Remembered>,
}

/// The done records of one partition; each stands in both fields once.
#[derive(Debug, Default)]
struct Remembered {
    noted: HashMap<(Offset, Timestamp), Timestamp>,
    oldest_first: VecDeque<(Offset, Timestamp)>,
}

impl Default for DoneMemory {
    fn default() -> Self {
        Self::new()
    }
}

impl DoneMemory {
    /// How many records are remembered at most.
    pub const CAPACITY: usize = 100_000;

    /// How long a record is remembered after it was last delivered, in milliseconds.
    pub const LIFETIME_MS: i64 = 3_600_000;

    /// Starts with nothing remembered.
    pub fn new() -> Self {
        Self::with_capacity(Self::CAPACITY)
    }

    fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            count: 0,
            partitions: HashMap::new(),
        }
    }

    /// Remembers that a record is done; the oldest is forgotten when there are too many.
    pub fn remember(&mut self, record: &Coordinates, timestamp: Timestamp, now: Timestamp) {
        let partition = self
            .partitions
            .entry((record.topic.clone(), record.partition))
            .or_default();
        let record = (record.offset, timestamp);
        if partition.noted.insert(record, now).is_none() {
            partition.oldest_first.push_back(record);
            self.count = self.count.saturating_add(1);
        }
        self.forget_expired(now);
        while self.count > self.capacity {
            self.forget_oldest();
        }
    }

    /// Tells whether a record is done.
    pub fn is_done(&self, record: &Coordinates, timestamp: Timestamp, now: Timestamp) -> bool {
        self.partitions
            .get(&(record.topic.clone(), record.partition))
            .and_then(|partition| partition.noted.get(&(record.offset, timestamp)))
            .is_some_and(|noted| !is_expired(*noted, now))
    }

    /// Forgets a partition whose records were all done: nothing of it is delivered again.
    pub fn forget_partition(&mut self, topic: &Topic, partition: Partition) {
        if let Some(forgotten) = self.partitions.remove(&(topic.clone(), partition)) {
            self.count = self.count.saturating_sub(forgotten.noted.len());
        }
    }

    fn forget_expired(&mut self, now: Timestamp) {
        let mut forgotten = 0_usize;
        self.partitions.retain(|_, partition| {
            while partition
                .oldest()
                .is_some_and(|noted| is_expired(noted, now))
            {
                partition.forget_oldest();
                forgotten = forgotten.saturating_add(1);
            }
            !partition.noted.is_empty()
        });
        self.count = self.count.saturating_sub(forgotten);
    }

    fn forget_oldest(&mut self) {
        let oldest = self
            .partitions
            .values_mut()
            .min_by_key(|partition| partition.oldest());
        if let Some(partition) = oldest {
            partition.forget_oldest();
        }
        self.count = self.count.saturating_sub(1);
        self.partitions
            .retain(|_, partition| !partition.noted.is_empty());
    }
}

impl Remembered {
    fn oldest(&self) -> Option<Timestamp> {
        self.oldest_first
            .front()
            .and_then(|record| self.noted.get(record))
            .copied()
    }

    fn forget_oldest(&mut self) {
        if let Some(record) = self.oldest_first.pop_front() {
            self.noted.remove(&record);
        }
    }
}

const fn is_expired(noted: Timestamp, now: Timestamp) -> bool {
    now.millis_since(noted) >= DoneMemory::LIFETIME_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);
    const HOUR: i64 = 3_600_000;

    fn at(text: &str) -> Coordinates {
        text.parse().unwrap()
    }

    fn remembering(records: &[&str]) -> DoneMemory {
        let mut memory = DoneMemory::new();
        for record in records {
            memory.remember(&at(record), NOW, NOW);
        }
        memory
    }

    fn check(memory: &DoneMemory, now: Timestamp, done: &[&str], not_done: &[&str]) {
        for record in done {
            assert!(memory.is_done(&at(record), NOW, now), "{record} is done");
        }
        for record in not_done {
            assert!(
                !memory.is_done(&at(record), NOW, now),
                "{record} is not done"
            );
        }
        let held: usize = memory.partitions.values().map(|of| of.noted.len()).sum();
        let queued: usize = memory
            .partitions
            .values()
            .map(|of| of.oldest_first.len())
            .sum();
        assert_eq!((held, queued), (memory.count, memory.count));
    }

    #[test]
    fn row_56_a_dead_letter_that_is_delivered_again_counts_as_done() {
        let memory = remembering(&["t/0/7"]);
        check(&memory, NOW, &["t/0/7"], &["t/0/6", "t/1/7", "u/0/7"]);
    }

    #[test]
    fn another_record_at_the_same_place_is_not_taken_for_the_old_one() {
        let memory = remembering(&["t/0/7"]);
        assert!(!memory.is_done(&at("t/0/7"), NOW.plus_millis(1), NOW));
        assert!(!memory.is_done(&at("t/0/7"), Timestamp::NONE, NOW));
    }

    #[test]
    fn row_57_what_is_done_out_of_order_is_done_whatever_comes_before_it() {
        let memory = remembering(&["t/0/9", "t/0/3", "t/0/5"]);
        check(&memory, NOW, &["t/0/3", "t/0/5", "t/0/9"], &["t/0/4"]);
    }

    #[test]
    fn a_partition_that_ends_clean_is_forgotten_alone() {
        let mut memory = remembering(&["t/0/7", "t/0/8", "t/1/7", "u/0/7"]);
        memory.forget_partition(&at("t/0/0").topic, at("t/0/0").partition);
        check(&memory, NOW, &["t/1/7", "u/0/7"], &["t/0/7", "t/0/8"]);
        memory.forget_partition(&at("x/0/0").topic, at("x/0/0").partition);
        check(&memory, NOW, &["t/1/7", "u/0/7"], &[]);
    }

    #[test]
    fn a_record_is_forgotten_an_hour_after_its_last_delivery() {
        let mut memory = remembering(&["t/0/7", "t/0/8"]);
        check(&memory, NOW.plus_millis(HOUR - 1), &["t/0/7", "t/0/8"], &[]);
        check(&memory, NOW.plus_millis(HOUR), &[], &["t/0/7", "t/0/8"]);
        let later = NOW.plus_millis(HOUR / 2);
        memory.remember(&at("t/0/8"), NOW, later);
        memory.remember(&at("t/0/9"), NOW, NOW.plus_millis(HOUR));
        check(
            &memory,
            NOW.plus_millis(HOUR),
            &["t/0/8", "t/0/9"],
            &["t/0/7"],
        );
        assert_eq!(memory.count, 2, "what is expired is not kept");
    }

    #[test]
    fn a_clock_that_goes_back_forgets_nothing() {
        let memory = remembering(&["t/0/7"]);
        check(&memory, NOW.plus_millis(-HOUR), &["t/0/7"], &[]);
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_are_too_many() {
        let mut memory = DoneMemory::with_capacity(3);
        for (minute, record) in ["t/0/1", "t/1/1", "t/0/2", "u/0/1", "t/0/3"]
            .iter()
            .enumerate()
        {
            let minute = i64::try_from(minute).unwrap();
            memory.remember(&at(record), NOW, NOW.plus_millis(minute * 60_000));
        }
        check(
            &memory,
            NOW.plus_millis(HOUR / 2),
            &["t/0/2", "u/0/1", "t/0/3"],
            &["t/0/1", "t/1/1"],
        );
    }

    #[test]
    fn a_hundred_thousand_records_are_held_and_no_more() {
        let mut memory = DoneMemory::new();
        let mut record = at("t/0/0");
        for offset in 0..150_000 {
            record.offset = Offset::new(offset).unwrap();
            memory.remember(&record, NOW, NOW.plus_millis(offset / 1_000));
        }
        check(
            &memory,
            NOW.plus_millis(150),
            &["t/0/149999", "t/0/50000"],
            &["t/0/49999"],
        );
        assert_eq!(memory.count, DoneMemory::CAPACITY);
    }
}
