//! What came of a check, as it is answered.

use std::fmt;
use std::time::Duration;

use pipeline::Masker;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The answer: one line for each thing, in the order in which the function lists them.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Checked {
    function: &'static str,
    ok: bool,
    checks: Vec<Reached>,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    thing: Thing,
    target: String,
    took: Duration,
    came: Result<Found, Unreached>,
}

/// What a function needs outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// The brokers: connected, and we are let in.
    Kafka,
    /// One topic.
    Topic,
    /// What keys of a prefix a bucket lets us put and read.
    Bucket,
    /// One secret.
    Secret,
    /// The payment provider.
    Provider,
    /// Where alerts are posted.
    Webhook,
}

/// What was learned of a thing that is there: numbers by their names, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found(Vec<(&'static str, u64)>);

/// Why a thing is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    why: Why,
    text: String,
}

/// The closed set of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No way there: refused, reset, no such host, away.
    Unreachable,
    /// No answer in time.
    Timeout,
    /// It does not prove who it is: TLS.
    Untrusted,
    /// It is there and does not know us, or does not let us.
    Unauthorized,
    /// The place is there, but not the thing.
    Missing,
    /// It answers, but not as it should.
    Wrong,
}

impl Checked {
    pub(super) fn new(function: &'static str, checks: Vec<Reached>) -> Self {
        let ok = checks.iter().all(Reached::is_ok);
        Self {
            function,
            ok,
            checks,
        }
    }

    /// Tells whether everything is as it should be.
    pub const fn is_ok(&self) -> bool {
        self.ok
    }

    /// Returns what was tried, in order.
    pub fn lines(&self) -> &[Reached] {
        &self.checks
    }
}

impl Reached {
    /// Joins a thing with what came of it and how long that took.
    pub fn new(
        thing: Thing,
        target: impl Into<String>,
        took: Duration,
        came: Result<Found, Unreached>,
    ) -> Self {
        Self {
            thing,
            target: Masker::default().line(&target.into()),
            took,
            came,
        }
    }

    /// Tells whether it is as it should be.
    pub const fn is_ok(&self) -> bool {
        self.came.is_ok()
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn log(&self) {
        match &self.came {
            Ok(_) => tracing::info!(
                check = self.thing.as_str(),
                target = self.target,
                took_ms = self.ms(),
                "check"
            ),
            Err(unreached) => tracing::warn!(
                check = self.thing.as_str(),
                target = self.target,
                took_ms = self.ms(),
                why = unreached.why.as_str(),
                "check failed: {}",
                unreached.text
            ),
        }
    }
}

impl Found {
    /// Adds a number.
    pub fn with(mut self, name: &'static str, number: u64) -> Self {
        self.0.push((name, number));
        self
    }
}

impl Unreached {
    /// Says why, in a word and in a line that names the cause; secrets are masked.
    pub fn new(why: Why, text: &str) -> Self {
        Self {
            why,
            text: Masker::default().line(text),
        }
    }
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.why.as_str(), self.text)
    }
}

impl Thing {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Kafka => "kafka",
            Self::Topic => "topic",
            Self::Bucket => "bucket",
            Self::Secret => "secret",
            Self::Provider => "provider",
            Self::Webhook => "webhook",
        }
    }
}

impl Why {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Untrusted => "untrusted",
            Self::Unauthorized => "unauthorized",
            Self::Missing => "missing",
            Self::Wrong => "wrong",
        }
    }
}

impl Serialize for Reached {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.thing.as_str())?;
        map.serialize_entry("target", &self.target)?;
        map.serialize_entry("ok", &self.is_ok())?;
        map.serialize_entry("ms", &self.ms())?;
        match &self.came {
            Ok(found) => {
                for (name, number) in &found.0 {
                    map.serialize_entry(name, number)?;
                }
            }
            Err(unreached) => {
                map.serialize_entry("why", unreached.why.as_str())?;
                map.serialize_entry("error", &unreached.text)?;
            }
        }
        map.end()
    }
}
