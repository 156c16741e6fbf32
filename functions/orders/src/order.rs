//! An order: the value of a record, decoded and checked.

use pipeline::{ErrorCode, Failure};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The only version of the schema that there is.
const SCHEMA_VERSION: &str = "1";

/// An order: any JSON object, of schema version 1 where it tells one.
#[derive(Debug, Deserialize)]
pub struct Order<'a> {
    /// The version as it stands, null included; `None` where there is none.
    #[serde(borrow, default, deserialize_with = "as_it_stands")]
    schema_version: Option<&'a RawValue>,
}

impl<'a> Order<'a> {
    /// Decodes a record's value; the failure says what is wrong, never what the value holds.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, Failure> {
        let value = value.ok_or_else(|| invalid("the value is null"))?;
        let text = str::from_utf8(value).map_err(|_| malformed("the value is not UTF-8"))?;
        if !text.trim_ascii_start().starts_with('{') {
            return Err(malformed("the value is not a JSON object"));
        }
        let order: Self = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            malformed(format!(
                "the value is not a JSON object: it goes wrong at line {line}, column {column}"
            ))
        })?;
        match order.schema_version.map(RawValue::get) {
            None | Some(SCHEMA_VERSION) => Ok(order),
            Some(_) => Err(Failure::new(
                ErrorCode::PayloadSchemaVersion,
                "schema_version is not the integer 1",
            )),
        }
    }
}

/// Tells a field that is null from one that is not there.
fn as_it_stands<'a, D: Deserializer<'a>>(field: D) -> Result<Option<&'a RawValue>, D::Error> {
    Deserialize::deserialize(field).map(Some)
}

fn malformed(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::PayloadMalformed, message)
}

fn invalid(message: &str) -> Failure {
    Failure::new(ErrorCode::PayloadInvalid, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &[u8], expected: Result<(), ErrorCode>) {
        let decoded = Order::decode(Some(value));
        let told = String::from_utf8_lossy(value);
        let told: String = told.chars().take(80).collect();
        assert_eq!(
            decoded.map(drop).map_err(|failure| failure.code),
            expected,
            "{told}"
        );
    }

    #[test]
    fn any_json_object_is_one() {
        for value in [
            "{}",
            " \r\n\t{ } \n",
            r#"{"schema_version":1}"#,
            r#"{"schema_version": 1 , "lines":[{"sku":"a","count":2}]}"#,
            r#"{"schema\u005fversion":1}"#,
            r#"{"a":1e999,"a":"\ud800","":null}"#,
            r#"{"nested":{"schema_version":2}}"#,
        ] {
            check(value.as_bytes(), Ok(()));
        }
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
        check(deep.as_bytes(), Ok(()));
    }

    #[test]
    fn anything_else_is_malformed() {
        let values: [&[u8]; 14] = [
            b"",
            b" ",
            b"null",
            b"1",
            b"\"{}\"",
            b"[]",
            b"[1]",
            b"{",
            b"{}{}",
            b"{} x",
            b"{a:1}",
            b"{\"a\":\xff}",
            b"\xef\xbb\xbf{}",
            b"{\"schema_version\":1,\"schema_version\":1}",
        ];
        for value in values {
            check(value, Err(ErrorCode::PayloadMalformed));
        }
    }

    #[test]
    fn row_21_a_tombstone_is_invalid_and_no_object_of_any_kind() {
        let failure = Order::decode(None).unwrap_err();
        assert_eq!(failure.code, ErrorCode::PayloadInvalid);
    }

    #[test]
    fn a_version_that_is_told_is_the_integer_1() {
        for version in ["2", "0", "1.0", "\"1\"", "null", "[1]", "-1", "10", "true"] {
            let value = format!(r#"{{"id":"a","schema_version":{version}}}"#);
            check(value.as_bytes(), Err(ErrorCode::PayloadSchemaVersion));
        }
    }

    #[test]
    fn no_failure_tells_what_the_value_holds() {
        for value in [
            "secret",
            "{secret",
            r#"{"a":secret}"#,
            r#"{"schema_version":"secret"}"#,
        ] {
            let failure = Order::decode(Some(value.as_bytes())).unwrap_err();
            assert!(!failure.message.contains("secret"), "{failure}");
        }
    }
}
