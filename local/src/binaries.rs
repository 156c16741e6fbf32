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
        // What cargo told this program of its own package would make build scripts that look at it run again, now and next time.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_of_one_package) {
                cargo.env_remove(name);
            }
        }
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

    /// Tells whether the workspace has a function package of this name.
    pub fn is_package(name: &str) -> bool {
        let plain = !name.is_empty() && !name.contains(['/', '\\', '.']);
        let functions = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../functions"));
        plain && functions.join(name).join("Cargo.toml").is_file()
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

/// Tells whether cargo sets a variable for the one package that it runs, as against a setting of cargo itself.
fn is_of_one_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || matches!(name, "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_keeps_its_settings_and_forgets_the_package() {
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_CRATE_NAME"] {
            assert!(is_of_one_package(name), "{name}");
        }
        for name in [
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_NET_OFFLINE",
            "PATH",
        ] {
            assert!(!is_of_one_package(name), "{name}");
        }
    }

    #[test]
    fn the_workspaces_functions_are_known_by_their_folders() {
        for name in ["payments", "dlq", "replay"] {
            assert!(Binaries::is_package(name), "{name}");
        }
        for name in ["", ".", "..", "../local", "no-such-function"] {
            assert!(!Binaries::is_package(name), "{name}");
        }
    }

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
