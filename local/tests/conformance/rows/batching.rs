//! `BatchSize`, `MaximumBatchingWindowInSeconds` and 6 MB.

use std::time::Duration;

use local::mapping::Discard;

use super::pages::{batching, quotas};
use crate::row::{ALL, MAPPING, Mapping, ROW, Row, Source, made, sized};

const WHICHEVER_FIRST: Source = batching(
    "Batching behavior: the window is over, the batch size is met, or the payload reaches 6 MB",
);

const fn batches(size: usize, window: Duration) -> Mapping {
    Mapping {
        size,
        window,
        ..MAPPING
    }
}

pub(crate) const BATCHING: &[Row] = &[
    Row {
        name: "a batch has as many records as said and no more",
        source: batching(
            "Batching behavior: BatchSize is the maximum number of records in a single batch",
        ),
        answers: ALL,
        mapping: batches(3, Duration::from_millis(100)),
        records: &[made(0, 7)],
        deliveries: &["0:0-2 > 0:3", "0:3-5 > 0:6", "0:6 > 0:7"],
        committed: "0:7",
        ..ROW
    },
    Row {
        name: "a full batch does not wait for its window",
        source: WHICHEVER_FIRST,
        mapping: batches(2, Duration::from_mins(5)),
        records: &[made(0, 4)],
        deliveries: &["0:0-1 > 0:2", "0:2-3 > 0:4"],
        committed: "0:4",
        ..ROW
    },
    Row {
        name: "a batch that does not fill goes when its window is over, which opens with its first record",
        source: batching(
            "Batching behavior: MaximumBatchingWindowInSeconds; that it opens with the first record is assumed",
        ),
        mapping: batches(100, Duration::from_secs(1)),
        records: &[],
        later: &[&[made(0, 3)]],
        deliveries: &["0:0-2 > 0:3"],
        committed: "0:3",
        not_before: Some(Duration::from_secs(1)),
        ..ROW
    },
    Row {
        name: "the window is 500 ms when it is not set",
        source: batching(
            "Batching behavior: for Amazon MSK and self-managed Apache Kafka the default batching window is 500 ms",
        ),
        mapping: batches(100, Duration::from_millis(500)),
        records: &[],
        later: &[&[made(0, 3)], &[made(0, 1)]],
        deliveries: &["0:0-2 > 0:3", "0:3 > 0:4"],
        committed: "0:4",
        not_before: Some(Duration::from_millis(500)),
        ..ROW
    },
    Row {
        name: "with a window of 0 records go as they come",
        source: batching("Batching behavior: MaximumBatchingWindowInSeconds from 0 seconds"),
        mapping: batches(100, Duration::ZERO),
        records: &[],
        later: &[&[made(0, 1)], &[made(0, 1)]],
        deliveries: &["0:0 > 0:1", "0:1 > 0:2"],
        committed: "0:2",
        ..ROW
    },
    Row {
        name: "a batch ends before its event is larger than 6 MB",
        source: WHICHEVER_FIRST,
        mapping: batches(100, Duration::from_millis(500)),
        records: &[
            sized(0, 2_000_000),
            sized(0, 2_000_000),
            sized(0, 2_000_000),
        ],
        deliveries: &["0:0-1 > 0:2", "0:2 > 0:3"],
        committed: "0:3",
        ..ROW
    },
    Row {
        name: "a record that alone is larger than 6 MB is discarded, and those around it go on",
        source: quotas(
            "Invocation payload: 6 MB; without an on-failure destination such a record is gone (assumed)",
        ),
        answers: ALL,
        mapping: batches(2, Duration::from_secs(10)),
        records: &[made(0, 1), sized(0, 5_000_000), made(0, 1)],
        deliveries: &["0:0,2 > 0:3"],
        committed: "0:3",
        discarded: &[("0:1", Discard::TooLarge)],
        ..ROW
    },
    Row {
        name: "a record larger than 6 MB with nothing behind it is discarded without an invocation",
        source: quotas(
            "Invocation payload: 6 MB; without an on-failure destination such a record is gone (assumed)",
        ),
        records: &[sized(0, 5_000_000)],
        deliveries: &[],
        committed: "0:1",
        discarded: &[("0:0", Discard::TooLarge)],
        ..ROW
    },
];
