use proptest::prelude::*;

use super::*;

fn spilled() -> SpilledRecord {
    let mut headers = Headers::default();
    headers.push("trace", Some(Bytes::from_static(b"\xff\x00")));
    headers.push("trace", None);
    headers.push("error.class", Some(Bytes::from_static(b"permanent")));
    SpilledRecord {
        source: "brew.payments.v1/3/42".parse().unwrap(),
        timestamp: Timestamp::from_millis(1_755_933_141_805),
        outgoing: Outgoing {
            topic: "brew.payments.dlq".parse().unwrap(),
            key: Some(Bytes::from_static(b"k-7")),
            value: None,
            headers,
        },
    }
}

#[test]
fn a_spilled_record_lies_under_the_place_and_time_it_was_read_from() {
    assert_eq!(
        spilled().key(),
        "spill/brew.payments.v1-3-00000000000000000042-1755933141805.json"
    );
}

#[test]
fn key_headers_and_value_are_base64_and_null_stays_null() {
    assert_eq!(
        String::from_utf8(spilled().json()).unwrap(),
        concat!(
            r#"{"source":"brew.payments.v1/3/42","timestamp":1755933141805,"topic":"brew.payments.dlq","key":"ay03","#,
            r#""headers":[{"name":"trace","value":"/wA="},{"name":"trace","value":null},"#,
            r#"{"name":"error.class","value":"cGVybWFuZW50"}],"value":null}"#,
        )
    );
}

#[test]
fn what_is_no_spilled_record_is_refused() {
    let whole = String::from_utf8(spilled().json()).unwrap();
    for (from, to) in [
        ("{", "["),
        ("brew.payments.v1/3/42", "brew.payments.v1/3"),
        ("brew.payments.dlq", "brew payments dlq"),
        ("ay03", "ay0"),
        ("/wA=", "?"),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert!(
            SpilledRecord::from_json(broken.as_bytes()).is_err(),
            "{broken}"
        );
    }
}

#[test]
fn raw_json_lies_where_a_record_would_and_is_told_apart_where_its_place_is_not_known() {
    let topic: Topic = "t".parse().unwrap();
    let check = |topic, partition: i32, offset: i64, expected: &str| {
        let spill = RawSpill {
            topic,
            partition: Partition::new(partition),
            offset: Offset::new(offset),
            timestamp: Timestamp::from_millis(7),
            raw: b"\"x\"",
        };
        assert_eq!(spill.key(), expected);
    };
    check(Some(&topic), 1, 2, "spill/t-1-00000000000000000002-7.json");
    check(
        Some(&topic),
        1,
        -2,
        "spill/t-1-unknown-7-d47c1617d80fa71f.json",
    );
    check(
        Some(&topic),
        -1,
        2,
        "spill/t-unknown-2-7-d47c1617d80fa71f.json",
    );
    check(None, 1, 2, "spill/unknown-1-2-7-d47c1617d80fa71f.json");
}

#[test]
fn the_sum_is_fnv_1a() {
    assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
}

fn bytes() -> impl Strategy<Value = Option<Bytes>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from))
}

proptest! {
    #[test]
    fn a_spilled_record_comes_back_from_its_json(
        key in bytes(),
        value in bytes(),
        headers in prop::collection::vec((".{0,10}", bytes()), 0..5),
        millis: i64,
    ) {
        let headers = headers.into_iter().map(|(name, value)| Header { name, value }).collect();
        let spilled = SpilledRecord {
            timestamp: Timestamp::from_millis(millis),
            outgoing: Outgoing { key, value, headers, ..spilled().outgoing },
            ..spilled()
        };
        let json = spilled.json();
        prop_assert!(!json.contains(&b'\n'));
        prop_assert_eq!(SpilledRecord::from_json(&json), Ok(spilled));
    }
}
