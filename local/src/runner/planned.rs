//! A function as it is going to run.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use crate::function::Program;
use crate::invoke::endpoint::EndpointUrl;
use crate::mapping::MappingSettings;

/// The variable that tells a function of its ladder.
pub(super) const RETRY_STAGES: &str = "RETRY_STAGES";

/// A function with its mappings.
#[derive(Clone, Debug)]
pub struct PlannedFunction {
    /// The logical ID in the template.
    pub id: String,
    /// The name that Lambda would give it.
    pub name: String,
    /// How it is run.
    pub way: Way,
    /// Its environment, without what the command line says of every function.
    pub env: BTreeMap<String, String>,
    /// What the command line says of every function; it wins.
    pub overrides: BTreeMap<String, String>,
    /// How long an invocation may take.
    pub timeout: Duration,
    /// The memory that it is told to have, in MB.
    pub memory_mb: u32,
    /// How many sandboxes there are at most.
    pub sandboxes: NonZeroUsize,
    /// What calls it.
    pub mappings: Vec<MappingSettings>,
}

/// How a function is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// As this program, in sandboxes of its own.
    Command(Program),
    /// As the program of this package of the workspace, which is built first.
    Package(String),
    /// By somebody else, who is asked over HTTP.
    Endpoint {
        /// Where.
        url: EndpointUrl,
        /// What it is called there.
        name: String,
    },
}

impl PlannedFunction {
    /// Returns the ladder that the function is told of.
    pub(super) fn ladder(&self) -> Option<&str> {
        let told = self.overrides.get(RETRY_STAGES);
        told.or_else(|| self.env.get(RETRY_STAGES))
            .map(String::as_str)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(Program { file, arguments }) => {
                write!(f, "as `{}", file.display())?;
                for argument in arguments {
                    write!(f, " {}", shell_words::quote(argument))?;
                }
                f.write_str("`")
            }
            Self::Package(package) => write!(f, "as the workspace's {package}"),
            Self::Endpoint { url, name } => write!(f, "at {url} as {name}"),
        }
    }
}
