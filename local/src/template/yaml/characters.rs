//! What a template's bytes may be.

use super::super::place::{Path, Place};
use super::super::problem::{Fault, Found};

/// The largest template that CloudFormation takes, from S3.
///
/// Source: CloudFormation user guide, "Quotas": template body size.
const LARGEST: usize = 1 << 20;

/// Takes UTF-8 text without control characters, with or without a byte order mark.
pub(super) fn text(bytes: &[u8]) -> Found<&str> {
    if bytes.len() > LARGEST {
        let what = format!(
            "the template has {} bytes, and CloudFormation takes {LARGEST} at most",
            bytes.len()
        );
        return Err(Fault::wrong(&Place::default(), what));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(at(bytes, 0, "is UTF-16: save the template as UTF-8"));
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = str::from_utf8(bytes).map_err(|error| {
        at(
            bytes,
            error.valid_up_to(),
            "is not UTF-8: save the template as UTF-8",
        )
    })?;
    let control = text.char_indices().find(|(_, character)| {
        character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{85}')
    });
    match control {
        None => Ok(text),
        Some((index, character)) => {
            let name = u32::from(character);
            let what = format!("holds the control character U+{name:04X}: is this a template?");
            Err(at(bytes, index, &what))
        }
    }
}

fn at(bytes: &[u8], index: usize, what: &str) -> Fault {
    let before = bytes.iter().take(index);
    let line = before
        .filter(|byte| **byte == b'\n')
        .count()
        .saturating_add(1);
    let path = Path::default();
    Fault::wrong(&Place { line, path }, what)
}
