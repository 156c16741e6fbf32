//! What emulators and hostile producers send.

use super::*;

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn row_10_a_header_of_null_is_kept_where_its_name_is_known() {
    check_headers(r#","headers":[{"h":null}]"#, &[("h", None)], 0);
    check_headers(
        r#","headers":[{"a":[49]},{"h":null},{"b":[]}]"#,
        &[("a", Some(b"1")), ("h", None), ("b", Some(b""))],
        0,
    );
    check_headers(r#","headers":{"h":null}"#, &[("h", None)], 0);
}

#[test]
fn row_11_a_header_without_a_name_is_counted_and_costs_nothing() {
    check_headers(
        r#","headers":[{"traceparent":[48]},{}]"#,
        &[("traceparent", Some(b"0"))],
        1,
    );
    check_headers(r#","headers":[{},{},{}]"#, &[], 3);
}

#[test]
fn row_12_header_bytes_are_read_signed_and_unsigned() {
    check_headers(
        r#","headers":[{"h":[104,105,45,-61,-85]}]"#,
        &[("h", Some("hi-ë".as_bytes()))],
        0,
    );
    check_headers(
        r#","headers":[{"h":[195,171]}]"#,
        &[("h", Some("ë".as_bytes()))],
        0,
    );
    check_headers(
        r#","headers":[{"h":[-128,-1,0,127,128,255]}]"#,
        &[("h", Some(&[128, 255, 0, 127, 128, 255]))],
        0,
    );
}

#[test]
fn row_13_a_header_in_base64_is_read() {
    check_headers(r#","headers":[{"a":"YQ=="}]"#, &[("a", Some(b"a"))], 0);
    check_headers(
        r#","headers":[{"a":"YQ"},{"b":""}]"#,
        &[("a", Some(b"a")), ("b", Some(b""))],
        0,
    );
    check_headers(r#","headers":{"a":"YQ=="}"#, &[("a", Some(b"a"))], 0);
}

#[test]
fn row_21_a_tombstone_is_a_record_without_a_value() {
    check_key_and_value(r#","key":"YQ==","value":null"#, Some(b"a"), None);
    check_key_and_value(r#","key":"YQ==""#, Some(b"a"), None);
}

#[test]
fn row_36_a_record_without_a_time_does_not_cost_the_other_nine() {
    let records: Vec<String> = (0..10)
        .map(|offset| {
            let timestamp = if offset == 4 {
                -1_i64
            } else {
                1_755_933_141_855
            };
            format!(r#"{{"topic":"t","partition":0,"offset":{offset},"timestamp":{timestamp}}}"#)
        })
        .collect();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    let timestamps: Vec<i64> = decode_records(&records)
        .entries
        .iter()
        .map(|entry| record_of(entry).timestamp.millis())
        .collect();
    assert_eq!(timestamps.len(), 10);
    assert_eq!(timestamps.iter().filter(|millis| **millis == -1).count(), 1);
}

#[test]
fn row_65_what_the_official_types_refuse_is_read_leniently() {
    check_headers(r#","headers":[{"h":[195]}]"#, &[("h", Some(&[195]))], 0);
    check_headers(r#","headers":null"#, &[], 0);
    check_headers("", &[], 0);
    check_headers(r#","headers":[{"a":null}]"#, &[("a", None)], 0);
    check_timestamp(r#","timestamp":-1"#, -1);
    check_undecodable("7", None);
}

#[test]
fn headers_that_cannot_be_read_are_lost_and_counted_one_by_one() {
    check_headers(r#","headers":[]"#, &[], 0);
    check_headers(r#","headers":{}"#, &[], 0);
    check_headers(
        r#","headers":[{"low":[-129]},{"a":[49]},{"high":[256]},{"huge":[1e99]}]"#,
        &[("a", Some(b"1"))],
        3,
    );
    check_headers(
        r#","headers":[{"a":[1.5]},{"b":[null]},{"c":["1"]}]"#,
        &[],
        3,
    );
    check_headers(
        r#","headers":[{"a":{}},{"b":true},{"c":7},{"d":"?"}]"#,
        &[],
        4,
    );
    check_headers(r#","headers":[null,7,"h",[],[{"a":[49]}]]"#, &[], 5);
    check_headers(r#","headers":7"#, &[], 1);
    check_headers(r#","headers":"none""#, &[], 1);
    check_headers(
        r#","headers":[{"\ud800":[49]},{"a":[49]}]"#,
        &[("a", Some(b"1"))],
        1,
    );
    check_headers(
        &format!(r#","headers":[{{"a":{}}},{{"b":[49]}}]"#, nested(100_000)),
        &[("b", Some(b"1"))],
        1,
    );
}

#[test]
fn several_names_in_one_object_are_several_headers() {
    check_headers(
        r#","headers":[{"a":[49],"b":[50],"a":[51],"c":[999]}]"#,
        &[("a", Some(b"1")), ("b", Some(b"2")), ("a", Some(b"3"))],
        1,
    );
}

#[test]
fn header_names_are_any_text() {
    check_headers(
        r#","headers":[{"":[49]},{"n\u0000\u00eb\ud83d\ude00":[50]},{"na me":[]}]"#,
        &[
            ("", Some(b"1")),
            ("n\0ë😀", Some(b"2")),
            ("na me", Some(b"")),
        ],
        0,
    );
}

#[test]
fn a_timestamp_is_taken_as_it_is_or_is_none() {
    check_timestamp("", -1);
    for (timestamp, expected) in [
        ("null", -1),
        ("-1", -1),
        ("0", 0),
        ("-9223372036854775808", i64::MIN),
        ("9223372036854775807", i64::MAX),
        ("1755933141855875", 1_755_933_141_855_875),
        ("9223372036854775808", -1),
        ("1e400", -1),
        ("1755933141855.5", -1),
        ("\"1755933141855\"", -1),
        ("\"2025-08-23T07:12:21Z\"", -1),
        ("{}", -1),
        ("true", -1),
    ] {
        check_timestamp(&format!(r#","timestamp":{timestamp}"#), expected);
    }
    check_timestamp(r#","timestamp":9,"timestampType":7"#, 9);
    check_timestamp(r#","timestamp":9,"timestampType":"NO_TIMESTAMP_TYPE""#, 9);
}

#[test]
fn key_and_value_are_the_bytes_that_kafka_holds() {
    check_key_and_value(r#","key":null,"value":null"#, None, None);
    check_key_and_value(r#","key":"","value":"""#, Some(b""), Some(b""));
    check_key_and_value(
        r#","key":"AP8Q","value":"/w==""#,
        Some(&[0, 255, 16]),
        Some(&[255]),
    );
    check_key_and_value(r#","value":"\/w==""#, None, Some(&[255]));
    check_key_and_value(r#","value":"\u0059Q""#, None, Some(b"a"));
}

#[test]
fn unknown_fields_are_ignored_whatever_is_in_them() {
    for field in [
        r#","x":"\ud800""#,
        r#","\ud800":"\udfff""#,
        r#","x":1e999"#,
        r#","x":-0.0e-0"#,
        r#","":{"topic":"u","offset":7}"#,
        &format!(r#","x":{}"#, nested(100_000)),
    ] {
        check_key_and_value(&format!(r#"{field},"value":"YQ==""#), None, Some(b"a"));
    }
}

#[test]
fn of_fields_that_stand_twice_the_last_counts() {
    check_key_and_value(
        r#","key":"YQ==","key":null,"value":7,"value":"YQ==""#,
        None,
        Some(b"a"),
    );
}

#[test]
fn what_is_no_object_is_undecodable() {
    for raw in [
        "null",
        "true",
        "-7e3",
        r#""\ud800""#,
        "[]",
        "[{}]",
        "\"\"",
        "{}",
        &nested(100_000),
        &format!("{}1{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000)),
    ] {
        check_undecodable(raw, None);
    }
}

#[test]
fn an_offset_that_is_none_makes_a_record_undecodable() {
    check_undecodable(r#"{"topic":"t","partition":0}"#, None);
    for offset in [
        "null",
        "-1",
        "-0",
        "1.0",
        "1e3",
        "\"2\"",
        "[]",
        "9223372036854775808",
        "123456789012345678901234567890",
    ] {
        let raw = format!(r#"{{"topic":"t","partition":0,"offset":{offset}}}"#);
        check_undecodable(&raw, None);
    }
    let (entry, _) = between_good(r#"{"topic":"t","partition":0,"offset":9223372036854775807}"#);
    assert_eq!(record_of(&entry).coordinates.offset.get(), i64::MAX);
}

#[test]
fn base64_that_is_broken_makes_a_record_undecodable_where_it_is() {
    for text in [
        r#""?""#,
        r#""Y""#,
        r#""YQ===""#,
        r#""YR==""#,
        r#""YQ==\n""#,
        r#"" YQ==""#,
        r#""_w==""#,
        r#""\ud800""#,
        "7",
        "{}",
        "[89,81]",
        "true",
    ] {
        check_undecodable(&with(&format!(r#","key":{text}"#)), Some(2));
        check_undecodable(&with(&format!(r#","value":{text}"#)), Some(2));
    }
}

#[test]
fn what_is_wrong_is_named_without_the_payload() {
    for field in ["key", "value"] {
        let (entry, _) = between_good(&with(&format!(r#","{field}":"4111 1111 1111 1111""#)));
        let Entry::Undecodable(undecodable) = entry else {
            panic!("{entry:?}")
        };
        assert!(undecodable.why.contains(field), "{}", undecodable.why);
        assert!(!undecodable.why.contains("1111"), "{}", undecodable.why);
    }
}

#[test]
fn a_record_that_does_not_tell_its_place_has_the_place_of_its_list() {
    for fields in [
        r#""offset":4"#,
        r#""topic":null,"partition":null,"offset":4"#,
        r#""topic":"some.topic-3","offset":4"#,
        r#""partition":7,"offset":4"#,
        r#""topic":"a b","partition":1,"offset":4"#,
        r#""topic":7,"partition":-1,"offset":4"#,
        r#""topic":"u","partition":2147483648,"offset":4"#,
        r#""topic":"some\u002etopic-3","partition":7,"offset":4"#,
    ] {
        check_places(
            &format!(r#"{{"records":{{"some.topic-3-7":[{{{fields}}}]}}}}"#),
            &["some.topic-3/7/4"],
        );
    }
    check_places(
        r#"{"records":{"a b-7":[{"topic":"u","offset":4}],"u-x":[{"partition":1,"offset":4}]}}"#,
        &["u/7/4", "u/1/4"],
    );
}

#[test]
fn the_place_that_a_record_tells_itself_comes_first() {
    for name in [
        "t-0",
        "",
        "-",
        "t",
        "a b-1",
        "t-x",
        "\\ud800-1",
        "x-99999999999",
    ] {
        check_places(
            &format!(r#"{{"records":{{"{name}":[{{"topic":"u","partition":3,"offset":4}}]}}}}"#),
            &["u/3/4"],
        );
    }
}

#[test]
fn a_record_without_a_place_anywhere_is_undecodable_with_what_is_known() {
    let check = |name: &str, fields: &str, topic: Option<&str>, partition: Option<i32>| {
        let payload = format!(
            r#"{{"records":{{"{name}":[{{{fields}"offset":4,"timestamp":9}}],"t-0":[{GOOD_BEFORE}]}}}}"#
        );
        let entries = decode(&payload).unwrap().entries;
        let [Entry::Undecodable(undecodable), Entry::Record(_)] = entries.as_slice() else {
            panic!("{entries:?}")
        };
        assert_eq!(undecodable.topic.as_ref().map(Topic::as_str), topic);
        assert_eq!(undecodable.partition.map(Partition::get), partition);
        assert_eq!(undecodable.offset.map(Offset::get), Some(4));
        assert_eq!(undecodable.timestamp.millis(), 9);
    };
    check("a b-1", "", None, Some(1));
    check("a b-1", r#""topic":"a b","partition":2,"#, None, Some(2));
    check("a b-x", r#""topic":"u","#, Some("u"), None);
    check("t-x", "", Some("t"), None);
    check("", "", None, None);
    check(".-1", "", None, Some(1));
    check("\\ud800-1", "", None, None);
}

#[test]
fn a_partition_that_is_no_list_is_one_undecodable_entry() {
    for raw in ["null", "{}", "7", r#""x""#, GOOD_BEFORE] {
        let payload = format!(r#"{{"records":{{"u-1":{raw},"t-0":[{GOOD_BEFORE}]}}}}"#);
        let entries = decode(&payload).unwrap().entries;
        let [Entry::Undecodable(undecodable), Entry::Record(_)] = entries.as_slice() else {
            panic!("{entries:?}")
        };
        assert_eq!(undecodable.raw, raw.as_bytes());
        assert_eq!(undecodable.topic.as_ref().map(Topic::as_str), Some("u"));
        assert_eq!(undecodable.partition, Partition::new(1));
        assert_eq!(undecodable.offset, None);
        assert_eq!(undecodable.timestamp, Timestamp::NONE);
    }
}

#[test]
fn hostile_records_beside_each_other_cost_only_themselves() {
    let event = decode_records(&[
        GOOD_BEFORE,
        "null",
        &nested(5_000),
        r#"{"offset":"x"}"#,
        &with(r#","value":"?""#),
        &with(r#","headers":[{}]"#),
        GOOD_AFTER,
    ]);
    let undecodable = event
        .entries
        .iter()
        .filter(|entry| matches!(entry, Entry::Undecodable(_)))
        .count();
    assert_eq!((event.entries.len(), undecodable), (7, 4));
}
