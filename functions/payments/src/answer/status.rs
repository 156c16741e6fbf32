//! The one field of a body that counts: `status`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What the provider says of a charge in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChargeStatus {
    Succeeded,
    Failed,
    Pending,
}

/// Returns the status that a body tells when it is a JSON object as a whole.
pub(super) fn of_whole(body: &[u8]) -> Option<ChargeStatus> {
    let (told, whole) = read(body);
    told.filter(|_| whole)
}

/// Returns the status that the beginning of a body tells, as far as it is a JSON object.
pub(super) fn of_beginning(body: &[u8]) -> Option<ChargeStatus> {
    read(body).0
}

/// Reads what there is, and tells whether it was one whole object.
fn read(body: &[u8]) -> (Option<ChargeStatus>, bool) {
    let mut told = None;
    let mut json = serde_json::Deserializer::from_slice(body);
    let whole = Told(&mut told).deserialize(&mut json).is_ok() && json.end().is_ok();
    (told, whole)
}

/// Writes the status down as soon as it is read, so that it survives a body that ends too early.
struct Told<'a>(&'a mut Option<ChargeStatus>);

impl<'de> DeserializeSeed<'de> for Told<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Told<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            if name == "status" {
                *self.0 = named(map.next_value::<&RawValue>()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

fn named(raw: &RawValue) -> Option<ChargeStatus> {
    match serde_json::from_str::<Cow<'_, str>>(raw.get())
        .ok()?
        .as_ref()
    {
        "succeeded" => Some(ChargeStatus::Succeeded),
        "failed" => Some(ChargeStatus::Failed),
        "pending" => Some(ChargeStatus::Pending),
        _ => None,
    }
}
