//! What a replay counts.

use std::collections::BTreeMap;

use crate::failure::{ErrorClass, ErrorCode};
use crate::record::{Coordinates, Record, Timestamp};
use crate::replay::run_record::Ends;
use crate::replay::selection::{SkipReason, Told};

/// What is counted of a dead letter that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    at: Coordinates,
    time: Timestamp,
    class: Told<ErrorClass>,
    code: Told<ErrorCode>,
    bytes: u64,
}

/// What became of a dead letter that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It went back, or would go back in a dry run.
    Sent,
    /// The broker refuses it.
    Failed,
    /// It was planned and is there no more.
    Gone,
    /// It stays.
    Skipped(SkipReason),
}

/// Counts the dead letters that were asked for; what does not fit into bounded memory is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    sent: u64,
    failed: u64,
    gone: u64,
    ends: Option<Ends>,
    skipped: [u64; SkipReason::ALL.len()],
    by_class: BTreeMap<&'static str, u64>,
    by_code: BTreeMap<&'static str, u64>,
    bytes: u64,
    oldest: Option<Timestamp>,
    oldest_sent: BTreeMap<&'static str, Timestamp>,
    newest: Option<Timestamp>,
    sample: Vec<Coordinates>,
}

impl Matched {
    /// Takes what is counted of a record.
    pub fn of(record: &Record) -> Self {
        let bytes = record.value.as_ref().map_or(0, bytes::Bytes::len);
        Self {
            at: record.coordinates.clone(),
            time: record.timestamp,
            class: Told::class(&record.headers),
            code: Told::code(&record.headers),
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        }
    }

    /// Takes what is counted of a record whose headers cannot be read; how long its value is, is not known.
    pub const fn unreadable(at: Coordinates, time: Timestamp) -> Self {
        Self {
            at,
            time,
            class: Told::Unknown,
            code: Told::Unknown,
            bytes: 0,
        }
    }

    /// Takes what is known of a record that was planned and is there no more.
    pub const fn gone(at: Coordinates, time: Timestamp, bytes: u64) -> Self {
        Self {
            at,
            time,
            class: Told::Unknown,
            code: Told::Unknown,
            bytes,
        }
    }

    /// Returns where the dead letter is.
    pub const fn at(&self) -> &Coordinates {
        &self.at
    }
}

impl Tally {
    /// How many coordinates are kept as a sample.
    pub const SAMPLE: usize = 10;

    /// Counts a dead letter and what became of it.
    pub fn note(&mut self, matched: &Matched, fate: Fate) {
        let count = match fate {
            Fate::Sent => Some(&mut self.sent),
            Fate::Failed => Some(&mut self.failed),
            Fate::Gone => Some(&mut self.gone),
            Fate::Skipped(reason) => SkipReason::ALL
                .iter()
                .position(|other| *other == reason)
                .and_then(|index| self.skipped.get_mut(index)),
        };
        let classes = self.by_class.entry(matched.class.as_str()).or_default();
        let codes = self.by_code.entry(matched.code.as_str()).or_default();
        for count in count.into_iter().chain([classes, codes]) {
            *count = count.saturating_add(1);
        }
        if fate == Fate::Sent {
            let ends = self.ends.get_or_insert_with(|| Ends {
                first: matched.at.clone(),
                last: matched.at.clone(),
            });
            ends.last.clone_from(&matched.at);
            // A time before 1970 is none.
            if matched.time > Timestamp::from_millis(0) {
                let oldest = self.oldest_sent.entry(matched.class.as_str());
                let oldest = oldest.or_insert(matched.time);
                *oldest = (*oldest).min(matched.time);
            }
        }
        self.bytes = self.bytes.saturating_add(matched.bytes);
        if matched.time != Timestamp::NONE {
            let (oldest, newest) = (self.oldest, self.newest);
            self.oldest = Some(oldest.map_or(matched.time, |oldest| oldest.min(matched.time)));
            self.newest = Some(newest.map_or(matched.time, |newest| newest.max(matched.time)));
        }
        if self.sample.len() < Self::SAMPLE {
            self.sample.push(matched.at.clone());
        }
    }

    /// Returns how many were asked for: each was sent, failed, or skipped.
    pub fn matched(&self) -> u64 {
        [self.sent, self.failed, self.gone]
            .into_iter()
            .chain(self.skipped)
            .fold(0, u64::saturating_add)
    }

    /// Returns how many went back, or would.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns how many did not go back: refused by the broker, or there no more.
    pub const fn failed(&self) -> u64 {
        self.failed.saturating_add(self.gone)
    }

    /// Returns how many were planned and are there no more.
    pub const fn gone(&self) -> u64 {
        self.gone
    }

    /// Returns how many the broker was asked to take, or would be: what a limit counts.
    pub const fn tried(&self) -> u64 {
        self.sent.saturating_add(self.failed)
    }

    /// Returns the first and the last that went back, or would.
    pub const fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// Walks over every reason to stay and how many stayed for it.
    pub fn skipped(&self) -> impl Iterator<Item = (SkipReason, u64)> {
        SkipReason::ALL.into_iter().zip(self.skipped)
    }

    /// Returns how many of each error class were asked for.
    pub const fn by_class(&self) -> &BTreeMap<&'static str, u64> {
        &self.by_class
    }

    /// Returns how many of each error code were asked for.
    pub const fn by_code(&self) -> &BTreeMap<&'static str, u64> {
        &self.by_code
    }

    /// Returns the bytes of their values.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the time of the oldest.
    pub const fn oldest(&self) -> Option<Timestamp> {
        self.oldest
    }

    /// Returns the time of the oldest of each error class that went back, or would; one whose time is not known counts for nothing.
    pub const fn oldest_sent(&self) -> &BTreeMap<&'static str, Timestamp> {
        &self.oldest_sent
    }

    /// Returns the time of the newest.
    pub const fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Returns where the first few are.
    pub fn sample(&self) -> &[Coordinates] {
        &self.sample
    }
}

#[cfg(test)]
mod tests;
