//! Which dead letters a replay takes.

use std::collections::BTreeSet;
use std::fmt;

use crate::failure::{ErrorClass, ErrorCode};
use crate::headers::{Headers, names};
use crate::record::{Coordinates, Offset, Partition, Record, Timestamp, Topic, digits};
use crate::replay::progress::Progress;

/// The filters of a replay; a dead letter is selected when all that are set agree with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// When it died.
    pub window: Window,
    /// How its failure is classed.
    pub error_class: Option<Told<ErrorClass>>,
    /// What failed.
    pub error_code: Option<Told<ErrorCode>>,
    /// Its key, as text.
    pub key: Option<String>,
    /// The topic it was first read from.
    pub original_topic: Option<Topic>,
    /// The exact places asked for.
    pub records: Option<BTreeSet<(Partition, Offset)>>,
    /// How often a payment may have been replayed before it stays put.
    pub max_replays: u64,
}

/// A stretch of time: from `since` on, before `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first moment in it.
    pub since: Option<Timestamp>,
    /// The first moment after it.
    pub until: Option<Timestamp>,
}

/// What a header tells: a member of a closed set, or nothing that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Told<T> {
    /// The header stands and is of the set.
    Known(T),
    /// The header is absent, null, not UTF-8, or not of the set.
    Unknown,
}

/// What becomes of a dead letter in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It was not asked for.
    NotSelected,
    /// It was asked for and stays where it is.
    Skip(SkipReason),
    /// It goes back.
    Take {
        /// Which replay of this payment it is: 1, 2, ….
        nth: u64,
    },
}

/// Why a selected dead letter stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipReason {
    /// An earlier run has published it.
    AlreadyReplayed,
    /// It was replayed often enough, or its count cannot be read.
    MaxReplays,
    /// Its headers cannot be read, so they cannot be kept either.
    UnreadableHeaders,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 3] = [
        Self::AlreadyReplayed,
        Self::MaxReplays,
        Self::UnreadableHeaders,
    ];

    /// Returns the reason as answers and logs write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AlreadyReplayed => "already-replayed",
            Self::MaxReplays => "max-replays",
            Self::UnreadableHeaders => "unreadable-headers",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Told<ErrorClass> {
    /// Reads what the headers tell of the class.
    pub fn class(headers: &Headers) -> Self {
        Self::class_of(headers.text(names::ERROR_CLASS).unwrap_or_default())
    }

    /// Reads a class as filters and headers write it.
    pub fn class_of(text: &str) -> Self {
        ErrorClass::from_text(text).map_or(Self::Unknown, Self::Known)
    }

    /// Returns the class as filters and answers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Known(class) => class.as_str(),
            Self::Unknown => UNKNOWN,
        }
    }
}

impl Told<ErrorCode> {
    /// Reads what the headers tell of the code.
    pub fn code(headers: &Headers) -> Self {
        Self::code_of(headers.text(names::ERROR_CODE).unwrap_or_default())
    }

    /// Reads a code as filters and headers write it.
    pub fn code_of(text: &str) -> Self {
        ErrorCode::from_text(text).map_or(Self::Unknown, Self::Known)
    }

    /// Returns the code as filters and answers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Known(code) => code.as_str(),
            Self::Unknown => UNKNOWN,
        }
    }
}

/// The word for a class or code that the headers do not tell.
pub const UNKNOWN: &str = "unknown";

impl Window {
    /// Tells whether a record of this time lies in the window; a record without a time lies in no window that has a bound.
    pub fn holds(self, time: Timestamp) -> bool {
        let bounded = self.since.is_some() || self.until.is_some();
        self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time < until)
            && !(bounded && time == Timestamp::NONE)
    }
}

impl Selection {
    /// Judges a dead letter.
    pub fn judge(&self, record: &Record) -> Judgement {
        let headers = &record.headers;
        let selected = self.selects_place(&record.coordinates, record.timestamp)
            && self.selects_headers(headers)
            && self.selects_key(record.key.as_deref());
        if !selected {
            return Judgement::NotSelected;
        }
        match times_replayed(headers) {
            Some(times) if times < self.max_replays => Judgement::Take {
                nth: times.saturating_add(1),
            },
            Some(_) | None => Judgement::Skip(SkipReason::MaxReplays),
        }
    }

    /// Judges a dead letter whose headers cannot be read: it stays, and counts as asked for unless its place or time says otherwise.
    pub fn judge_unreadable(&self, at: &Coordinates, time: Timestamp) -> Judgement {
        if self.selects_place(at, time) {
            Judgement::Skip(SkipReason::UnreadableHeaders)
        } else {
            Judgement::NotSelected
        }
    }

    /// Walks over the places of the list that lie where a run has come from `before` to `after`.
    ///
    /// What of it was not read is not there.
    pub fn listed_and_passed<'a>(
        &'a self,
        before: &'a Progress,
        after: &'a Progress,
    ) -> impl Iterator<Item = (Partition, Offset)> + 'a {
        let listed = self.records.iter();
        let passed = listed.flat_map(move |listed| {
            let stretches = before.passed_until(after);
            stretches.flat_map(move |(partition, stretch)| {
                let stretch = (stretch.start < stretch.end).then_some(stretch);
                stretch.into_iter().flat_map(move |stretch| {
                    listed.range((partition, stretch.start)..(partition, stretch.end))
                })
            })
        });
        passed
            .copied()
            .filter(|(partition, offset)| before.awaits_place(*partition, *offset))
    }

    fn selects_place(&self, at: &Coordinates, time: Timestamp) -> bool {
        let listed = |records: &BTreeSet<_>| records.contains(&(at.partition, at.offset));
        self.records.as_ref().is_none_or(listed) && self.window.holds(time)
    }

    fn selects_headers(&self, headers: &Headers) -> bool {
        self.error_class
            .is_none_or(|class| class == Told::class(headers))
            && self
                .error_code
                .is_none_or(|code| code == Told::code(headers))
            && self
                .original_topic
                .as_ref()
                .is_none_or(|topic| headers.text(names::ORIGINAL_TOPIC) == Some(topic.as_str()))
    }

    fn selects_key(&self, key: Option<&[u8]>) -> bool {
        self.key
            .as_ref()
            .is_none_or(|asked| key == Some(asked.as_bytes()))
    }
}

/// Returns how often a payment has been replayed; `None` when the header stands and is not one whole number.
fn times_replayed(headers: &Headers) -> Option<u64> {
    if headers.last(names::REPLAY_COUNT).is_none() {
        return Some(0);
    }
    digits(headers.only_text(names::REPLAY_COUNT)?)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests;
