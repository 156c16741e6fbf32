//! How a command that does not end well ends.

use std::fmt;

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub enum Failure {
    /// It was asked in a way that makes no sense: exit status 2.
    Usage(String),
    /// It tried and could not: exit status 1.
    Failed(anyhow::Error),
}

impl Failure {
    /// Returns the exit status.
    pub const fn status(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
        }
    }
}

impl fmt::Display for Failure {
    /// Writes the failure with its causes on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) => f.write_str(why),
            Self::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
