//! A folder that something keeps its files in.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// A folder that was given, or one of our own that is removed when this is dropped.
#[derive(Debug)]
pub(crate) enum Folder {
    Given(PathBuf),
    Own(TempDir),
}

impl Folder {
    /// Makes the folder, with a name that tells what it is for where none is given.
    pub(crate) fn make(given: Option<PathBuf>, what: &str) -> anyhow::Result<Self> {
        if let Some(given) = given {
            std::fs::create_dir_all(&given)
                .with_context(|| format!("cannot make {}", given.display()))?;
            return Ok(Self::Given(given));
        }
        tempfile::Builder::new()
            .prefix(&format!("brew-{what}-"))
            .tempdir()
            .map(Self::Own)
            .with_context(|| format!("cannot make a temporary folder for {what}"))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Own(own) => own.path(),
        }
    }
}
