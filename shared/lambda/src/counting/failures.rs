//! How often records have failed, as far as this process knows.

use std::collections::HashMap;

use pipeline::{Coordinates, Record, Timestamp};

/// Counts the failures of records that are handed back, until they are done or dead-lettered.
///
/// A record is known by its place and its own time, so that a topic that was deleted and created again is not taken for the old one.
/// When there are too many, records that failed for the first time are not counted until others have come to their end: those
/// that are counted then get there, while to forget the oldest could go round for ever.
#[derive(Debug)]
pub(super) struct Failures {
    capacity: usize,
    counts: HashMap<(Coordinates, Timestamp), Count>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    failures: u32,
    last: Timestamp,
}

/// How many records are counted at most: ten of the largest batches.
const CAPACITY: usize = 100_000;

/// How long a count is kept after the record's last failure, in milliseconds: if it comes again, it does so much sooner.
const LIFETIME_MS: i64 = 3_600_000;

impl Default for Failures {
    fn default() -> Self {
        Self::with_capacity(CAPACITY)
    }
}

impl Failures {
    fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity,
            counts: HashMap::new(),
        }
    }

    /// Returns how often a record has failed.
    pub(super) fn of(&self, record: &Record) -> u32 {
        self.counts
            .get(&known_by(record))
            .map_or(0, |count| count.failures)
    }

    /// Notes how often a record has failed by now.
    pub(super) fn note(&mut self, record: &Record, failures: u32, now: Timestamp) {
        let count = Count {
            failures,
            last: now,
        };
        let record = known_by(record);
        if self.counts.len() < self.capacity || self.counts.contains_key(&record) {
            self.counts.insert(record, count);
        }
    }

    /// Keeps a record's count as it is for as long as if it had failed now.
    pub(super) fn keep(&mut self, record: &Record, now: Timestamp) {
        if let Some(count) = self.counts.get_mut(&known_by(record)) {
            count.last = now;
        }
    }

    /// Forgets a record that is done or dead-lettered.
    pub(super) fn forget(&mut self, record: &Record) {
        self.counts.remove(&known_by(record));
    }

    /// Forgets the records that did not come again: another process has gone on with their partitions.
    pub(super) fn forget_expired(&mut self, now: Timestamp) {
        self.counts
            .retain(|_, count| now.millis_since(count.last) < LIFETIME_MS);
    }
}

fn known_by(record: &Record) -> (Coordinates, Timestamp) {
    (record.coordinates.clone(), record.timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::Headers;

    const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);
    const HOUR: i64 = 3_600_000;

    fn at(place: &str) -> Record {
        Record {
            coordinates: place.parse().unwrap(),
            timestamp: NOW,
            key: None,
            value: None,
            headers: Headers::default(),
        }
    }

    fn check(failures: &Failures, expected: &[(&str, u32)]) {
        for (place, count) in expected {
            assert_eq!(failures.of(&at(place)), *count, "{place}");
        }
    }

    #[test]
    fn each_record_has_a_count_of_its_own() {
        let mut failures = Failures::default();
        failures.note(&at("t/0/7"), 1, NOW);
        failures.note(&at("t/0/7"), 2, NOW);
        failures.note(&at("t/1/7"), 1, NOW);
        check(
            &failures,
            &[
                ("t/0/7", 2),
                ("t/1/7", 1),
                ("t/0/6", 0),
                ("t/0/8", 0),
                ("u/0/7", 0),
            ],
        );
        failures.forget(&at("t/0/7"));
        check(&failures, &[("t/0/7", 0), ("t/1/7", 1)]);
    }

    #[test]
    fn another_record_at_the_same_place_starts_from_zero() {
        let mut failures = Failures::default();
        failures.note(&at("t/0/7"), 2, NOW);
        let other = Record {
            timestamp: NOW.plus_millis(1),
            ..at("t/0/7")
        };
        assert_eq!(failures.of(&other), 0);
    }

    #[test]
    fn a_count_is_forgotten_an_hour_after_the_last_failure() {
        let mut failures = Failures::default();
        for place in ["t/0/1", "t/0/2", "t/0/3"] {
            failures.note(&at(place), 1, NOW);
        }
        failures.note(&at("t/0/2"), 2, NOW.plus_millis(1));
        failures.keep(&at("t/0/3"), NOW.plus_millis(1));
        failures.keep(&at("t/0/4"), NOW.plus_millis(1));
        failures.forget_expired(NOW.plus_millis(HOUR - 1));
        check(
            &failures,
            &[("t/0/1", 1), ("t/0/2", 2), ("t/0/3", 1), ("t/0/4", 0)],
        );
        failures.forget_expired(NOW.plus_millis(HOUR));
        check(&failures, &[("t/0/1", 0), ("t/0/2", 2), ("t/0/3", 1)]);
        failures.forget_expired(NOW.plus_millis(-HOUR));
        assert_eq!(
            failures.counts.len(),
            2,
            "a clock that goes back forgets nothing"
        );
    }

    #[test]
    fn when_there_are_too_many_those_that_are_counted_come_to_their_end_first() {
        let mut failures = Failures::with_capacity(2);
        for _round in 0..3 {
            for offset in 0..5 {
                let record = at(&format!("t/0/{offset}"));
                let count = failures.of(&record) + 1;
                failures.note(&record, count, NOW);
            }
        }
        check(
            &failures,
            &[("t/0/0", 3), ("t/0/1", 3), ("t/0/2", 0), ("t/0/4", 0)],
        );
        failures.forget(&at("t/0/0"));
        failures.note(&at("t/0/2"), 1, NOW);
        check(&failures, &[("t/0/1", 3), ("t/0/2", 1)]);
    }
}
