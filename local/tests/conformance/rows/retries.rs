//! `MaximumRetryAttempts`.

use local::mapping::Discard;

use super::pages::{discarded, kafka};
use crate::row::{
    ALL, ITEMS, MAPPING, Mapping, REPORTED, RESUME, ROW, Row, Source, function, hasty, made,
};

const NOT_THE_FIRST: Source =
    kafka("Maximum retry attempts: this doesn't count the initial invocation attempt");
const GONE: Source =
    discarded("Error handling: if the measures fail, Lambda discards the records and continues");
const REMAINDER: Source =
    Source::Assumed("what a partial answer leaves has the retries that its batch has left");

const fn at_most(retries: u32) -> Mapping {
    Mapping {
        retries: Some(retries),
        ..MAPPING
    }
}

const ALL_GONE: &[(&str, Discard)] = &[
    ("0:0", Discard::RetriesExhausted),
    ("0:1", Discard::RetriesExhausted),
    ("0:2", Discard::RetriesExhausted),
    ("0:3", Discard::RetriesExhausted),
    ("0:4", Discard::RetriesExhausted),
];

/// No retry at all.
const NONE: Row = Row {
    source: GONE,
    answers: ALL,
    mapping: at_most(0),
    discarded: ALL_GONE,
    ..ROW
};

pub(crate) const RETRIES: &[Row] = &[
    Row {
        name: "no retry: an error discards the batch",
        function: function(&["error"]),
        ..NONE
    },
    Row {
        name: "no retry: a crash discards the batch",
        function: function(&["crash"]),
        ..NONE
    },
    Row {
        name: "no retry: a timeout discards the batch",
        function: hasty(&["hang"]),
        ..NONE
    },
    Row {
        name: "no retry: a failed start discards the batch",
        function: function(&["init-crash"]),
        deliveries: &["!0:0-4 > 0:5"],
        ..NONE
    },
    Row {
        name: "no retry: an answer that makes no sense discards the batch",
        answers: REPORTED,
        function: function(&["answer nonsense"]),
        ..NONE
    },
    Row {
        name: "no retry: a partial answer discards what it lists, and nothing else",
        source: Source::Assumed("what is not listed is done, although it would have come again"),
        answers: REPORTED,
        function: function(&["fails 0/1 0/3"]),
        discarded: &[
            ("0:1", Discard::RetriesExhausted),
            ("0:3", Discard::RetriesExhausted),
        ],
        ..NONE
    },
    Row {
        name: "no retry: of two partitions in a batch both are discarded",
        mapping: Mapping {
            pollers: Some(1),
            ..at_most(0)
        },
        records: &[made(0, 1), made(1, 4)],
        function: function(&["error"]),
        deliveries: &["0:0 1:0-3 > 0:1 1:4"],
        committed: "0:1 1:4",
        discarded: &[
            ("0:0", Discard::RetriesExhausted),
            ("1:0", Discard::RetriesExhausted),
            ("1:1", Discard::RetriesExhausted),
            ("1:2", Discard::RetriesExhausted),
            ("1:3", Discard::RetriesExhausted),
        ],
        ..NONE
    },
    Row {
        name: "one retry: two errors discard the batch",
        source: NOT_THE_FIRST,
        mapping: at_most(1),
        function: function(&["error", "error", "answer {}"]),
        deliveries: &["0:0-4", "0:0-4 > 0:5"],
        ..NONE
    },
    Row {
        name: "two retries: the second may still succeed",
        source: NOT_THE_FIRST,
        mapping: at_most(2),
        function: function(&["error", "error", "answer {}"]),
        deliveries: &["0:0-4", "0:0-4", "0:0-4 > 0:5"],
        discarded: &[],
        ..NONE
    },
    Row {
        name: "two retries: three errors discard the batch",
        source: NOT_THE_FIRST,
        mapping: at_most(2),
        function: function(&["error"]),
        deliveries: &["0:0-4", "0:0-4", "0:0-4 > 0:5"],
        ..NONE
    },
    Row {
        name: "one retry: a second partial answer discards what it lists",
        source: REMAINDER,
        answers: &[RESUME],
        mapping: at_most(1),
        function: function(&["fails 0/1 0/3", "fails 0/3"]),
        deliveries: &["0:0-4 > 0:1", "0:1-4 > 0:5"],
        discarded: &[("0:3", Discard::RetriesExhausted)],
        ..NONE
    },
    Row {
        name: "one retry: of the items that came again those that are listed again are discarded",
        source: REMAINDER,
        answers: &[ITEMS],
        mapping: at_most(1),
        function: function(&["fails 0/1 0/3", "fails 0/1"]),
        deliveries: &["0:0-4 > 0:1", "0:1,3 > 0:5"],
        discarded: &[("0:1", Discard::RetriesExhausted)],
        ..NONE
    },
    Row {
        name: "two retries: progress gives no further ones",
        source: REMAINDER,
        answers: &[RESUME],
        mapping: at_most(2),
        function: function(&["fails 0/1", "fails 0/2", "fails 0/3"]),
        deliveries: &["0:0-4 > 0:1", "0:1-4 > 0:2", "0:2-4 > 0:5"],
        discarded: &[("0:3", Discard::RetriesExhausted)],
        ..NONE
    },
    Row {
        name: "one retry: an error after a partial answer discards what was left",
        source: REMAINDER,
        answers: REPORTED,
        mapping: at_most(1),
        function: function(&["fails 0/3 0/4", "error"]),
        deliveries: &["0:0-4 > 0:3", "0:3-4 > 0:5"],
        discarded: &[
            ("0:3", Discard::RetriesExhausted),
            ("0:4", Discard::RetriesExhausted),
        ],
        ..NONE
    },
    Row {
        name: "every batch has its own retries",
        source: NOT_THE_FIRST,
        mapping: Mapping {
            size: 3,
            ..at_most(1)
        },
        records: &[made(0, 6)],
        function: function(&["error", "answer {}", "error", "answer {}"]),
        deliveries: &["0:0-2", "0:0-2 > 0:3", "0:3-5", "0:3-5 > 0:6"],
        committed: "0:6",
        discarded: &[],
        ..NONE
    },
];
