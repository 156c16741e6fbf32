//! Events: byte for byte as Lambda's, and readable by the library that types them.
//!
//! Source: AWS Lambda developer guide, example events in "Configuring Amazon MSK event sources for Lambda" and "Configuring
//! self-managed Apache Kafka event sources for Lambda": the names, their order, base64, header values as lists of numbers. Assumed,
//! since no page says so: header bytes are signed, as Java's are; a header whose value is null is `{}`; and a key or value that is
//! null is absent (powertools-lambda-typescript issues 4988 and 5016 tell of tombstones whose value is null, and undefined).

use std::time::Duration;

use aws_lambda_events::event::kafka::KafkaEvent;
use local::event::{EventRecord, EventSource, MAX_EVENT_BYTES, frame_size};
use local::mapping::{Mapping, Pollers};
use pipeline::Partition;
use rdkafka::Timestamp;
use rdkafka::message::{Header, OwnedHeaders, OwnedMessage};
use rdkafka::producer::FutureRecord;
use tokio::sync::mpsc::unbounded_channel;

use crate::scripted::{sandboxes, scripted};
use crate::topic::{one_topic, produce};

fn message(
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    timestamp: Timestamp,
    headers: Option<OwnedHeaders>,
) -> EventRecord {
    let (key, value) = (key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec));
    let topic = "some.topic-3".to_owned();
    let message = OwnedMessage::new(value, key, topic, timestamp, 7, 123, headers);
    EventRecord::of(&message).unwrap()
}

fn check(record: &EventRecord, expected: &str) {
    assert_eq!(std::str::from_utf8(&record.json).unwrap(), expected);
    let event = EventSource::SelfManaged.event("b:9092", [record]);
    let read: KafkaEvent = serde_json::from_slice(&event).unwrap();
    let read = &read.records["some.topic-3-7"][0];
    assert_eq!((read.partition, read.offset), (7, 123));
}

#[test]
fn a_record_is_the_json_that_lambda_sends() {
    let header = |key, value: Option<&'static str>| Header { key, value };
    let headers = OwnedHeaders::new()
        .insert(header("trace", Some("hi-ë")))
        .insert(header("nothing", None))
        .insert(header("trace", Some("")))
        .insert(header("a\"b", Some("\u{1}")));
    check(
        &message(
            Some(b"\x00\xff\x10"),
            Some(b"{}"),
            Timestamp::CreateTime(1_755_933_141_855),
            Some(headers),
        ),
        concat!(
            r#"{"topic":"some.topic-3","partition":7,"offset":123,"timestamp":1755933141855,"#,
            r#""timestampType":"CREATE_TIME","key":"AP8Q","value":"e30=","#,
            r#""headers":[{"trace":[104,105,45,-61,-85]},{},{"trace":[]},{"a\"b":[1]}]}"#,
        ),
    );
}

#[test]
fn what_is_null_is_absent_and_what_is_empty_is_empty() {
    check(
        &message(None, Some(b""), Timestamp::LogAppendTime(1), None),
        concat!(
            r#"{"topic":"some.topic-3","partition":7,"offset":123,"timestamp":1,"#,
            r#""timestampType":"LOG_APPEND_TIME","value":"","headers":[]}"#,
        ),
    );
    check(
        &message(Some(b""), None, Timestamp::CreateTime(0), None),
        concat!(
            r#"{"topic":"some.topic-3","partition":7,"offset":123,"timestamp":0,"#,
            r#""timestampType":"CREATE_TIME","key":"","headers":[]}"#,
        ),
    );
}

#[test]
fn a_record_without_a_time_says_minus_1() {
    let record = message(None, None, Timestamp::NotAvailable, None);
    assert_eq!(record.timestamp, -1);
    let json: serde_json::Value = serde_json::from_slice(&record.json).unwrap();
    assert_eq!(json["timestamp"], -1);
}

#[test]
fn the_event_names_its_source_and_groups_records_by_partition() {
    let record = message(None, None, Timestamp::CreateTime(1), None);
    let json = std::str::from_utf8(&record.json).unwrap();
    let check = |source: EventSource, opening: &str| {
        let event = source.event("b1:9092,b2:9092", [&record, &record]);
        let expected = format!(
            r#"{opening},"bootstrapServers":"b1:9092,b2:9092","records":{{"some.topic-3-7":[{json},{json}]}}}}"#
        );
        assert_eq!(std::str::from_utf8(&event).unwrap(), expected);
        let read: KafkaEvent = serde_json::from_slice(&event).unwrap();
        assert_eq!(read.bootstrap_servers.as_deref(), Some("b1:9092,b2:9092"));
        // What a mapping counts before it builds an event comes to the very byte, for several partitions too.
        let topic = "some.topic-3".parse().unwrap();
        let counted = |records: &[&EventRecord], partitions: &[i32]| {
            let frames = partitions
                .iter()
                .map(|at| frame_size(&topic, Partition::new(*at).unwrap()));
            let records = records.iter().map(|record| record.size());
            let left = source.room("b1:9092,b2:9092") - records.sum::<usize>();
            MAX_EVENT_BYTES - (left - frames.sum::<usize>())
        };
        assert_eq!(event.len(), counted(&[&record, &record], &[7]));
        let mut other = record.clone();
        other.coordinates.partition = Partition::new(12).unwrap();
        let event = source.event("b1:9092,b2:9092", [&record, &other, &record]);
        assert_eq!(event.len(), counted(&[&record, &record, &other], &[7, 12]));
    };
    let arn = "arn:aws:kafka:us-east-1:000000000000:cluster/brew/1-1".to_owned();
    check(
        EventSource::Msk { arn: arn.clone() },
        &format!(r#"{{"eventSource":"aws:kafka","eventSourceArn":"{arn}""#),
    );
    check(
        EventSource::SelfManaged,
        r#"{"eventSource":"SelfManagedKafka""#,
    );
}

/// What a mapping reads from a broker and gives to a function, for both sources.
#[tokio::test]
async fn what_the_function_gets_is_the_golden_event() {
    let topic = one_topic(2);
    let header = |key, value: Option<&'static [u8]>| Header { key, value };
    let headers = OwnedHeaders::new()
        .insert(header("headerKey", Some(b"headerValue")))
        .insert(header("signed", Some(b"\xc3\xab\x00\x7f\x80\xff")))
        .insert(header("twice", Some(b"2")))
        .insert(header("nothing", Some(b"")))
        .insert(header("twice", Some(b"1")))
        .insert(header("lost", None));
    let new = |partition: i32, millis: i64| {
        FutureRecord::<[u8], [u8]>::to("some.topic-3")
            .partition(partition)
            .timestamp(1_545_084_650_000 + millis)
    };
    let records = [
        new(0, 987)
            .key(b"k-7")
            .payload(b"Hello, this is a test.")
            .headers(headers),
        new(0, 988).payload(b"\x00\xff\x10"),
        new(0, 989).key(b""),
        new(1, 990).key(b"\x00").payload(b""),
    ];
    for record in records {
        produce(topic.brokers(), record).await;
    }
    let arn = "arn:aws:kafka:us-east-1:123456789012:cluster/vpc-2priv-2pub/751d2973-a626-431c-9d4e-d7975eb44dd7-2";
    let msk = EventSource::Msk {
        arn: arn.to_owned(),
    };
    for (source, golden) in [
        (
            EventSource::SelfManaged,
            include_str!("golden/self-managed.json"),
        ),
        (msk, include_str!("golden/msk.json")),
    ] {
        let scripted = scripted(&["answer {}"]);
        let mut settings = topic.mapping(4);
        settings.group = golden.len().to_string();
        settings.source = source;
        settings.batching.window = Duration::from_secs(10);
        settings.pollers = Pollers::Provisioned(sandboxes(1));
        let (sender, _reports) = unbounded_channel();
        let mapping = Mapping::start(settings, scripted.function.clone(), sender).unwrap();
        mapping.idle_for(Duration::from_millis(200)).await.unwrap();
        let event = std::fs::read_to_string(scripted.folder.path().join("events")).unwrap();
        assert_eq!(event, golden.replace("BROKERS", topic.brokers()));
        let read: KafkaEvent = serde_json::from_str(&event).unwrap();
        let read = &read.records["some.topic-3-0"];
        assert_eq!(read[0].key.as_deref(), Some("ay03"));
        assert_eq!(read[0].headers[1]["signed"], [-61, -85, 0, 127, -128, -1]);
        assert_eq!(
            (read[1].key.as_deref(), read[2].value.as_deref()),
            (None, None)
        );
    }
}
