//! Answers that say that all is done.

use super::pages::streams;
use crate::row::{ALL, IGNORED, ROW, Row, Source, function};

const SUCCESS: Source = streams("Success and failure conditions: a complete success");

pub(crate) const ANSWERS: &[Row] = &[
    Row {
        name: "an empty body says that all is done",
        source: Source::Assumed(
            "an empty EventResponse is a complete success on other stream sources",
        ),
        answers: ALL,
        function: function(&["answer"]),
        ..ROW
    },
    Row {
        name: "null says that all is done",
        source: SUCCESS,
        answers: ALL,
        function: function(&["answer null"]),
        ..ROW
    },
    Row {
        name: "an empty object says that all is done",
        source: SUCCESS,
        answers: ALL,
        function: function(&["answer {}"]),
        ..ROW
    },
    Row {
        name: "an empty list says that all is done",
        source: SUCCESS,
        answers: ALL,
        function: function(&[r#"answer {"batchItemFailures":[]}"#]),
        ..ROW
    },
    Row {
        name: "a null list says that all is done",
        source: SUCCESS,
        answers: ALL,
        function: function(&[r#"answer {"batchItemFailures":null}"#]),
        ..ROW
    },
    Row {
        name: "fields beside an empty list do not matter",
        source: Source::Assumed("unknown fields of JSON are ignored"),
        answers: ALL,
        function: function(&[r#"answer {"handled":5,"batchItemFailures":[]}"#]),
        ..ROW
    },
    Row {
        name: "without ReportBatchItemFailures a partial answer says that all is done",
        source: streams(
            "Note: partial batch failure responses are not processed unless ReportBatchItemFailures is turned on",
        ),
        answers: IGNORED,
        function: function(&["fails 0/3"]),
        ..ROW
    },
    Row {
        name: "without ReportBatchItemFailures bad JSON says that all is done",
        source: Source::Assumed(
            "the answer is not looked at: the invocation ended without an error",
        ),
        answers: IGNORED,
        function: function(&["answer nonsense"]),
        ..ROW
    },
    Row {
        name: "without ReportBatchItemFailures a list of everything says that all is done",
        source: streams(
            "Note: partial batch failure responses are not processed unless ReportBatchItemFailures is turned on",
        ),
        answers: IGNORED,
        function: function(&["fails 0/0 0/1 0/2 0/3 0/4"]),
        ..ROW
    },
];
