//! What is written as Lambda writes it comes back as it was.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Writes an event as Lambda does: records by partition, bytes of headers signed, a null key or value left out.
fn encode(records: &[Record]) -> String {
    let mut partitions: Vec<(String, Vec<String>)> = Vec::new();
    for record in records {
        let Coordinates {
            topic, partition, ..
        } = &record.coordinates;
        let name = format!("{topic}-{partition}");
        let encoded = encode_record(record);
        match partitions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(encoded),
            None => partitions.push((name, vec![encoded])),
        }
    }
    let partitions: Vec<String> = partitions
        .iter()
        .map(|(name, list)| format!("\"{name}\":[{}]", list.join(",")))
        .collect();
    format!(
        r#"{{"eventSource":"aws:kafka","records":{{{}}}}}"#,
        partitions.join(",")
    )
}

fn encode_record(record: &Record) -> String {
    let at = &record.coordinates;
    let mut json = format!(
        r#"{{"topic":"{}","partition":{},"offset":{},"timestamp":{},"timestampType":"CREATE_TIME""#,
        at.topic,
        at.partition,
        at.offset,
        record.timestamp.millis()
    );
    for (name, bytes) in [("key", &record.key), ("value", &record.value)] {
        if let Some(bytes) = bytes {
            write!(json, r#","{name}":"{}""#, STANDARD.encode(bytes)).unwrap();
        }
    }
    let headers: Vec<String> = record.headers.iter().map(encode_header).collect();
    write!(json, r#","headers":[{}]}}"#, headers.join(",")).unwrap();
    json
}

fn encode_header(header: &Header) -> String {
    let name = serde_json::to_string(&header.name).unwrap();
    match &header.value {
        None => format!("{{{name}:null}}"),
        Some(value) => {
            let signed: Vec<String> = value
                .iter()
                .map(|byte| byte.cast_signed().to_string())
                .collect();
            format!("{{{name}:[{}]}}", signed.join(","))
        }
    }
}

fn bytes() -> impl Strategy<Value = Option<Bytes>> {
    proptest::option::of(vec(any::<u8>(), 0..40).prop_map(Bytes::from))
}

fn header() -> impl Strategy<Value = Header> {
    (any::<String>(), bytes()).prop_map(|(name, value)| Header { name, value })
}

fn record() -> impl Strategy<Value = Record> {
    let topic = "[a-zA-Z0-9_-]{1,8}";
    let headers = vec(header(), 0..5);
    let times = any::<i64>();
    (
        topic,
        0..4_i32,
        0..=i64::MAX,
        times,
        bytes(),
        bytes(),
        headers,
    )
        .prop_map(
            |(topic, partition, offset, timestamp, key, value, headers)| Record {
                coordinates: Coordinates {
                    topic: topic.parse().unwrap(),
                    partition: Partition::new(partition).unwrap(),
                    offset: Offset::new(offset).unwrap(),
                },
                timestamp: Timestamp::from_millis(timestamp),
                key,
                value,
                headers: Headers::new(headers),
            },
        )
}

proptest! {
    #[test]
    fn every_record_comes_back_as_it_was(records in vec(record(), 0..12)) {
        let event = decode(&encode(&records)).unwrap();
        prop_assert_eq!(event.headers_lost, 0);
        prop_assert_eq!(event.entries.len(), records.len());
        for record in records {
            prop_assert!(event.entries.contains(&Entry::Record(record)));
        }
    }

    #[test]
    fn no_text_in_a_field_costs_a_neighbour(
        text in any::<String>(),
        field in "topic|partition|offset|timestamp|key|value|headers",
    ) {
        let text = serde_json::to_string(&text).unwrap();
        between_good(&with(&format!(r#","{field}":{text}"#)));
    }

    #[test]
    fn no_payload_panics(payload in any::<String>()) {
        drop(decode(&payload));
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "it says how long the largest event takes"
)]
fn the_largest_event_is_decoded_in_no_time() {
    let record = |offset: i64| Record {
        coordinates: Coordinates {
            topic: "brew.payments.v1".parse().unwrap(),
            partition: Partition::new(i32::try_from(offset % 4).unwrap()).unwrap(),
            offset: Offset::new(offset).unwrap(),
        },
        timestamp: Timestamp::from_millis(1_755_933_141_855),
        key: Some(Bytes::from(format!("k-{offset}"))),
        value: Some(Bytes::from(vec![b'x'; 240])),
        headers: Headers::new(vec![Header {
            name: "traceparent".to_owned(),
            value: Some(Bytes::from_static(&[b'0'; 55])),
        }]),
    };
    let records: Vec<Record> = (0..9_400).map(record).collect();
    let payload = encode(&records);
    assert!(payload.len() > 6_000_000, "{}", payload.len());
    let started = std::time::Instant::now();
    let event = decode(&payload).unwrap();
    let took = started.elapsed();
    println!("{} bytes took {took:?}", payload.len());
    assert_eq!(event.entries.len(), records.len());
    assert!(took.as_secs() < 10, "{took:?}");
}
