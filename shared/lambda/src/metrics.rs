//! Metrics: what invocations counted and measured, written as lines that CloudWatch turns into metrics.
//!
//! The format is AWS's embedded metric format. Nothing is sent from here and nothing runs beside an invocation: a line on standard
//! error is all, and CloudWatch Logs does the rest. The one crate for it keeps what it counts in a global recorder and drops every
//! value of a batch beyond the hundredth, so the few lines of JSON are written here.

mod document;
mod measured;
mod name;

use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use pipeline::Timestamp;

use self::document::Heading;
pub use self::measured::{Failed, Measured};
pub use self::name::{Count, Definition, Dimension, Time, definitions};
use crate::settings::SettingsReader;

/// Writes metrics of one function.
pub struct Metrics {
    function: FunctionName,
    out: Mutex<Box<dyn Write + Send>>,
}

/// The function's name as Lambda tells it: the dimension that every metric has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionName(String);

/// Says that a text cannot be the value of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a function's name, which is 1 to 1024 visible ASCII characters and does not begin with a colon"
)]
pub struct FunctionNameError;

impl FromStr for FunctionName {
    type Err = FunctionNameError;

    fn from_str(text: &str) -> Result<Self, FunctionNameError> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=1_024).contains(&text.len()) && !text.starts_with(':') {
            Ok(Self(text.to_owned()))
        } else {
            Err(FunctionNameError)
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

impl FunctionName {
    /// Reads it from `AWS_LAMBDA_FUNCTION_NAME`, which Lambda sets.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        reader.required("AWS_LAMBDA_FUNCTION_NAME", str::parse)
    }
}

impl Metrics {
    /// Writes the metrics of a function to `out`: standard error, in production.
    pub fn new(function: FunctionName, out: Box<dyn Write + Send>) -> Self {
        Self {
            function,
            out: Mutex::new(out),
        }
    }

    /// Writes what was measured by `now`, each line in one piece; nothing when there is nothing to tell.
    pub fn write(&self, measured: &Measured, now: Timestamp) {
        let heading = Heading {
            level: "INFO",
            message: "metrics",
        };
        self.write_under(heading, measured, now);
    }

    /// Writes why the process ends at its start: one line, an error among the logs that is counted.
    pub fn write_failed_start(&self, why: &str, now: Timestamp) {
        let mut measured = Measured::default();
        measured.count(Count::StartsFailed, 1);
        let heading = Heading {
            level: "ERROR",
            message: why,
        };
        self.write_under(heading, &measured, now);
    }

    fn write_under(&self, heading: Heading<'_>, measured: &Measured, now: Timestamp) {
        let lines = document::lines(&self.function.0, heading, now, measured);
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = lines.iter().try_for_each(|line| {
            out.write_all(format!("{line}\n").as_bytes())
                .and_then(|()| out.flush())
        });
        drop(out);
        if let Err(error) = written {
            tracing::warn!("metrics could not be written: {error}");
        }
    }
}

#[cfg(test)]
mod tests;
