//! Invocations without an answer: the whole batch again, whatever answers mean.

use std::time::Duration;

use local::mapping::Discard;

use super::pages::{kafka, quotas};
use crate::row::{ALL, Function, MAPPING, Mapping, ROW, Row, Source, TWICE, function, hasty, made};

const ERROR: Source = kafka(
    "Maximum retry attempts: Lambda retries when your function returns an error; the default is infinite",
);
const NO_START: Source = Source::Assumed("a function that cannot start is a function error");

const AGAIN: Row = Row {
    answers: ALL,
    deliveries: TWICE,
    ..ROW
};

pub(crate) const FAILURES: &[Row] = &[
    Row {
        name: "the function reports an error",
        source: ERROR,
        function: function(&["error no", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "its process ends",
        source: ERROR,
        function: function(&["crash", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "its time is up",
        source: ERROR,
        function: hasty(&["hang", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "its answer is larger than 6 MB",
        source: quotas("Invocation payload: 6 MB each for request and response"),
        function: function(&["big 6291457", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "it reports an error while it starts",
        source: NO_START,
        function: function(&["init-error no settings", "answer {}"]),
        deliveries: &["!0:0-4", "0:0-4 > 0:5"],
        ..AGAIN
    },
    Row {
        name: "its process ends while it starts",
        source: NO_START,
        function: function(&["init-crash", "answer {}"]),
        deliveries: &["!0:0-4", "0:0-4 > 0:5"],
        ..AGAIN
    },
    Row {
        name: "it does not come to an end of its start, but of the next one, in the time of the invocation",
        source: NO_START,
        function: Function {
            init_timeout: Duration::from_secs(3),
            ..function(&["init-hang", "answer {}"])
        },
        deliveries: &["0:0-4 > 0:5"],
        ..AGAIN
    },
    Row {
        name: "it does not come to an end of its start, and not of the next one",
        source: NO_START,
        function: Function {
            init_timeout: Duration::from_secs(3),
            timeout: Duration::from_secs(3),
            ..function(&["init-hang", "init-hang", "answer {}"])
        },
        deliveries: &["!0:0-4", "0:0-4 > 0:5"],
        ..AGAIN
    },
    Row {
        name: "one failure after the other: without end",
        source: ERROR,
        function: function(&["error", "crash", "error", "error", "error", "answer {}"]),
        deliveries: &["0:0-4", "0:0-4", "0:0-4", "0:0-4", "0:0-4", "0:0-4 > 0:5"],
        ..ROW
    },
    Row {
        name: "what has come since waits behind the batch that failed",
        source: Source::Assumed(
            "within a partition one invocation at a time, in order: so on other stream sources",
        ),
        mapping: Mapping {
            window: Duration::from_millis(100),
            ..MAPPING
        },
        records: &[made(0, 8)],
        function: function(&["error", "answer {}"]),
        deliveries: &["0:0-4", "0:0-4 > 0:5", "0:5-7 > 0:8"],
        committed: "0:8",
        ..AGAIN
    },
    Row {
        name: "a batch of two partitions comes again as it was",
        source: ERROR,
        mapping: Mapping {
            pollers: Some(1),
            ..MAPPING
        },
        records: &[made(0, 3), made(1, 2)],
        function: function(&["error", "answer {}"]),
        deliveries: &["0:0-2 1:0-1", "0:0-2 1:0-1 > 0:3 1:2"],
        committed: "0:3 1:2",
        ..AGAIN
    },
    Row {
        name: "a partition that fails again and again does not hold up another",
        source: Source::Assumed("in standard mode partitions are polled by themselves"),
        mapping: Mapping {
            size: 1,
            retries: Some(3),
            ..MAPPING
        },
        records: &[made(0, 1), made(1, 2)],
        function: Function {
            sandboxes: 2,
            ..function(&["poison 0/0 error"])
        },
        deliveries: &["0:0", "0:0", "0:0", "0:0 > 0:1", "1:0 > 1:1", "1:1 > 1:2"],
        committed: "0:1 1:2",
        discarded: &[("0:0", Discard::RetriesExhausted)],
        ..ROW
    },
];
