//! The real binaries, found beside the test's own and built when they are not what the sources say.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use nix::fcntl::{Flock, FlockArg};

/// What is built together. The local tool is always with the functions, so that dependencies keep the features with which the tests
/// were built: otherwise most of them would be compiled once more.
const PACKAGES: [&str; 5] = ["local", "payments", "dlq", "replay", "orders"];

/// Returns the `payments` binary.
pub(crate) fn payments() -> PathBuf {
    built("payments")
}

/// Returns the `dlq` binary.
pub(crate) fn dlq() -> PathBuf {
    built("dlq")
}

/// Returns the `replay` binary.
pub(crate) fn replay() -> PathBuf {
    built("replay")
}

/// Returns the `orders` binary.
pub(crate) fn orders() -> PathBuf {
    built("orders")
}

/// Returns the `payments` function that obeys its payments to the death.
pub(crate) fn poisoned_payments() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_poisoned-payments"))
}

/// Returns the `orders` function that obeys its orders to the death.
pub(crate) fn poisoned_orders() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_poisoned-orders"))
}

/// Returns the `local` binary.
pub(crate) fn local() -> PathBuf {
    built("local")
}

/// Returns the target directory, where the binaries' profile is a folder.
pub(crate) fn target() -> PathBuf {
    let profile = profile();
    profile.parent().unwrap().to_owned()
}

/// Returns the workspace's own folder.
pub(crate) fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap().to_owned()
}

fn profile() -> PathBuf {
    // <target>/<profile>/deps/pipeline-<hash>
    let exe = std::env::current_exe().unwrap();
    exe.ancestors().nth(2).unwrap().to_owned()
}

fn built(binary: &str) -> PathBuf {
    let file = profile().join(binary);
    if is_fresh(&file) {
        return file;
    }
    let lock = File::create(profile().join(".pipeline-binaries")).unwrap();
    let _lock = Flock::lock(lock, FlockArg::LockExclusive)
        .map_err(|(_, error)| error)
        .unwrap();
    if !is_fresh(&file) {
        build();
        // Cargo leaves a binary alone that would come out the same; it is fresh all the same.
        let binary = File::open(&file).unwrap();
        binary.set_modified(now_by_the_disk()).unwrap();
    }
    file
}

/// Tells whether the binary is younger than everything it was made from, which stands in the file beside it.
fn is_fresh(binary: &Path) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let Some(built) = modified(binary) else {
        return false;
    };
    let Ok(sources) = fs::read_to_string(binary.with_extension("d")) else {
        return false;
    };
    let sources = sources.lines().filter_map(|line| line.split_once(": "));
    let sources = sources.flat_map(|(_, paths)| paths.split(' ').map(PathBuf::from));
    sources
        .chain([workspace().join("Cargo.lock")])
        .all(|source| modified(&source).is_some_and(|changed| changed <= built))
}

/// The clock that file times are compared by: a new file's own.
fn now_by_the_disk() -> SystemTime {
    let file = tempfile::NamedTempFile::new_in(profile()).unwrap();
    file.as_file().metadata().unwrap().modified().unwrap()
}

fn build() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(workspace())
        .args(["build", "--quiet", "--bins"]);
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    if profile().ends_with("release") {
        cargo.arg("--release");
    }
    for (name, _) in std::env::vars_os() {
        if is_of_one_package(&name) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.arg("--target-dir").arg(target()).status().unwrap();
    assert!(status.success(), "cargo build: {status}");
}

/// Tells whether cargo sets a variable for the test that it runs: build scripts that look at it would run again, now and next time.
pub(crate) fn is_of_one_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
        || matches!(&*name, "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE")
}
