use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::headers::{Header, Headers};
use crate::origin::Origin;

const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_805);

/// The names that a replay writes, in the order in which it adds those that are missing.
const WRITTEN: [&str; 5] = [
    names::RETRY_COUNT,
    names::REPLAY_FROM_DLQ,
    names::REPLAY_TIMESTAMP,
    names::REPLAY_ID,
    names::REPLAY_COUNT,
];

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..9).prop_map(Bytes::from)
}

fn header() -> impl Strategy<Value = Header> {
    let name = prop_oneof![
        "[a-z.\u{e9}-]{0,5}",
        prop::sample::select(&names::ALL[..]).prop_map(str::to_owned)
    ];
    (name, option::of(bytes())).prop_map(|(name, value)| Header { name, value })
}

fn record() -> impl Strategy<Value = Record> {
    (
        vec(header(), 0..12),
        option::of(bytes()),
        option::of(bytes()),
    )
        .prop_map(|(headers, key, value)| Record {
            coordinates: "brew.payments.dlq/7/123".parse().unwrap(),
            timestamp: NOW,
            key,
            value,
            headers: Headers::new(headers),
        })
}

fn returned(record: &Record, nth: u64) -> Outgoing {
    let to: Topic = "main".parse().unwrap();
    let returning = Returning {
        to: &to,
        replay_id: "run-1",
    };
    returning.outgoing(record, nth, NOW)
}

fn others(headers: &Headers) -> Vec<&Header> {
    let written = |header: &&Header| WRITTEN.contains(&header.name.as_str());
    headers.iter().filter(|header| !written(header)).collect()
}

proptest! {
    #[test]
    fn key_value_and_every_other_header_go_back_as_they_are(record in record(), nth: u64) {
        let outgoing = returned(&record, nth);
        prop_assert_eq!(outgoing.topic.as_str(), "main");
        prop_assert_eq!(&outgoing.key, &record.key);
        prop_assert_eq!(&outgoing.value, &record.value);
        prop_assert_eq!(others(&outgoing.headers), others(&record.headers));
        prop_assert_eq!(Origin::told_by(&outgoing.headers), Origin::told_by(&record.headers));
    }

    #[test]
    fn each_header_that_replay_writes_stands_once_where_it_first_stood(record in record(), nth: u64) {
        let outgoing = returned(&record, nth);
        let nth = nth.to_string();
        let values = ["0", "brew.payments.dlq/7/123", "2025-08-23T07:12:21.805Z", "run-1", &nth];
        for (name, value) in WRITTEN.into_iter().zip(values) {
            prop_assert_eq!(outgoing.headers.only_text(name), Some(value));
        }
        // The order of first appearance is the old one, then what was missing in the order of the contract.
        let mut expected: Vec<&str> = Vec::new();
        for name in record.headers.iter().map(|header| header.name.as_str()).chain(WRITTEN) {
            if !(WRITTEN.contains(&name) && expected.contains(&name)) {
                expected.push(name);
            }
        }
        let names: Vec<&str> = outgoing.headers.iter().map(|header| header.name.as_str()).collect();
        prop_assert_eq!(names, expected);
    }

    #[test]
    fn a_second_return_adds_no_header(record in record()) {
        let once = returned(&record, 1);
        let again = Record { headers: once.headers.clone(), ..record };
        prop_assert_eq!(returned(&again, 2).headers.len(), once.headers.len());
    }
}
