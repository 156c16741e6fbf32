//! Answers that make no sense: the whole batch again.

use super::pages::streams;
use crate::row::{MAPPING, Mapping, REPORTED, ROW, Row, Source, TWICE, function, made};

const FAILURE: Source = streams("Success and failure conditions: a complete failure");
const NOT_IN_THE_BATCH: Source =
    Source::Assumed("a list that names what was not delivered cannot be trusted with what was");
const NO_LIST: Source =
    Source::Assumed("success is told by an empty answer or an empty list, and this is neither");

const AGAIN: Row = Row {
    answers: REPORTED,
    deliveries: TWICE,
    ..ROW
};

pub(crate) const MALFORMED: &[Row] = &[
    Row {
        name: "an offset that was not in the event",
        source: NOT_IN_THE_BATCH,
        function: function(&["fails 0/5", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "a partition that was not in the event",
        source: NOT_IN_THE_BATCH,
        function: function(&["fails 7/0", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "another topic",
        source: NOT_IN_THE_BATCH,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":{"partition":"other-0","offset":3}}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "a record that was in the event beside one that was not",
        source: NOT_IN_THE_BATCH,
        function: function(&["fails 0/3 0/9", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "another key than batchItemFailures",
        source: NO_LIST,
        function: function(&[
            r#"answer {"BatchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-0","offset":3}}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "another key than itemIdentifier",
        source: FAILURE,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemId":{"partition":"TOPIC-0","offset":3}}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "other keys in the identifier",
        source: FAILURE,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":{"topic-partition":"TOPIC-0","offset":3}}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "an empty string as identifier",
        source: FAILURE,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":""}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "null as identifier",
        source: FAILURE,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":null}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "an empty object as identifier",
        source: FAILURE,
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":{}}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "the identifier of another stream source",
        source: Source::Assumed("a sequence number names no record of Kafka"),
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":"3"}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "an offset as a string",
        source: Source::Assumed("offsets are numbers in events"),
        function: function(&[
            r#"answer {"batchItemFailures":[{"itemIdentifier":{"partition":"TOPIC-0","offset":"3"}}]}"#,
            "answer {}",
        ]),
        ..AGAIN
    },
    Row {
        name: "no list but an object",
        source: NO_LIST,
        function: function(&[r#"answer {"batchItemFailures":{}}"#, "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "a string for an answer",
        source: NO_LIST,
        function: function(&[r#"answer "done""#, "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "an empty string for an answer",
        source: NO_LIST,
        function: function(&[r#"answer """#, "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "a list for an answer",
        source: NO_LIST,
        function: function(&["answer []", "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "an object without the list",
        source: NO_LIST,
        function: function(&[r#"answer {"statusCode":200}"#, "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "bad JSON",
        source: NO_LIST,
        function: function(&[r#"answer {"batchItemFailures":[]"#, "answer {}"]),
        ..AGAIN
    },
    Row {
        name: "an offset of another partition of the batch: both partitions again",
        source: NOT_IN_THE_BATCH,
        mapping: Mapping {
            pollers: Some(1),
            ..MAPPING
        },
        records: &[made(0, 3), made(1, 2)],
        function: function(&["fails 1/2", "answer {}"]),
        deliveries: &["0:0-2 1:0-1", "0:0-2 1:0-1 > 0:3 1:2"],
        committed: "0:3 1:2",
        ..AGAIN
    },
];
