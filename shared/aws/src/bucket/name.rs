//! A bucket's name.

use std::fmt;
use std::str::FromStr;

/// A legal bucket name: 3 to 63 lower-case letters, digits, dots and dashes, a letter or digit at both ends
/// (Amazon S3 user guide, "Bucket naming rules").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketName(String);

/// Says that a text is no bucket name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not 3 to 63 lower-case letters, digits, dots and dashes, with a letter or digit at both ends"
)]
pub struct BucketNameError(String);

impl BucketName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BucketName {
    type Err = BucketNameError;

    fn from_str(name: &str) -> Result<Self, BucketNameError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = name.as_bytes();
        let legal = (3..=63).contains(&bytes.len())
            && bytes
                .iter()
                .all(|byte| plain(*byte) || matches!(byte, b'.' | b'-'))
            && bytes.first().is_some_and(|byte| plain(*byte))
            && bytes.last().is_some_and(|byte| plain(*byte));
        if legal {
            Ok(Self(name.to_owned()))
        } else {
            Err(BucketNameError(name.to_owned()))
        }
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
