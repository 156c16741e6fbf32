//! Headers to and from rdkafka.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use bytes::Bytes;
use pipeline::{Header, Headers};
use rdkafka::message::{BorrowedHeaders, Header as NativeHeader, Headers as _, OwnedHeaders};

/// Returns the headers as rdkafka takes them, byte for byte, or nothing when there is none.
pub(crate) fn to_native(headers: &Headers) -> Option<OwnedHeaders> {
    if headers.is_empty() {
        return None;
    }
    let empty = OwnedHeaders::new_with_capacity(headers.len());
    Some(headers.iter().fold(empty, |native, header| {
        native.insert(NativeHeader {
            key: &header.name,
            value: header.value.as_deref(),
        })
    }))
}

/// Reads all headers in order, null values kept.
///
/// An error says why they cannot be read: rdkafka takes their names for UTF-8 and panics when they are not. A name with a NUL in
/// it is cut there: rdkafka reads names as C strings.
pub(crate) fn from_native(native: Option<&BorrowedHeaders>) -> Result<Headers, &'static str> {
    let Some(native) = native else {
        return Ok(Headers::default());
    };
    let read = || {
        let headers = native.iter().map(|header| Header {
            name: header.key.to_owned(),
            value: header.value.map(Bytes::copy_from_slice),
        });
        headers.collect()
    };
    quietly(read)
        .map(Headers::new)
        .ok_or("a header's name is not UTF-8")
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a part that may panic; such a panic is not reported, as anyone who can write to the topic can cause it.
fn quietly<T>(part: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                report(info);
            }
        }));
    });
    QUIET.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(part));
    QUIET.set(false);
    outcome.ok()
}
