//! `BisectBatchOnFunctionError`.

use local::mapping::{Bisect, Discard};

use super::pages::{discarded, kafka, streams};
use crate::row::{
    ALL, Function, ITEMS, MAPPING, Mapping, REPORTED, ROW, Row, Source, function, hasty, made,
};

const HALVES: Source = kafka(
    "Split batch on error: split the batch into two smaller batches and retry each separately",
);
const NO_RETRY: Source =
    discarded("Error handling: splitting batches doesn't consume the retry quota");

/// Four records, of which 2 is poison; without retries, so that the row comes to an end.
const POISON: Row = Row {
    mapping: Mapping {
        size: 4,
        bisect: Bisect::On,
        retries: Some(0),
        ..MAPPING
    },
    records: &[made(0, 4)],
    answers: ALL,
    deliveries: &["0:0-3", "0:0-1 > 0:2", "0:2-3", "0:2 > 0:3", "0:3 > 0:4"],
    committed: "0:4",
    discarded: &[("0:2", Discard::RetriesExhausted)],
    ..ROW
};

const WITHOUT_END: Mapping = Mapping {
    retries: None,
    ..POISON.mapping
};

pub(crate) const BISECT: &[Row] = &[
    Row {
        name: "an error halves the batch down to the record that fails",
        source: HALVES,
        function: function(&["poison 0/2 error"]),
        ..POISON
    },
    Row {
        name: "a crash halves the batch",
        source: HALVES,
        function: function(&["poison 0/2 crash"]),
        ..POISON
    },
    Row {
        name: "a timeout halves the batch",
        source: HALVES,
        function: hasty(&["poison 0/2 hang"]),
        ..POISON
    },
    Row {
        name: "an answer that is too large halves the batch",
        source: HALVES,
        function: function(&["poison 0/2 big 6291457"]),
        ..POISON
    },
    Row {
        name: "an answer that makes no sense halves the batch",
        source: streams(
            "Bisecting a batch: when the invocation fails the batch is bisected regardless of ReportBatchItemFailures",
        ),
        answers: REPORTED,
        function: function(&["poison 0/2 answer nonsense"]),
        ..POISON
    },
    Row {
        name: "splitting counts as no retry",
        source: NO_RETRY,
        mapping: Mapping {
            retries: Some(2),
            ..POISON.mapping
        },
        function: function(&["poison 0/2 error"]),
        deliveries: &[
            "0:0-3",
            "0:0-1 > 0:2",
            "0:2-3",
            "0:2",
            "0:2",
            "0:2 > 0:3",
            "0:3 > 0:4",
        ],
        ..POISON
    },
    Row {
        name: "the last record is tried alone, again and again, and those behind it wait",
        source: HALVES,
        mapping: WITHOUT_END,
        function: function(&["error", "answer {}", "error", "error", "error", "answer {}"]),
        deliveries: &[
            "0:0-3",
            "0:0-1 > 0:2",
            "0:2-3",
            "0:2",
            "0:2",
            "0:2 > 0:3",
            "0:3 > 0:4",
        ],
        discarded: &[],
        ..POISON
    },
    Row {
        name: "of an odd batch the second half is the larger",
        source: Source::Assumed("two smaller batches; which is larger is not said"),
        mapping: Mapping {
            size: 5,
            ..WITHOUT_END
        },
        records: &[made(0, 5)],
        function: function(&["error", "answer {}"]),
        deliveries: &["0:0-4", "0:0-1 > 0:2", "0:2-4 > 0:5"],
        committed: "0:5",
        discarded: &[],
        ..POISON
    },
    Row {
        name: "a partial answer splits at the lowest record listed, and only the rest comes again",
        source: streams(
            "Bisecting a batch: with both turned on it is bisected at the returned sequence number, and only the remaining records are retried",
        ),
        answers: REPORTED,
        mapping: WITHOUT_END,
        function: function(&["fails 0/2 0/3", "answer {}"]),
        deliveries: &["0:0-3 > 0:2", "0:2-3 > 0:4"],
        discarded: &[],
        ..POISON
    },
    Row {
        name: "an error after a partial answer halves the rest",
        source: Source::Assumed("the rest is a batch like any other"),
        answers: REPORTED,
        mapping: WITHOUT_END,
        function: function(&["fails 0/2 0/3", "error", "answer {}"]),
        deliveries: &["0:0-3 > 0:2", "0:2-3", "0:2 > 0:3", "0:3 > 0:4"],
        discarded: &[],
        ..POISON
    },
    Row {
        name: "a partial answer to a half brings back what it lists",
        source: Source::Assumed("a half is a batch like any other"),
        answers: &[ITEMS],
        mapping: WITHOUT_END,
        function: function(&["error", "fails 0/0", "answer {}"]),
        deliveries: &["0:0-3", "0:0-1", "0:0 > 0:2", "0:2-3 > 0:4"],
        discarded: &[],
        ..POISON
    },
    Row {
        name: "a batch of two partitions: each partition's part is halved by itself",
        source: Source::Assumed(
            "a batch of several partitions is not named; here no partition's poison record fails another's records",
        ),
        answers: ALL,
        mapping: Mapping {
            pollers: Some(1),
            ..POISON.mapping
        },
        records: &[made(0, 2), made(1, 2)],
        function: Function {
            sandboxes: 2,
            ..function(&["poison 0/1 error"])
        },
        deliveries: &[
            "0:0-1 1:0-1",
            "0:0 > 0:1",
            "0:1 > 0:2",
            "1:0 > 1:1",
            "1:1 > 1:2",
        ],
        committed: "0:2 1:2",
        discarded: &[("0:1", Discard::RetriesExhausted)],
        ..POISON
    },
    Row {
        name: "without it a poison record takes the whole batch with it",
        source: kafka("Split batch on error helps isolate problematic records"),
        mapping: Mapping {
            bisect: Bisect::Off,
            retries: Some(1),
            ..POISON.mapping
        },
        function: function(&["poison 0/2 error"]),
        deliveries: &["0:0-3", "0:0-3 > 0:4"],
        discarded: &[
            ("0:0", Discard::RetriesExhausted),
            ("0:1", Discard::RetriesExhausted),
            ("0:2", Discard::RetriesExhausted),
            ("0:3", Discard::RetriesExhausted),
        ],
        ..POISON
    },
];
