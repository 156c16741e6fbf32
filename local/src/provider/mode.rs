//! What `metadata.mode` asks the simulator to do with a payment.

use std::fmt;
use std::str::FromStr;

/// How the simulator treats a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Charged.
    #[default]
    Ok,
    /// 503 until the provider is switched up, then charged.
    Transient,
    /// Declined with 402, always.
    Permanent,
    /// Charged, and the call is never answered.
    Timeout,
    /// 503 twice, then charged.
    Flap,
    /// 429 twice, then charged.
    RateLimit,
}

/// Says that a word is no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mode {0:?} is none of ok, transient, permanent, timeout, flap and rate-limit")]
pub struct NoMode(String);

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 6] = [
        Self::Ok,
        Self::Transient,
        Self::Permanent,
        Self::Timeout,
        Self::Flap,
        Self::RateLimit,
    ];

    /// Returns the mode as it stands in `metadata.mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Timeout => "timeout",
            Self::Flap => "flap",
            Self::RateLimit => "rate-limit",
        }
    }
}

impl FromStr for Mode {
    type Err = NoMode;

    fn from_str(text: &str) -> Result<Self, NoMode> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| NoMode(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
