//! One hostile record at a time, always between two good ones.

mod hostile;
mod round_trip;

use pipeline::{Header, Headers};

use super::*;

const GOOD_BEFORE: &str = r#"{"topic":"t","partition":0,"offset":1,"timestamp":5,"key":"YQ==","value":"Yg==","headers":[]}"#;
const GOOD_AFTER: &str = r#"{"topic":"t","partition":0,"offset":3,"timestamp":6,"key":"YQ==","value":"Yg==","headers":[{"h":[49]}]}"#;

/// Decodes an event.
fn decode(payload: &str) -> Result<Event, EventError> {
    match super::decode(payload)? {
        Payload::Event(event) => Ok(event),
        Payload::Check => panic!("a check: {payload}"),
    }
}

/// Decodes an event of these records under the name `t-0`.
fn decode_records(records: &[&str]) -> Event {
    let payload = format!(
        r#"{{"eventSource":"aws:kafka","records":{{"t-0":[{}]}}}}"#,
        records.join(",")
    );
    decode(&payload).unwrap_or_else(|error| panic!("{error} in {payload}"))
}

/// Decodes one record between two good ones, which must come out whole; returns it and how many headers were lost.
fn between_good(record: &str) -> (Entry, u64) {
    let Event {
        entries,
        headers_lost,
    } = decode_records(&[GOOD_BEFORE, record, GOOD_AFTER]);
    let mut good = decode_records(&[GOOD_BEFORE, GOOD_AFTER]).entries;
    assert!(good.iter().all(|entry| matches!(entry, Entry::Record(_))));
    let mut rest = entries;
    let position = rest
        .iter()
        .position(|entry| !good.contains(entry))
        .expect("the record is there");
    let entry = rest.remove(position);
    assert_eq!(rest.len(), good.len());
    good.retain(|entry| !rest.contains(entry));
    assert_eq!(good, [], "the neighbours of {record}");
    (entry, headers_lost)
}

/// A record at `t/0/2` whose other fields are these.
fn with(fields: &str) -> String {
    format!(r#"{{"topic":"t","partition":0,"offset":2{fields}}}"#)
}

fn record_of(entry: &Entry) -> &Record {
    match entry {
        Entry::Record(record) => record,
        Entry::Undecodable(undecodable) => panic!("undecodable: {}", undecodable.why),
    }
}

/// Checks that a record with these fields is read, and what its headers are.
fn check_headers(fields: &str, expected: &[(&str, Option<&[u8]>)], expected_lost: u64) {
    let (entry, lost) = between_good(&with(fields));
    let expected: Headers = expected
        .iter()
        .map(|(name, value)| Header {
            name: (*name).to_owned(),
            value: value.map(Bytes::copy_from_slice),
        })
        .collect();
    assert_eq!(record_of(&entry).headers, expected, "{fields}");
    assert_eq!(lost, expected_lost, "{fields}");
}

fn check_timestamp(fields: &str, expected: i64) {
    let (entry, _) = between_good(&with(fields));
    assert_eq!(record_of(&entry).timestamp.millis(), expected, "{fields}");
}

fn check_key_and_value(fields: &str, key: Option<&[u8]>, value: Option<&[u8]>) {
    let (entry, _) = between_good(&with(fields));
    let record = record_of(&entry);
    assert_eq!(record.key.as_deref(), key, "{fields}");
    assert_eq!(record.value.as_deref(), value, "{fields}");
}

/// Checks that something stands in the event as it stood in the JSON, at `t/0/` and this offset.
fn check_undecodable(raw: &str, offset: Option<i64>) {
    let (entry, _) = between_good(raw);
    let Entry::Undecodable(undecodable) = entry else {
        panic!("{raw} was read: {entry:?}")
    };
    assert_eq!(undecodable.raw, raw.as_bytes(), "its raw JSON");
    assert_eq!(
        undecodable.topic.as_ref().map(Topic::as_str),
        Some("t"),
        "{raw}"
    );
    assert_eq!(undecodable.partition, Partition::new(0), "{raw}");
    assert_eq!(undecodable.offset.map(Offset::get), offset, "{raw}");
    assert!(!undecodable.why.is_empty());
}

/// Checks where the records of an event are, in order.
fn check_places(payload: &str, expected: &[&str]) {
    let event = decode(payload).unwrap_or_else(|error| panic!("{error} in {payload}"));
    let places: Vec<String> = event
        .entries
        .iter()
        .map(|entry| match entry {
            Entry::Record(record) => record.coordinates.to_string(),
            Entry::Undecodable(_) => "undecodable".to_owned(),
        })
        .collect();
    assert_eq!(places, expected, "{payload}");
}

fn check_refused(payload: &str, expected: &EventError) {
    assert_eq!(decode(payload).as_ref(), Err(expected), "{payload}");
}

#[test]
fn the_bytes_that_lambda_sends_are_read() {
    let event = decode(include_str!("../../fixtures/lambda-kafka-event.json")).unwrap();
    assert_eq!(event.headers_lost, 1);
    let records: Vec<&Record> = event.entries.iter().map(record_of).collect();
    let [first, second, third] = records.as_slice() else {
        panic!("{records:?}")
    };
    let header = |name: &str, value: &'static [u8]| Header {
        name: name.to_owned(),
        value: Some(Bytes::from_static(value)),
    };
    assert_eq!(first.coordinates.to_string(), "brew.payments.v1/0/14");
    assert_eq!(first.timestamp.millis(), 1_755_933_141_855);
    assert_eq!(first.key.as_deref(), Some(b"k-7".as_slice()));
    assert_eq!(
        first.value.as_deref(),
        Some(br#"{"schema_version":1}"#.as_slice())
    );
    assert_eq!(
        first.headers,
        Headers::new(vec![
            header("traceparent", b"00-4"),
            header("greeting", "hi-ë".as_bytes())
        ])
    );
    assert_eq!(second.coordinates.to_string(), "brew.payments.v1/0/15");
    assert_eq!(second.timestamp, Timestamp::NONE);
    assert_eq!(
        (&second.key, second.value.as_deref()),
        (&None, Some(b"".as_slice()))
    );
    assert_eq!(third.coordinates.to_string(), "brew.payments.v1/1/0");
    assert_eq!(
        (third.key.as_deref(), &third.value),
        (Some(b"".as_slice()), &None)
    );
    assert_eq!(
        third.headers,
        Headers::new(vec![
            header("twice", b"1"),
            header("twice", &[255, 0, 127, 128]),
            header("empty", b"")
        ])
    );
}

#[test]
fn row_71_both_event_sources_are_read_with_and_without_an_arn() {
    let records = format!(r#""records":{{"t-0":[{GOOD_BEFORE}]}}"#);
    for source in [
        r#""eventSource":"aws:kafka","eventSourceArn":"arn:aws:kafka:x","#,
        r#""eventSource":"aws:kafka","#,
        r#""eventSource":"SelfManagedKafka","bootstrapServers":"b1:9092,b2:9092","#,
        r#""eventSource":"SelfManagedKafka","eventSourceArn":null,"#,
        r#""eventSource":7,"#,
        "",
    ] {
        check_places(&format!("{{{source}{records}}}"), &["t/0/1"]);
    }
    check_places(&format!(" {{ {records} , \"x\" : {{}} }}\n"), &["t/0/1"]);
}

#[test]
fn an_event_without_records_in_it_is_empty() {
    check_places(r#"{"records":{}}"#, &[]);
    check_places(r#"{"records":{"t-0":[]}}"#, &[]);
}

#[test]
fn what_is_no_event_is_refused() {
    check_refused("{}", &EventError::NoRecords);
    check_refused(r#"{"Records":[]}"#, &EventError::NoRecords);
    check_refused(r#"{"records":null}"#, &EventError::RecordsNotAnObject);
    check_refused(r#"{"records":[]}"#, &EventError::RecordsNotAnObject);
    for payload in ["null", "[]", "\"secret\"", "7"] {
        check_refused(payload, &EventError::NotAnObject);
    }
    check_refused("", &EventError::NotJson { line: 1, column: 0 });
    check_refused("{", &EventError::NotJson { line: 1, column: 1 });
    check_refused("{}\n\n}", &EventError::NotJson { line: 3, column: 1 });
}

#[test]
fn records_come_grouped_by_partition_in_the_order_of_the_event() {
    let record = |place: &str| {
        let at: Coordinates = place.parse().unwrap();
        format!(
            r#"{{"topic":"{}","partition":{},"offset":{}}}"#,
            at.topic, at.partition, at.offset
        )
    };
    let list = |places: &[&str]| {
        let records: Vec<String> = places.iter().map(|place| record(place)).collect();
        format!("[{}]", records.join(","))
    };
    let payload = format!(
        r#"{{"records":{{"t-1":{},"t-0":{},"t-1":{},"u-1":{}}}}}"#,
        list(&["t/1/5", "t/1/4"]),
        list(&["t/0/9"]),
        list(&["t/1/6", "t/0/2"]),
        list(&["u/1/0"]),
    );
    check_places(
        &payload,
        &["t/1/5", "t/1/4", "t/1/6", "t/0/9", "t/0/2", "u/1/0"],
    );
}
