//! The workspace's own function programs: built when asked, found beside this one.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tokio::process::Command;

/// A folder with the functions' programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Builds the programs of these packages with cargo, which tells its progress on standard error.
    pub async fn build(packages: &[&str]) -> anyhow::Result<Self> {
        let beside = Self::beside()?;
        let mut cargo = Command::new("cargo");
        cargo
            .arg("build")
            // With this package, so that dependencies keep the features with which it was built, and are not built again.
            .args(["--package", env!("CARGO_PKG_NAME")])
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .arg("--bins")
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
            .kill_on_drop(true);
        // They must come out where they are looked for, whatever cargo would take by itself.
        if let Some(target) = beside.folder.parent() {
            cargo.arg("--target-dir").arg(target);
        }
        if beside.folder.ends_with("release") {
            cargo.arg("--release");
        }
        let status = cargo
            .status()
            .await
            .context("cannot run cargo, which builds the functions")?;
        if !status.success() {
            bail!("cargo cannot build {}: {status}", packages.join(", "));
        }
        Ok(beside)
    }

    /// Looks where this program lies, or the one that a test of it belongs to.
    pub fn beside() -> anyhow::Result<Self> {
        let this = std::env::current_exe().context("this program cannot tell where it lies")?;
        Ok(Self::near(&this))
    }

    fn near(program: &Path) -> Self {
        let mut folder = program.parent().unwrap_or(Path::new(".")).to_owned();
        // Tests and examples lie one folder deeper.
        if folder.ends_with("deps") || folder.ends_with("examples") {
            folder.pop();
        }
        Self { folder }
    }

    /// Returns a program; an error says that it has not been built.
    pub fn find(&self, name: &str) -> anyhow::Result<PathBuf> {
        let file = self.folder.join(name);
        if file.is_file() {
            Ok(file)
        } else {
            bail!("{} has not been built", file.display())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_looked_for_beside_this_one() {
        let check = |this: &str| {
            assert_eq!(
                Binaries::near(Path::new(this)).folder,
                Path::new("/t/debug")
            );
        };
        check("/t/debug/local");
        check("/t/debug/deps/local-0123456789abcdef");
        check("/t/debug/examples/scripted");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Binaries::near(Path::new("/t/debug/local")).find("payments");
        assert!(error.unwrap_err().to_string().contains("/t/debug/payments"));
    }
}
