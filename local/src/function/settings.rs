//! What a function is: its program, its environment and its limits.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What Lambda knows of a function.
#[derive(Clone, Debug)]
pub struct FunctionSettings {
    /// Its name, as it is told of it.
    pub name: String,
    /// What its lines and its sandboxes' directories are called; the name by default.
    pub label: String,
    /// What a sandbox runs.
    pub program: Program,
    /// Its own environment; the reserved variables, `PATH`, `HOME` and `MARKER_DIR` are added.
    pub env: BTreeMap<String, String>,
    /// Variables that win over every other one, the reserved ones included.
    pub overrides: BTreeMap<String, String>,
    /// How long an invocation may take.
    pub timeout: Duration,
    /// How long a process may take until it asks for its first invocation; Lambda's own limit is 10 s.
    pub init_timeout: Duration,
    /// The memory that it is told to have, in MB; nothing enforces it.
    pub memory_mb: u32,
    /// How many sandboxes there are at most.
    pub concurrency: NonZeroUsize,
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file to run, or a name to look up in `PATH`.
    pub file: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl FunctionSettings {
    /// Describes a function with Lambda's limits: 10 s to start; here 30 s an invocation, 128 MB and one sandbox.
    pub fn new(name: impl Into<String>, program: impl Into<Program>) -> Self {
        let name = name.into();
        Self {
            label: name.clone(),
            name,
            program: program.into(),
            env: BTreeMap::new(),
            overrides: BTreeMap::new(),
            timeout: Duration::from_secs(30),
            init_timeout: Duration::from_secs(10),
            memory_mb: 128,
            concurrency: NonZeroUsize::MIN,
        }
    }

    /// Adds variables to its environment; later ones win.
    pub fn with_env<K: Into<String>, V: Into<String>>(
        mut self,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let env = env
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        self.env.extend(env);
        self
    }

    /// Sets how long an invocation may take.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many sandboxes there are at most.
    pub fn with_concurrency(mut self, concurrency: NonZeroUsize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Returns the ARN under which the function is invoked.
    pub fn arn(&self) -> String {
        format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{}", self.name)
    }

    /// Returns the whole environment of one of its processes, apart from what is inherited.
    pub(super) fn process_env(
        &self,
        runtime_api: &str,
        sandbox: usize,
        folder: &Path,
    ) -> BTreeMap<String, String> {
        let Self {
            name, memory_mb, ..
        } = self;
        let folder = folder.display();
        // Defaults first, then the function's own, then what Lambda reserves, then what is said to win.
        let mut env = BTreeMap::from([
            ("AWS_ACCESS_KEY_ID".to_owned(), crate::s3::ACCESS_KEY.into()),
            (
                "AWS_SECRET_ACCESS_KEY".to_owned(),
                crate::s3::SECRET_KEY.into(),
            ),
            ("LANG".to_owned(), "en_US.UTF-8".to_owned()),
            ("TZ".to_owned(), ":UTC".to_owned()),
        ]);
        env.extend(self.env.clone());
        env.extend(
            [
                ("AWS_LAMBDA_RUNTIME_API", runtime_api.to_owned()),
                ("AWS_LAMBDA_FUNCTION_NAME", name.clone()),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory_mb.to_string()),
                ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
                ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
                ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}")),
                (
                    "AWS_LAMBDA_LOG_STREAM_NAME",
                    format!("[$LATEST]local-{sandbox}"),
                ),
                ("AWS_REGION", REGION.to_owned()),
                ("AWS_DEFAULT_REGION", REGION.to_owned()),
                ("MARKER_DIR", folder.to_string()),
                ("TMPDIR", folder.to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        env.extend(self.overrides.clone());
        env
    }
}

/// The region that functions are told to be in.
pub const REGION: &str = "us-east-1";

/// The account that functions are told to belong to.
const ACCOUNT: &str = "000000000000";

impl From<PathBuf> for Program {
    fn from(file: PathBuf) -> Self {
        Self {
            file,
            arguments: Vec::new(),
        }
    }
}
