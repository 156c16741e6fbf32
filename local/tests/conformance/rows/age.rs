//! `MaximumRecordAgeInSeconds`.

use std::time::Duration;

use local::mapping::Discard;

use super::pages::kafka;
use crate::row::{ALL, Function, MAPPING, Mapping, ROW, Row, Source, aged, function, made};

const AGE_LIMIT: Source =
    kafka("Maximum record age: the maximum age of a record that Lambda sends to your function");

/// Records may be a minute old, and a batch need not fill.
const MINUTE: Mapping = Mapping {
    window: Duration::from_millis(500),
    max_age: Some(Duration::from_mins(1)),
    ..MAPPING
};

pub(crate) const AGE: &[Row] = &[
    Row {
        name: "records that are too old are discarded without being delivered",
        source: AGE_LIMIT,
        answers: ALL,
        mapping: MINUTE,
        records: &[aged(0, 3_600), aged(0, 61), made(0, 2)],
        deliveries: &["0:2-3 > 0:4"],
        committed: "0:4",
        discarded: &[("0:0", Discard::TooOld), ("0:1", Discard::TooOld)],
        ..ROW
    },
    Row {
        name: "nothing but records that are too old: the offset moves past them without an invocation",
        source: AGE_LIMIT,
        mapping: MINUTE,
        records: &[aged(0, 120), aged(0, 90)],
        deliveries: &[],
        committed: "0:2",
        discarded: &[("0:0", Discard::TooOld), ("0:1", Discard::TooOld)],
        ..ROW
    },
    Row {
        name: "a record that is too old goes from among others",
        source: AGE_LIMIT,
        mapping: MINUTE,
        records: &[made(0, 1), aged(0, 120), made(0, 1)],
        deliveries: &["0:0,2 > 0:3"],
        committed: "0:3",
        discarded: &[("0:1", Discard::TooOld)],
        ..ROW
    },
    Row {
        name: "a record that becomes too old while it is tried is not tried again",
        source: kafka("Maximum record age, read together with retries: it is sent no more"),
        mapping: MINUTE,
        records: &[],
        later: &[&[aged(0, 58)]],
        function: Function {
            timeout: Duration::from_millis(2_500),
            ..function(&["hang", "answer {}"])
        },
        deliveries: &["0:0"],
        committed: "0:1",
        discarded: &[("0:0", Discard::TooOld)],
        ..ROW
    },
    Row {
        name: "without a limit a record is never too old",
        source: kafka("Maximum record age: the default is -1 (infinite)"),
        records: &[aged(0, 500_000), made(0, 4)],
        ..ROW
    },
    Row {
        name: "a time in the future is not old",
        source: Source::Assumed("the age is negative"),
        mapping: MINUTE,
        records: &[aged(0, -3_000), made(0, 1)],
        deliveries: &["0:0-1 > 0:2"],
        committed: "0:2",
        ..ROW
    },
];
