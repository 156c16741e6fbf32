//! The payload that asks for a check.

use crate::event::object::Object;
use serde_json::value::RawValue;

/// Says that a payload asks for a check in a way that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCheck {
    /// Something else than `true`, once.
    #[error("\"check\" is not true: the payload of a check is {{\"check\":true}}")]
    NotTrue,
    /// There is more than that one field; names the first of the others.
    #[error("{0} stands beside \"check\": the payload of a check is {{\"check\":true}} alone")]
    Beside(String),
}

/// How much of a field's name is told, in characters.
const NAME: usize = 64;

/// Tells whether a payload asks for a check; one that has no field `check`, or is no JSON object, does not.
pub fn asked(payload: &str) -> Result<bool, InvalidCheck> {
    let object = serde_json::from_str::<&RawValue>(payload)
        .ok()
        .and_then(Object::read);
    object.map_or(Ok(false), |object| is_asked(&object))
}

/// Tells whether an object asks for a check.
pub(crate) fn is_asked(object: &Object<'_>) -> Result<bool, InvalidCheck> {
    let mut values = object.all(b"check");
    let Some(value) = values.next() else {
        return Ok(false);
    };
    if let Some((name, _)) = object.iter().find(|(name, _)| *name != b"check") {
        let name: String = String::from_utf8_lossy(name).chars().take(NAME).collect();
        return Err(InvalidCheck::Beside(format!("{name:?}")));
    }
    if value.get() == "true" && values.next().is_none() {
        Ok(true)
    } else {
        Err(InvalidCheck::NotTrue)
    }
}
