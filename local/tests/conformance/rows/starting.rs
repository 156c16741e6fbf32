//! `StartingPosition`, for groups that are new and groups that have offsets.

use std::time::Duration;

use super::pages::{group, starting};
use crate::row::{MAPPING, Mapping, ROW, Row, Source, Start, aged, made};

const OLDEST: Source =
    starting("Trim horizon: Lambda starts reading from the oldest record in the topic");
const NEWEST: Source = starting("Latest: Lambda starts reading just after the most recent record");
const BY_TIME: Source =
    starting("At timestamp: Lambda starts reading from a position defined by a timestamp");
const HAS_OFFSETS: Source = group("A group that has offsets ignores StartingPosition");

const fn from(start: Start, group: &'static str) -> Mapping {
    Mapping {
        window: Duration::from_millis(300),
        start,
        group,
        ..MAPPING
    }
}

/// Three records before, and two that come later.
const BOTH: Row = Row {
    records: &[made(0, 3)],
    later: &[&[made(0, 2)]],
    committed: "0:5",
    ..ROW
};

/// Records of different ages.
const AGED: Row = Row {
    records: &[aged(0, 90), aged(0, 60), aged(0, 30)],
    later: &[&[made(0, 1)]],
    committed: "0:4",
    ..ROW
};

pub(crate) const STARTING: &[Row] = &[
    Row {
        name: "TRIM_HORIZON, a new group: everything",
        source: OLDEST,
        mapping: from(Start::TrimHorizon, ""),
        deliveries: &["0:0-2 > 0:3", "0:3-4 > 0:5"],
        ..BOTH
    },
    Row {
        name: "TRIM_HORIZON, a group with offsets: what it has not done",
        source: HAS_OFFSETS,
        mapping: from(Start::TrimHorizon, "0:2"),
        deliveries: &["0:2 > 0:3", "0:3-4 > 0:5"],
        ..BOTH
    },
    Row {
        name: "LATEST, a new group: what comes later",
        source: NEWEST,
        mapping: from(Start::Latest, ""),
        deliveries: &["0:3-4 > 0:5"],
        ..BOTH
    },
    Row {
        name: "LATEST, a group with offsets: what it has not done",
        source: HAS_OFFSETS,
        mapping: from(Start::Latest, "0:1"),
        deliveries: &["0:1-2 > 0:3", "0:3-4 > 0:5"],
        ..BOTH
    },
    Row {
        name: "LATEST, an empty topic: everything that comes",
        source: NEWEST,
        mapping: from(Start::Latest, ""),
        records: &[],
        deliveries: &["0:0-1 > 0:2"],
        committed: "0:2",
        ..BOTH
    },
    Row {
        name: "LATEST, a group with offsets of one partition only: the other begins at its end",
        source: Source::Assumed("each partition of a group has its own offset"),
        mapping: from(Start::Latest, "0:1"),
        records: &[made(0, 2), made(1, 2)],
        later: &[&[made(1, 1)]],
        deliveries: &["0:1 > 0:2", "1:2 > 1:3"],
        committed: "0:2 1:3",
        ..BOTH
    },
    Row {
        name: "AT_TIMESTAMP, a new group: what is as young as that time",
        source: BY_TIME,
        mapping: from(Start::SecondsAgo(75), ""),
        deliveries: &["0:1-2 > 0:3", "0:3 > 0:4"],
        ..AGED
    },
    Row {
        name: "AT_TIMESTAMP, a time before all records: everything",
        source: BY_TIME,
        mapping: from(Start::SecondsAgo(3_600), ""),
        deliveries: &["0:0-2 > 0:3", "0:3 > 0:4"],
        ..AGED
    },
    Row {
        name: "AT_TIMESTAMP, a time after all records: what comes later",
        source: Source::Assumed(
            "no record is as young: the lookup finds none, and reading begins at the end",
        ),
        mapping: from(Start::SecondsAgo(10), ""),
        deliveries: &["0:3 > 0:4"],
        ..AGED
    },
    Row {
        name: "AT_TIMESTAMP, a group with offsets: what it has not done",
        source: HAS_OFFSETS,
        mapping: from(Start::SecondsAgo(10), "0:1"),
        deliveries: &["0:1-2 > 0:3", "0:3 > 0:4"],
        ..AGED
    },
    Row {
        name: "AT_TIMESTAMP, two partitions: each by its own records",
        source: BY_TIME,
        mapping: from(Start::SecondsAgo(75), ""),
        records: &[aged(0, 90), aged(0, 60), aged(1, 100), aged(1, 95)],
        later: &[&[made(1, 1)]],
        deliveries: &["0:1 > 0:2", "1:2 > 1:3"],
        committed: "0:2 1:3",
        ..AGED
    },
];
