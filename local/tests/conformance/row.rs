//! A row of the table.

use std::time::Duration;

use local::mapping::{Answers, Bisect, Discard, Redelivery};

/// What a function does under a mapping, and what must follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) source: Source,
    /// For which meanings of an answer it holds.
    pub(crate) answers: &'static [Answers],
    pub(crate) mapping: Mapping,
    pub(crate) function: Function,
    /// What is in the topic before the mapping starts.
    pub(crate) records: &'static [Made],
    /// What comes afterwards, each time once everything before is done.
    pub(crate) later: &'static [&'static [Made]],
    /// Each invocation in order: what it was given, and what was committed because of its answer: `0:0-2 1:4 > 0:3 1:5`.
    ///
    /// With `!` before it, the function did not get as far as taking the event.
    pub(crate) deliveries: &'static [&'static str],
    /// What the group has in the end: `0:3 1:5`.
    pub(crate) committed: &'static str,
    /// The records that are gone.
    pub(crate) discarded: &'static [(&'static str, Discard)],
    /// How many invocations ran at once.
    pub(crate) at_once: Option<usize>,
    /// How long after the first record of `later` was sent the first invocation came at the earliest.
    pub(crate) not_before: Option<Duration>,
}

/// Where a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A page of AWS's documentation, and its section or sentence.
    Aws {
        page: &'static str,
        says: &'static str,
    },
    /// AWS does not say; why it is taken to be so.
    Assumed(&'static str),
}

/// The settings of a mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) size: usize,
    pub(crate) window: Duration,
    /// None for standard mode.
    pub(crate) pollers: Option<usize>,
    pub(crate) bisect: Bisect,
    pub(crate) retries: Option<u32>,
    pub(crate) max_age: Option<Duration>,
    pub(crate) start: Start,
    /// What the group has committed before: `0:2`.
    pub(crate) group: &'static str,
}

/// A starting position; a time is so long ago.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    TrimHorizon,
    Latest,
    SecondsAgo(i64),
}

/// What the function does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    /// A line an invocation, as `examples/scripted.rs` describes them. `TOPIC` stands for the topic, `fails 0/3 1/0` for a partial answer.
    pub(crate) script: &'static [&'static str],
    pub(crate) timeout: Duration,
    pub(crate) init_timeout: Duration,
    /// With more than one, the order of deliveries is not looked at.
    pub(crate) sandboxes: usize,
}

/// Records that are produced to a partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) partition: i32,
    pub(crate) records: usize,
    pub(crate) bytes: usize,
    /// How many seconds ago.
    pub(crate) age: i64,
}

pub(crate) const RESUME: Answers = Answers::Reported(Redelivery::Resume);
pub(crate) const ITEMS: Answers = Answers::Reported(Redelivery::Items);
pub(crate) const REPORTED: &[Answers] = &[RESUME, ITEMS];
pub(crate) const IGNORED: &[Answers] = &[Answers::Ignored];
pub(crate) const ALL: &[Answers] = &[RESUME, ITEMS, Answers::Ignored];

/// Five records of one partition in one batch, which are done.
pub(crate) const ROW: Row = Row {
    name: "",
    source: Source::Assumed(""),
    answers: &[RESUME],
    mapping: Mapping {
        size: 5,
        window: Duration::from_secs(5),
        pollers: None,
        bisect: Bisect::Off,
        retries: None,
        max_age: None,
        start: Start::TrimHorizon,
        group: "",
    },
    function: Function {
        script: &["answer {}"],
        timeout: Duration::from_secs(20),
        init_timeout: Duration::from_secs(10),
        sandboxes: 1,
    },
    records: &[made(0, 5)],
    later: &[],
    deliveries: &["0:0-4 > 0:5"],
    committed: "0:5",
    discarded: &[],
    at_once: None,
    not_before: None,
};

pub(crate) const MAPPING: Mapping = ROW.mapping;

/// The batch of [`ROW`], delivered and delivered again.
pub(crate) const TWICE: &[&str] = &["0:0-4", "0:0-4 > 0:5"];

pub(crate) const fn made(partition: i32, records: usize) -> Made {
    Made {
        partition,
        records,
        bytes: 1,
        age: 0,
    }
}

pub(crate) const fn aged(partition: i32, seconds: i64) -> Made {
    Made {
        age: seconds,
        ..made(partition, 1)
    }
}

pub(crate) const fn sized(partition: i32, bytes: usize) -> Made {
    Made {
        bytes,
        ..made(partition, 1)
    }
}

pub(crate) const fn function(script: &'static [&'static str]) -> Function {
    Function {
        script,
        ..ROW.function
    }
}

/// A function that is given up after a second.
pub(crate) const fn hasty(script: &'static [&'static str]) -> Function {
    Function {
        timeout: Duration::from_secs(1),
        ..function(script)
    }
}

impl Row {
    /// Returns how many partitions its topic has.
    pub(crate) fn partitions(&self) -> i32 {
        let made = self
            .records
            .iter()
            .chain(self.later.iter().copied().flatten());
        made.map(|made| made.partition + 1).max().unwrap_or(1)
    }
}
