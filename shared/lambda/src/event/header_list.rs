//! The headers of one record of an event.
//!
//! Lambda sends a list of objects of one name each, the value as a list of signed bytes, and a null value as `{}`. Emulators send
//! unsigned bytes, base64 or null. What cannot be read is left out and counted; it never costs the record.

use base64::Engine;
use bytes::Bytes;
use pipeline::{Header, Headers};
use serde_json::value::RawValue;

use super::object::{Object, elements, is_null, text};
use super::record::BASE64;

/// Reads the headers that can be read, in order; adds the others to `lost`.
pub(super) fn decode(field: Option<&RawValue>, lost: &mut u64) -> Headers {
    let Some(raw) = field.filter(|raw| !is_null(raw)) else {
        return Headers::default();
    };
    let mut headers = Vec::new();
    if let Some(list) = elements(raw) {
        for element in list {
            match Object::read(element) {
                Some(object) if object.iter().next().is_some() => {
                    read_into(&object, &mut headers, lost);
                }
                // `{}` is how Lambda writes a header whose value is null: its name is gone.
                Some(_) | None => *lost = lost.saturating_add(1),
            }
        }
    } else if let Some(object) = Object::read(raw) {
        read_into(&object, &mut headers, lost);
    } else {
        *lost = lost.saturating_add(1);
    }
    Headers::new(headers)
}

fn read_into(object: &Object<'_>, headers: &mut Vec<Header>, lost: &mut u64) {
    for (name, value) in object.iter() {
        match (std::str::from_utf8(name), header_value(value)) {
            (Ok(name), Some(value)) => headers.push(Header {
                name: name.to_owned(),
                value,
            }),
            (Ok(_) | Err(_), _) => *lost = lost.saturating_add(1),
        }
    }
}

/// Reads a value: `Some(None)` when it is null, `None` when it cannot be read.
#[expect(
    clippy::option_option,
    reason = "the outer level says whether reading worked, the inner one is Kafka's null"
)]
fn header_value(raw: &RawValue) -> Option<Option<Bytes>> {
    if is_null(raw) {
        return Some(None);
    }
    let bytes = match text(raw) {
        Some(base64) => BASE64.decode(base64.as_bytes()).ok()?,
        None => serde_json::from_str::<Vec<i16>>(raw.get())
            .ok()?
            .into_iter()
            .map(byte)
            .collect::<Option<Vec<u8>>>()?,
    };
    Some(Some(Bytes::from(bytes)))
}

/// Takes a byte as Java (signed) and as everyone else (unsigned) writes it.
fn byte(number: i16) -> Option<u8> {
    u8::try_from(number)
        .or_else(|_| i8::try_from(number).map(i8::cast_unsigned))
        .ok()
}
