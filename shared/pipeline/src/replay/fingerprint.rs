//! What tells a record, or an object, from every other: a hash over what it holds.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::record::Record;

/// The first 16 bytes of a SHA-256 over key, value and headers; written in URL-safe base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

/// Says that a text is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 16 bytes in URL-safe base64")]
pub struct FingerprintError;

impl Fingerprint {
    /// Takes the fingerprint of a record: of its key, value and headers, wherever and whenever it is.
    pub fn of(record: &Record) -> Self {
        let mut hash = Sha256::new();
        feed(&mut hash, record.key.as_deref());
        feed(&mut hash, record.value.as_deref());
        for header in record.headers.iter().as_slice() {
            feed(&mut hash, Some(header.name.as_bytes()));
            feed(&mut hash, header.value.as_deref());
        }
        let mut short = [0; 16];
        for (to, from) in short.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        Self(short)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| FingerprintError)?;
        bytes.try_into().map(Self).map_err(|_| FingerprintError)
    }
}

/// Feeds a field with its length before it, so that no two records read the same; null is told from empty.
fn feed(hash: &mut Sha256, field: Option<&[u8]>) {
    match field {
        None => hash.update([0]),
        Some(bytes) => {
            hash.update([1]);
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(bytes);
        }
    }
}

/// Returns the SHA-256 of an object's bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

/// Tells whether a text is a SHA-256 as [`sha256`] writes it.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::headers::{Header, Headers};
    use crate::record::Timestamp;

    fn record(
        key: Option<&'static str>,
        value: Option<&'static str>,
        headers: &[(&str, Option<&'static str>)],
    ) -> Record {
        let header = |(name, value): &(&str, Option<&'static str>)| Header {
            name: (*name).to_owned(),
            value: value.map(|value| Bytes::from_static(value.as_bytes())),
        };
        Record {
            coordinates: "dlq/0/1".parse().unwrap(),
            timestamp: Timestamp::from_millis(1),
            key: key.map(|key| Bytes::from_static(key.as_bytes())),
            value: value.map(|value| Bytes::from_static(value.as_bytes())),
            headers: Headers::new(headers.iter().map(header).collect()),
        }
    }

    #[test]
    fn whatever_differs_has_another_fingerprint() {
        let all = [
            record(None, None, &[]),
            record(Some(""), None, &[]),
            record(None, Some(""), &[]),
            record(Some("a"), Some("b"), &[]),
            record(Some("ab"), Some(""), &[]),
            record(Some("a"), Some("b"), &[("c", None)]),
            record(Some("a"), Some("b"), &[("c", Some(""))]),
            record(Some("a"), Some("b"), &[("c", Some("d"))]),
            record(Some("a"), Some("b"), &[("cd", Some(""))]),
            record(Some("a"), Some("b"), &[("c", Some("d")), ("c", Some("d"))]),
            record(Some("a"), Some("b"), &[("c", Some("d")), ("e", Some("f"))]),
            record(Some("a"), Some("b"), &[("e", Some("f")), ("c", Some("d"))]),
        ];
        for (nth, one) in all.iter().enumerate() {
            for (other_nth, other) in all.iter().enumerate() {
                let same = Fingerprint::of(one) == Fingerprint::of(other);
                assert_eq!(same, nth == other_nth, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn where_and_when_a_record_is_does_not_matter() {
        let one = record(Some("a"), Some("b"), &[]);
        let mut other = one.clone();
        other.coordinates = "other/7/9".parse().unwrap();
        other.timestamp = Timestamp::NONE;
        assert_eq!(Fingerprint::of(&one), Fingerprint::of(&other));
    }

    #[test]
    fn a_fingerprint_comes_back_from_its_text() {
        let fingerprint = Fingerprint::of(&record(Some("a"), None, &[]));
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        for text in ["", "AAAA", "not base64!", &fingerprint.to_string()[1..]] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_hash_is_the_one_that_everybody_computes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
        assert!(is_sha256(empty) && !is_sha256(&empty.to_uppercase()) && !is_sha256("e3"));
    }
}
