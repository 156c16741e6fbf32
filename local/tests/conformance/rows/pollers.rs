//! Pollers, in standard and in provisioned mode.

use std::time::Duration;

use super::pages::pollers;
use crate::row::{Function, MAPPING, Mapping, ROW, Row, Source, function, made};

const FIVE: Source =
    pollers("Provisioned mode: a single poller can support 5 concurrent Lambda invocations");

const SIX: &[crate::row::Made] = &[
    made(0, 1),
    made(1, 1),
    made(2, 1),
    made(3, 1),
    made(4, 1),
    made(5, 1),
];

const ONE_EACH: &[&str] = &[
    "0:0 > 0:1",
    "1:0 > 1:1",
    "2:0 > 2:1",
    "3:0 > 3:1",
    "4:0 > 4:1",
    "5:0 > 5:1",
];

/// Six partitions with a record each, one record a batch, and a function that takes its time.
const BUSY: Row = Row {
    mapping: Mapping { size: 1, ..MAPPING },
    records: &[],
    later: &[SIX],
    function: Function {
        sandboxes: 6,
        ..function(&["wait 1500"])
    },
    deliveries: ONE_EACH,
    committed: "0:1 1:1 2:1 3:1 4:1 5:1",
    ..ROW
};

pub(crate) const POLLERS: &[Row] = &[
    Row {
        name: "one poller: a batch holds records of several partitions",
        source: Source::Assumed("events group records by partition, and a batch may hold several"),
        mapping: Mapping {
            pollers: Some(1),
            size: 6,
            ..MAPPING
        },
        records: &[made(0, 2), made(1, 3), made(2, 1)],
        deliveries: &["0:0-1 1:0-2 2:0 > 0:2 1:3 2:1"],
        committed: "0:2 1:3 2:1",
        ..ROW
    },
    Row {
        name: "two pollers: a batch holds the partitions of one of them",
        source: Source::Assumed("partitions are spread over pollers by their number"),
        mapping: Mapping {
            pollers: Some(2),
            size: 4,
            ..MAPPING
        },
        records: &[made(0, 2), made(1, 1), made(2, 2), made(3, 3)],
        function: Function {
            sandboxes: 2,
            ..function(&["answer {}"])
        },
        deliveries: &["0:0-1 2:0-1 > 0:2 2:2", "1:0 3:0-2 > 1:1 3:3"],
        committed: "0:2 1:1 2:2 3:3",
        ..ROW
    },
    Row {
        name: "standard mode: a batch is of one partition",
        source: Source::Assumed(
            "in standard mode pollers scale with the partitions; taken as one for each",
        ),
        mapping: Mapping { size: 2, ..MAPPING },
        records: &[made(0, 2), made(1, 2)],
        function: Function {
            sandboxes: 2,
            ..function(&["answer {}"])
        },
        deliveries: &["0:0-1 > 0:2", "1:0-1 > 1:2"],
        committed: "0:2 1:2",
        ..ROW
    },
    Row {
        name: "one poller: five invocations at once, and the sixth partition stands still",
        source: FIVE,
        mapping: Mapping {
            pollers: Some(1),
            ..BUSY.mapping
        },
        at_once: Some(5),
        ..BUSY
    },
    Row {
        name: "two pollers: six invocations at once",
        source: FIVE,
        mapping: Mapping {
            pollers: Some(2),
            ..BUSY.mapping
        },
        at_once: Some(6),
        ..BUSY
    },
    Row {
        name: "standard mode: six invocations at once",
        source: Source::Assumed(
            "in standard mode pollers scale with the partitions; taken as one for each",
        ),
        at_once: Some(6),
        ..BUSY
    },
    Row {
        name: "a partition has one invocation at a time",
        source: pollers("Provisioned mode: ordered processing within partitions"),
        mapping: Mapping {
            size: 1,
            pollers: Some(3),
            window: Duration::ZERO,
            ..MAPPING
        },
        records: &[made(0, 3)],
        function: Function {
            sandboxes: 3,
            ..function(&["wait 100"])
        },
        deliveries: &["0:0 > 0:1", "0:1 > 0:2", "0:2 > 0:3"],
        committed: "0:3",
        at_once: Some(1),
        ..ROW
    },
];
