//! The fields of a JSON object, each still as the text it stands as.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object in their order, duplicates included.
///
/// A general JSON value would keep the last of two equal names and turn numbers into floats; here neither is lost.
#[derive(Debug)]
pub(super) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads bytes that are one JSON object and nothing else.
    pub(super) fn read(value: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(value).map_err(|_| "the value is not UTF-8".to_owned())?;
        if !text.trim_ascii_start().starts_with('{') {
            return Err("the value is not a JSON object".to_owned());
        }
        serde_json::from_str(text).map_err(|error| {
            format!(
                "the value is not JSON: it breaks off or goes wrong at line {}, column {}",
                error.line(),
                error.column()
            )
        })
    }

    /// Returns the text of a field's value; `None` when there is no such field.
    pub(super) fn only(&self, name: &str) -> Result<Option<&'a str>, String> {
        let mut of_name = self.0.iter().filter(|(field, _)| field == name);
        let only = of_name.next().map(|(_, raw)| raw.get());
        match of_name.next() {
            None => Ok(only),
            Some(_) => Err(format!("{name} stands twice")),
        }
    }

    /// Returns a field that must be a string.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        let raw = self.needed(name)?;
        serde_json::from_str(raw).map_err(|_| format!("{name} is not a string"))
    }

    /// Returns a field that must be an integer of 64 bits, written as one: no fraction, no exponent.
    pub(super) fn integer(&self, name: &str) -> Result<i64, String> {
        let raw = self.needed(name)?;
        raw.parse()
            .map_err(|_| format!("{name} is not an integer of 64 bits"))
    }

    /// Returns a field that is an object of strings, or null, or absent.
    pub(super) fn text_map(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, String> {
        match self.only(name)? {
            None | Some("null") => Ok(None),
            Some(raw) => serde_json::from_str(raw)
                .map(|TextMap(map)| Some(map))
                .map_err(|_| {
                    format!("{name} is not an object of strings with each name only once")
                }),
        }
    }

    fn needed(&self, name: &str) -> Result<&'a str, String> {
        self.only(name)?.ok_or_else(|| format!("{name} is missing"))
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// An object of strings in which no name stands twice.
struct TextMap(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = TextMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut texts = BTreeMap::new();
                while let Some((name, text)) = map.next_entry()? {
                    if texts.insert(name, text).is_some() {
                        return Err(A::Error::custom("a name stands twice"));
                    }
                }
                Ok(TextMap(texts))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
