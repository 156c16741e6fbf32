//! JSON objects and arrays split into raw slices, without reading what is in them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON object's fields in their order, duplicates included.
///
/// Names are bytes: one with half a surrogate pair is no UTF-8, and must fail nothing but itself.
pub(crate) struct Object<'a>(Vec<(Cow<'a, [u8]>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Splits an object; `None` when the JSON is none.
    pub(crate) fn read(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// Walks over the fields.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// Walks over every value of a name.
    pub(crate) fn all(&self, name: &'static [u8]) -> impl Iterator<Item = &'a RawValue> {
        self.iter()
            .filter(move |(field, _)| *field == name)
            .map(|(_, value)| value)
    }

    /// Returns the last value of a name, as most readers of JSON do.
    pub(super) fn last(&self, name: &'static [u8]) -> Option<&'a RawValue> {
        self.all(name).last()
    }
}

/// Splits a JSON array; `None` when the JSON is none.
pub(super) fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns a JSON string's text; `None` when the JSON is no string, or one that is not Unicode.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inside = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inside.contains('\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inside))
    }
}

/// Tells whether the JSON is null.
pub(super) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            fields.push((name, value));
        }
        Ok(Object(fields))
    }
}

struct Name<'a>(Cow<'a, [u8]>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(NameBytes)
    }
}

struct NameBytes;

impl<'de> Visitor<'de> for NameBytes {
    type Value = Name<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_bytes<E>(self, name: &'de [u8]) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(name)))
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(name.to_owned())))
    }
}
