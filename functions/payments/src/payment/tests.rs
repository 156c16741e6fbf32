use proptest::prelude::*;

use super::*;

const WHOLE: &str = r#"{"schema_version":1,"payment_id":"k-7","order_id":"o-7","amount":1250,"currency":"RUB","metadata":{"mode":"ok"}}"#;

/// Returns the whole payment with one field's text replaced.
fn with(field: &str, text: &str) -> String {
    let old = match field {
        "schema_version" => "1",
        "payment_id" => r#""k-7""#,
        "order_id" => r#""o-7""#,
        "amount" => "1250",
        "currency" => r#""RUB""#,
        "metadata" => r#"{"mode":"ok"}"#,
        other => panic!("no field {other}"),
    };
    WHOLE.replace(
        &format!(r#""{field}":{old}"#),
        &format!(r#""{field}":{text}"#),
    )
}

fn without(field: &str) -> String {
    with(field, "\u{0}")
        .replace(&format!("\"{field}\":\u{0},"), "")
        .replace(&format!(",\"{field}\":\u{0}"), "")
}

#[track_caller]
fn check(value: &str, expected: Option<ErrorCode>) {
    check_bytes(value.as_bytes(), expected);
}

#[track_caller]
fn check_bytes(value: &[u8], expected: Option<ErrorCode>) {
    let code = Payment::decode(Some(value)).err().map(|failure| {
        assert!(failure.message.len() < 200, "{}", failure.message);
        failure.code
    });
    assert_eq!(code, expected, "{}", String::from_utf8_lossy(value));
}

#[test]
fn a_payment_is_read_and_its_charge_is_these_bytes() {
    let payment = Payment::decode(Some(WHOLE.as_bytes())).unwrap();
    assert_eq!(payment.id().as_str(), "k-7");
    assert_eq!(
        String::from_utf8(payment.charge_body().unwrap()).unwrap(),
        r#"{"payment_id":"k-7","order_id":"o-7","amount":1250,"currency":"RUB","metadata":{"mode":"ok"}}"#
    );
}

#[test]
fn the_order_of_fields_and_of_metadata_does_not_change_the_charge() {
    let one = r#"{"schema_version":1,"payment_id":"k","order_id":"o","amount":1,"currency":"EUR","metadata":{"b":"2","a":"1"}}"#;
    let other = r#" {"metadata" : {"a":"1","b":"\u0032"},"currency":"EUR","x":[{}],"amount":1,"order_id":"o","payment_id":"k","schema_version":1} "#;
    let body = |value: &str| {
        Payment::decode(Some(value.as_bytes()))
            .unwrap()
            .charge_body()
            .unwrap()
    };
    assert_eq!(body(one), body(other));
}

#[test]
fn absent_and_null_metadata_are_left_out_of_the_charge_and_empty_metadata_stays() {
    let body = |value: &str| {
        let body = Payment::decode(Some(value.as_bytes()))
            .unwrap()
            .charge_body();
        String::from_utf8(body.unwrap()).unwrap()
    };
    assert!(!body(&without("metadata")).contains("metadata"));
    assert!(!body(&with("metadata", "null")).contains("metadata"));
    assert!(body(&with("metadata", "{}")).ends_with(r#","metadata":{}}"#));
}

#[test]
fn a_tombstone_is_invalid() {
    let failure = Payment::decode(None).unwrap_err();
    assert_eq!(failure.code, ErrorCode::PayloadInvalid);
}

#[test]
fn what_is_not_one_json_object_is_malformed() {
    for value in [
        "",
        " ",
        "null",
        "true",
        "1",
        "[]",
        "\"\"",
        "{",
        "}",
        "{}}",
        "not json",
        "{\"schema_version\":1,}",
        "{'schema_version':1}",
        "{schema_version:1}",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "{\"a\":1e}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\\x\"}",
        "{\"\\ud800\":1}",
    ] {
        check(value, Some(ErrorCode::PayloadMalformed));
    }
    let array = format!("[{WHOLE}]");
    for value in [
        array.as_str(),
        &format!("{WHOLE}{WHOLE}"),
        &format!("{WHOLE},"),
        &format!("{WHOLE}\u{0}"),
        &format!("\u{feff}{WHOLE}"),
        &"[".repeat(200_000),
        &"{\"a\":".repeat(200_000),
    ] {
        check(value, Some(ErrorCode::PayloadMalformed));
    }
    for cut in 0..WHOLE.len() {
        check(&WHOLE[..cut], Some(ErrorCode::PayloadMalformed));
    }
}

#[test]
fn bytes_that_are_not_utf8_are_malformed_wherever_they_stand() {
    for at in 0..WHOLE.len() {
        let mut value = WHOLE.as_bytes().to_vec();
        value[at] = 0xff;
        check_bytes(&value, Some(ErrorCode::PayloadMalformed));
    }
    check_bytes(b"\x1f\x8b\x08\x00", Some(ErrorCode::PayloadMalformed));
    check_bytes(
        &[0x00, 0x00, 0x00, 0x00, 0x2a, 0x7b, 0x7d],
        Some(ErrorCode::PayloadMalformed),
    );
}

#[test]
fn only_the_integer_1_is_a_known_schema_version() {
    for version in [
        "2",
        "0",
        "-1",
        "1.0",
        "1e0",
        "10e-1",
        "\"1\"",
        "true",
        "null",
        "[1]",
        "{}",
        "11",
        "18446744073709551617",
    ] {
        check(
            &with("schema_version", version),
            Some(ErrorCode::PayloadSchemaVersion),
        );
    }
    check(
        &without("schema_version"),
        Some(ErrorCode::PayloadSchemaVersion),
    );
    check("{}", Some(ErrorCode::PayloadSchemaVersion));
    check(&with("schema_version", " 1 "), None);
}

#[test]
fn the_schema_version_is_looked_at_before_the_fields() {
    for value in [
        r#"{"schema_version":2}"#,
        r#"{"amount":-1,"schema_version":2,"payment_id":7}"#,
        r#"{"amount":1,"amount":1,"schema_version":"1"}"#,
    ] {
        check(value, Some(ErrorCode::PayloadSchemaVersion));
    }
}

#[test]
fn a_field_that_is_missing_or_of_another_type_is_malformed() {
    for field in ["payment_id", "order_id", "amount", "currency"] {
        check(&without(field), Some(ErrorCode::PayloadMalformed));
        for other in ["null", "true", "[]", "{}", "[\"k\"]"] {
            check(&with(field, other), Some(ErrorCode::PayloadMalformed));
        }
    }
    for field in ["payment_id", "order_id", "currency"] {
        for other in ["1", r#""\ud800""#, r#""\udc00\ud800""#] {
            check(&with(field, other), Some(ErrorCode::PayloadMalformed));
        }
    }
    for other in ["\"1250\"", "1250.0", "1250.5", "1.25e3", "1E3", "-0.5"] {
        check(&with("amount", other), Some(ErrorCode::PayloadMalformed));
    }
    for other in [
        "true",
        "1",
        "\"a\"",
        "[]",
        r#"["a"]"#,
        r#"{"a":1}"#,
        r#"{"a":null}"#,
        r#"{"a":{}}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"\ud800":"a"}"#,
    ] {
        check(&with("metadata", other), Some(ErrorCode::PayloadMalformed));
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check(&with("metadata", &deep), Some(ErrorCode::PayloadMalformed));
    check(&with("amount", &deep), Some(ErrorCode::PayloadMalformed));
}

#[test]
fn an_amount_beyond_64_bits_is_malformed() {
    check(&with("amount", "9223372036854775807"), None);
    for amount in [
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "-1e400",
        &"9".repeat(100_000),
    ] {
        check(&with("amount", amount), Some(ErrorCode::PayloadMalformed));
    }
    check(
        &with("amount", "-9223372036854775808"),
        Some(ErrorCode::PayloadInvalid),
    );
}

#[test]
fn a_known_field_that_stands_twice_is_malformed_also_when_both_agree() {
    for (field, text) in [
        ("schema_version", "1"),
        ("payment_id", r#""k-7""#),
        ("order_id", r#""o-7""#),
        ("amount", "1250"),
        ("currency", r#""RUB""#),
        ("metadata", "null"),
    ] {
        let twice = WHOLE.replacen('{', &format!(r#"{{"{field}":{text},"#), 1);
        check(&twice, Some(ErrorCode::PayloadMalformed));
    }
    let escaped = WHOLE.replacen('{', r#"{"\u0061mount":1250,"#, 1);
    check(&escaped, Some(ErrorCode::PayloadMalformed));
    check(
        &with("metadata", r#"{"mode":"ok","mode":"ok"}"#),
        Some(ErrorCode::PayloadMalformed),
    );
    check(
        &with("metadata", r#"{"mode":"ok","m\u006fde":"ok"}"#),
        Some(ErrorCode::PayloadMalformed),
    );
}

#[test]
fn a_broken_rule_of_the_domain_is_invalid() {
    for amount in ["0", "-0", "-1", "-1250"] {
        check(&with("amount", amount), Some(ErrorCode::PayloadInvalid));
    }
    for currency in [
        "", "RU", "RUBL", "rub", "RUb", "R B", "ЯЯЯ", "ÀB", "RU1", "RUB ",
    ] {
        check(
            &with("currency", &format!("\"{currency}\"")),
            Some(ErrorCode::PayloadInvalid),
        );
    }
    let longest = "x".repeat(128);
    for field in ["payment_id", "order_id"] {
        let too_long = "x".repeat(129);
        for id in [
            "", ".", "..", " ", "a b", "k-7 ", "\\n", "\\u0000", "\\u007f", "é", "ключ", &too_long,
        ] {
            check(
                &with(field, &format!("\"{id}\"")),
                Some(ErrorCode::PayloadInvalid),
            );
        }
        for id in ["...", "a/b", "%2e%2e", "?", "#", "~", "!", &longest] {
            check(&with(field, &format!("\"{id}\"")), None);
        }
    }
}

#[test]
fn a_wrong_type_weighs_more_than_a_broken_rule() {
    let both = with("amount", "0").replace("\"RUB\"", "7");
    check(&both, Some(ErrorCode::PayloadMalformed));
}

#[test]
fn an_unknown_field_is_ignored_whatever_it_holds() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for extra in ["null", "1e999", "\"\\ud800\"", "{\"a\":1,\"a\":2}", &deep] {
        let value = WHOLE.replacen('{', &format!("{{\"x\":{extra},\"x\":{extra},"), 1);
        check(&value, None);
    }
}

#[test]
fn the_failure_names_the_field_and_never_its_value() {
    let secret = "4111111111111111";
    for (field, text) in [
        ("payment_id", format!("\"{secret} \"")),
        ("order_id", format!("[\"{secret}\"]")),
        ("amount", format!("{secret}.5")),
        ("currency", format!("\"{secret}\"")),
        ("metadata", format!("{{\"{secret}\":{secret}}}")),
        ("schema_version", secret.to_owned()),
    ] {
        let failure = Payment::decode(Some(with(field, &text).as_bytes())).unwrap_err();
        assert!(failure.message.contains(field), "{failure}");
        assert!(!failure.message.contains("4111"), "{failure}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused_without_a_panic(value in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Payment::decode(Some(&value)).is_err());
    }

    #[test]
    fn any_byte_changed_never_panics(at in 0..WHOLE.len(), byte in any::<u8>()) {
        let mut value = WHOLE.as_bytes().to_vec();
        value[at] = byte;
        drop(Payment::decode(Some(&value)));
    }

    #[test]
    fn a_legal_payment_is_read_whatever_it_holds(
        id in "[!-~]{3,128}",
        amount in 1..=i64::MAX,
        currency in "[A-Z]{3}",
        metadata in proptest::option::of(proptest::collection::btree_map(any::<String>(), any::<String>(), 0..4)),
    ) {
        let value = serde_json::json!({
            "schema_version": 1, "payment_id": id, "order_id": id, "amount": amount, "currency": currency, "metadata": metadata,
        });
        let payment = Payment::decode(Some(value.to_string().as_bytes())).unwrap();
        prop_assert_eq!(payment.id().as_str(), &id);
        let body: serde_json::Value = serde_json::from_slice(&payment.charge_body().unwrap()).unwrap();
        let mut expected = value;
        let fields = expected.as_object_mut().unwrap();
        fields.remove("schema_version");
        if metadata.is_none() {
            fields.remove("metadata");
        }
        prop_assert_eq!(body, expected);
    }
}
