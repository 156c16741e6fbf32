use proptest::prelude::*;

use super::*;
use crate::headers::Header;

const TIME: i64 = 1_755_933_141_805;

fn record(headers: &[(&str, Option<&[u8]>)]) -> Record {
    Record {
        coordinates: "brew.payments.dlq/1/2".parse().unwrap(),
        timestamp: Timestamp::from_millis(TIME),
        key: Some(Bytes::from_static(b"k-7")),
        value: Some(Bytes::from_static(br#"{"payment_id":"k-7"}"#)),
        headers: headers
            .iter()
            .map(|(name, value)| Header {
                name: (*name).to_owned(),
                value: value.map(Bytes::copy_from_slice),
            })
            .collect(),
    }
}

fn dead_letter() -> Record {
    record(&[
        ("traceparent", Some(b"00-1-2-01")),
        ("error.class", Some(b"transient")),
        ("error.code", Some(b"provider.timeout")),
        ("error.message", Some(b"no answer within 10 s")),
        ("error.timestamp", Some(b"2025-08-23T07:12:21.800Z")),
        ("retry.count", Some(b"3")),
        ("previous.topic", Some(b"brew.payments.retry.1h")),
        ("original.topic", Some(b"brew.payments.v1")),
        ("original.partition", Some(b"0")),
        ("original.offset", Some(b"14")),
        ("original.timestamp", Some(b"1755929541805")),
        ("dlq-reason", Some(b"exhausted")),
        ("replay.from-dlq", Some(b"brew.payments.dlq/1/1")),
        ("replay.timestamp", Some(b"2025-08-23T06:00:00.000Z")),
        ("replay.id", Some(b"r-1")),
        ("replay.count", Some(b"1")),
    ])
}

fn of(record: &Record) -> Incident {
    Incident::of(record, &Masker::default())
}

fn json(incident: &Incident) -> String {
    String::from_utf8(incident.json()).unwrap()
}

fn check_key(record: &Record, expected: &str) {
    assert_eq!(of(record).key(), expected);
}

#[test]
fn an_incident_holds_every_field_in_order_and_never_the_payload() {
    assert_eq!(
        json(&of(&dead_letter())),
        concat!(
            r#"{"dlq_topic":"brew.payments.dlq","dlq_partition":1,"dlq_offset":2,"key":"k-7","#,
            r#""original_topic":"brew.payments.v1","original_partition":"0","original_offset":"14","#,
            r#""previous_topic":"brew.payments.retry.1h","retry_count":"3","error_class":"transient","#,
            r#""error_code":"provider.timeout","error_message":"no answer within 10 s","#,
            r#""error_timestamp":"2025-08-23T07:12:21.800Z","dlq_reason":"exhausted","#,
            r#""replay_from_dlq":"brew.payments.dlq/1/1","replay_count":"1","replay_id":"r-1","#,
            r#""dlq_record_time":"2025-08-23T07:12:21.805Z","payload_bytes":20}"#,
        )
    );
}

#[test]
fn what_is_not_known_is_absent() {
    let bare = Record {
        timestamp: Timestamp::NONE,
        key: None,
        value: None,
        ..record(&[("error.code", None), ("error.class", Some(b"\xff"))])
    };
    assert_eq!(
        json(&of(&bare)),
        r#"{"dlq_topic":"brew.payments.dlq","dlq_partition":1,"dlq_offset":2,"payload_bytes":0}"#
    );
}

#[test]
fn the_key_of_the_object_tells_day_class_and_place() {
    check_key(
        &dead_letter(),
        "incidents/dt=2025-08-23/error_class=transient/brew.payments.dlq-1-00000000000000000002-1755933141805.json",
    );
    let permanent = record(&[("error.class", Some(b"permanent"))]);
    check_key(
        &permanent,
        "incidents/dt=2025-08-23/error_class=permanent/brew.payments.dlq-1-00000000000000000002-1755933141805.json",
    );
    let last = Record {
        coordinates: Coordinates {
            topic: "t".parse().unwrap(),
            partition: Partition::new(i32::MAX).unwrap(),
            offset: Offset::new(i64::MAX).unwrap(),
        },
        ..permanent
    };
    check_key(
        &last,
        "incidents/dt=2025-08-23/error_class=permanent/t-2147483647-09223372036854775807-1755933141805.json",
    );
}

#[test]
fn a_class_that_is_none_of_the_set_never_gets_into_the_path() {
    for class in [
        None,
        Some(&b""[..]),
        Some(b"Transient"),
        Some(b"transient "),
        Some(b"../../transient"),
        Some(b"transient/x"),
        Some(b"\xff"),
    ] {
        check_key(
            &record(&[("error.class", class)]),
            "incidents/dt=2025-08-23/error_class=unknown/brew.payments.dlq-1-00000000000000000002-1755933141805.json",
        );
    }
}

#[test]
fn the_day_is_unknown_at_or_before_the_epoch_and_after_the_year_9999() {
    for (millis, day) in [
        (i64::MIN, "unknown"),
        (-1, "unknown"),
        (0, "unknown"),
        (1, "1970-01-01"),
        (951_782_400_000, "2000-02-29"),
        (253_402_300_799_999, "9999-12-31"),
        (253_402_300_800_000, "unknown"),
        (1_755_933_141_855_875, "unknown"),
        (i64::MAX, "unknown"),
    ] {
        let record = Record {
            timestamp: Timestamp::from_millis(millis),
            ..record(&[])
        };
        check_key(
            &record,
            &format!(
                "incidents/dt={day}/error_class=unknown/brew.payments.dlq-1-00000000000000000002-{millis}.json"
            ),
        );
        assert_eq!(of(&record).dlq_record_time.is_some(), day != "unknown");
    }
}

#[test]
fn of_duplicate_headers_the_last_counts_also_when_it_is_null_or_no_text() {
    let check = |values: &[Option<&[u8]>], expected: Option<&str>| {
        let headers: Vec<_> = values.iter().map(|value| ("error.code", *value)).collect();
        assert_eq!(of(&record(&headers)).error_code.as_deref(), expected);
    };
    check(&[Some(b"a"), Some(b"b")], Some("b"));
    check(&[Some(b"a"), Some(b"")], Some(""));
    check(&[Some(b"a"), None], None);
    check(&[Some(b"a"), Some(b"\xff")], None);
    check(&[None, Some(b"b")], Some("b"));
}

#[test]
fn a_key_is_text_or_base64_or_absent() {
    let check = |key: Option<&'static [u8]>, text: Option<&str>, base64: Option<&str>| {
        let record = Record {
            key: key.map(Bytes::from_static),
            ..record(&[])
        };
        let incident = of(&record);
        assert_eq!(
            (incident.key.as_deref(), incident.key_base64.as_deref()),
            (text, base64)
        );
    };
    check(None, None, None);
    check(Some(b""), Some(""), None);
    check(Some("né".as_bytes()), Some("né"), None);
    check(Some(b"a\n\"b\0"), Some("a\n\"b\0"), None);
    check(Some(b"\x00\xff\x10"), None, Some("AP8Q"));
    check(Some(b"\xff Bearer abc"), Some("\u{fffd} Bearer ***"), None);
}

#[test]
fn everything_a_producer_wrote_is_masked() {
    let secret = b"4111 1111 1111 1111 Bearer abc Authorization: Basic abc tok3n".as_slice();
    let headers = names::ALL.map(|name| (name, Some(secret)));
    let record = Record {
        key: Some(Bytes::from_static(secret)),
        ..record(&headers)
    };
    let masker = Masker::with_secrets(["tok3n".to_owned()]);
    let incident = Incident::of(&record, &masker);
    let told = json(&incident);
    for secret in ["4111", "1111", "abc", "tok3n"] {
        assert!(!told.contains(secret), "{told}");
    }
    assert!(!incident.key().contains("Bearer"));
    let line = "*** Bearer *** Authorization: *** ***";
    assert_eq!(incident.error_message.as_deref(), Some(line));
    assert_eq!(incident.key.as_deref(), Some(line));
}

#[test]
fn an_incident_is_one_line_whatever_a_header_holds() {
    let hostile = b"a\n\r\x00\"}\n[ALERT] #9".as_slice();
    let headers = names::ALL.map(|name| (name, Some(hostile)));
    let json = json(&of(&record(&headers)));
    assert!(!json.contains(char::is_control), "{json}");
}

#[test]
fn a_spilled_record_is_told_by_the_place_it_was_read_from() {
    let dead_letter = dead_letter();
    let outgoing = Outgoing {
        topic: "brew.payments.dlq".parse().unwrap(),
        key: dead_letter.key.clone(),
        value: dead_letter.value.clone(),
        headers: dead_letter.headers.clone(),
    };
    let source: Coordinates = "brew.payments.retry.1h/0/9".parse().unwrap();
    let incident = Incident::of_spilled(
        &outgoing,
        &source,
        dead_letter.timestamp,
        "spill/x.json",
        &Masker::default(),
    );
    assert_eq!(
        incident.key(),
        "incidents/dt=2025-08-23/error_class=transient/brew.payments.retry.1h-0-00000000000000000009-1755933141805.json"
    );
    let told = json(&incident);
    assert!(
        told.starts_with(r#"{"spill":"spill/x.json","key":"k-7","original_topic""#),
        "{told}"
    );
    assert!(
        !told.contains("dlq_topic") && !told.contains("dlq_record_time"),
        "{told}"
    );
}

#[test]
fn an_entry_that_is_no_record_is_told_by_what_is_known_of_its_place() {
    let topic = "brew.payments.dlq".parse().unwrap();
    let spill = RawSpill {
        topic: Some(&topic),
        partition: Partition::new(1),
        offset: Offset::new(2),
        timestamp: Timestamp::from_millis(TIME),
        raw: b"7",
    };
    let incident = Incident::of_raw(&spill, "it is no\nobject", &Masker::default());
    assert_eq!(
        incident.key(),
        "incidents/dt=2025-08-23/error_class=permanent/brew.payments.dlq-1-00000000000000000002-1755933141805.json"
    );
    assert_eq!(
        json(&incident),
        concat!(
            r#"{"dlq_topic":"brew.payments.dlq","dlq_partition":1,"dlq_offset":2,"#,
            r#""spill":"spill/brew.payments.dlq-1-00000000000000000002-1755933141805.json","error_class":"permanent","#,
            r#""error_code":"payload.malformed","error_message":"it is no object","dlq_reason":"json","#,
            r#""dlq_record_time":"2025-08-23T07:12:21.805Z","payload_bytes":1}"#,
        )
    );
    let unknown = RawSpill {
        topic: None,
        partition: None,
        offset: None,
        timestamp: Timestamp::NONE,
        raw: b"7",
    };
    let other = RawSpill {
        raw: b"8",
        ..unknown
    };
    let key = |spill| {
        Incident::of_raw(spill, "", &Masker::default())
            .key()
            .to_owned()
    };
    assert_eq!(
        key(&unknown),
        "incidents/dt=unknown/error_class=permanent/unknown-unknown-unknown--1-af63aa4c86019796.json"
    );
    assert_ne!(key(&unknown), key(&other));
}

#[test]
fn an_object_that_is_no_incident_is_refused_by_name() {
    let error = Incident::from_json("incidents/x.json", b"[]").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("incidents/x.json is no incident: "),
        "{error}"
    );
    let of_a_later_release = br#"{"new_field":1,"payload_bytes":3}"#;
    assert_eq!(
        Incident::from_json("", of_a_later_release)
            .unwrap()
            .payload_bytes,
        3
    );
}

proptest! {
    #[test]
    fn an_incident_comes_back_from_its_json(
        key in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        values in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..20)), 15),
        millis: i64,
        length in 0_usize..100,
    ) {
        let headers: Vec<_> = names::ALL.into_iter().zip(values.iter().map(Option::as_deref)).collect();
        let record = Record {
            key: key.map(Bytes::from),
            timestamp: Timestamp::from_millis(millis),
            value: Some(Bytes::from(vec![0; length])),
            ..record(&headers)
        };
        let incident = of(&record);
        let read = Incident::from_json(incident.key(), &incident.json()).unwrap();
        prop_assert_eq!(&read, &incident);
        prop_assert_eq!(of(&record), incident);
    }
}
