//! Answers that list what is not done.

use super::pages::{kafka, streams};
use crate::row::{
    ITEMS, MAPPING, Mapping, REPORTED, RESUME, ROW, Row, Source, TWICE, function, made,
};

const LOWEST: Source = streams(
    "Report syntax, Note: Lambda uses the record with the lowest sequence number as the checkpoint and retries all records from it on",
);
const ONLY_FAILED: Source =
    kafka("Partial batch response: so that Lambda can retry only the failed records");

/// Batches of partitions 0 and 1, which one poller reads.
const SEVERAL: Row = Row {
    mapping: Mapping {
        pollers: Some(1),
        ..MAPPING
    },
    records: &[made(0, 3), made(1, 2)],
    committed: "0:3 1:2",
    ..ROW
};

pub(crate) const PARTIAL: &[Row] = &[
    Row {
        name: "one record listed: the partition resumes there",
        source: LOWEST,
        function: function(&["fails 0/3", "answer {}"]),
        deliveries: &["0:0-4 > 0:3", "0:3-4 > 0:5"],
        ..ROW
    },
    Row {
        name: "one record listed: it is delivered again",
        source: ONLY_FAILED,
        answers: &[ITEMS],
        function: function(&["fails 0/3", "answer {}"]),
        deliveries: &["0:0-4 > 0:3", "0:3 > 0:5"],
        ..ROW
    },
    Row {
        name: "several listed, in no order: the partition resumes at the lowest",
        source: LOWEST,
        function: function(&["fails 0/3 0/1", "answer {}"]),
        deliveries: &["0:0-4 > 0:1", "0:1-4 > 0:5"],
        ..ROW
    },
    Row {
        name: "several listed, in no order: they are delivered again in order",
        source: ONLY_FAILED,
        answers: &[ITEMS],
        function: function(&["fails 0/3 0/1", "answer {}"]),
        deliveries: &["0:0-4 > 0:1", "0:1,3 > 0:5"],
        ..ROW
    },
    Row {
        name: "a record listed twice counts once",
        source: Source::Assumed("a list is read as a set"),
        answers: REPORTED,
        function: function(&["fails 0/4 0/4", "answer {}"]),
        deliveries: &["0:0-4 > 0:4", "0:4 > 0:5"],
        ..ROW
    },
    Row {
        name: "all listed: the whole batch again",
        source: ONLY_FAILED,
        answers: REPORTED,
        function: function(&["fails 0/0 0/1 0/2 0/3 0/4", "answer {}"]),
        deliveries: TWICE,
        ..ROW
    },
    Row {
        name: "the first listed: the whole batch again",
        source: LOWEST,
        function: function(&["fails 0/0", "answer {}"]),
        deliveries: TWICE,
        ..ROW
    },
    Row {
        name: "the first listed: the offset waits for it although the others are done",
        source: ONLY_FAILED,
        answers: &[ITEMS],
        function: function(&["fails 0/0", "answer {}"]),
        deliveries: &["0:0-4", "0:0 > 0:5"],
        ..ROW
    },
    Row {
        name: "fields beside the identifier do not matter",
        source: Source::Assumed("unknown fields of JSON are ignored"),
        answers: REPORTED,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":{"topic":"x","partition":"TOPIC-0","offset":4},"why":"no"}]}"#,
            "answer {}",
        ]),
        deliveries: &["0:0-4 > 0:4", "0:4 > 0:5"],
        ..ROW
    },
    Row {
        name: "the offset follows one partial answer after the other",
        source: LOWEST,
        function: function(&["fails 0/1", "fails 0/3 0/2", "fails 0/4", "answer {}"]),
        deliveries: &["0:0-4 > 0:1", "0:1-4 > 0:2", "0:2-4 > 0:4", "0:4 > 0:5"],
        ..ROW
    },
    Row {
        name: "an error after a partial answer brings back what was left",
        source: Source::Assumed("the batch that is retried is what the partial answer left"),
        answers: REPORTED,
        function: function(&["fails 0/3 0/4", "error no", "answer {}"]),
        deliveries: &["0:0-4 > 0:3", "0:3-4", "0:3-4 > 0:5"],
        ..ROW
    },
    Row {
        name: "what has come since is not added to what is delivered again",
        source: Source::Assumed("a batch is retried as it was; so it is on other stream sources"),
        answers: REPORTED,
        records: &[made(0, 7)],
        mapping: Mapping {
            window: std::time::Duration::from_millis(100),
            ..MAPPING
        },
        function: function(&["fails 0/4", "answer {}"]),
        deliveries: &["0:0-4 > 0:4", "0:4 > 0:5", "0:5-6 > 0:7"],
        committed: "0:7",
        ..ROW
    },
    Row {
        name: "one of two partitions has a failure: the other is done",
        source: LOWEST,
        function: function(&["fails 0/1", "answer {}"]),
        deliveries: &["0:0-2 1:0-1 > 0:1 1:2", "0:1-2 > 0:3"],
        ..SEVERAL
    },
    Row {
        name: "both partitions have failures: each resumes at its own lowest",
        source: LOWEST,
        function: function(&["fails 0/2 1/1 0/1", "answer {}"]),
        deliveries: &["0:0-2 1:0-1 > 0:1 1:1", "0:1-2 1:1 > 0:3 1:2"],
        ..SEVERAL
    },
    Row {
        name: "both partitions have failures: those are delivered again",
        source: ONLY_FAILED,
        answers: &[ITEMS],
        function: function(&["fails 0/0 0/2 1/1", "answer {}"]),
        deliveries: &["0:0-2 1:0-1 > 1:1", "0:0,2 1:1 > 0:3 1:2"],
        ..SEVERAL
    },
    Row {
        name: "the same offset in two partitions is two records",
        source: Source::Assumed("an identifier names the partition"),
        answers: REPORTED,
        function: function(&["fails 1/1", "answer {}"]),
        deliveries: &["0:0-2 1:0-1 > 0:3 1:1", "1:1 > 1:2"],
        ..SEVERAL
    },
    Row {
        name: "all of one partition listed: the other is done",
        source: LOWEST,
        answers: &[RESUME, ITEMS],
        function: function(&["fails 0/0 0/1 0/2", "answer {}"]),
        deliveries: &["0:0-2 1:0-1 > 1:2", "0:0-2 > 0:3"],
        ..SEVERAL
    },
];
