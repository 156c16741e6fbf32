//! The README's section "Your own handler", followed to the letter on a copy of the workspace.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use pipeline::Topic;
use tempfile::TempDir;
use tokio::process::Command;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;
use crate::harness::store::Store;

/// Compiling one package and its workspace is most of it.
const PATIENCE: Duration = Duration::from_mins(8);

/// Where the README says that Kafka and S3 are.
const KAFKA: &str = "127.0.0.1:9092";
const S3: &str = "http://127.0.0.1:9100";

/// A block of code of the README.
#[derive(Debug)]
struct Block {
    language: String,
    /// The file that the sentence before it names last.
    file: Option<String>,
    code: String,
}

/// Returns the blocks of a section of a document, in order.
fn blocks(document: &str, heading: &str) -> Vec<Block> {
    let (_, section) = document.split_once(&format!("\n{heading}\n")).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    for line in section.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.code += line;
                block.code.push('\n');
            }
            (None, Some(language)) => {
                let named = before.rsplit('`').nth(1).filter(|name| name.contains('.'));
                open = Some(Block {
                    language: language.to_owned(),
                    file: named.map(str::to_owned),
                    code: String::new(),
                });
            }
            (None, None) if line.starts_with('#') => return blocks,
            (None, None) if line.is_empty() => {}
            (None, None) => before = line,
        }
    }
    blocks
}

/// Copies a file with its time, by which cargo tells what has changed; one so large that it was compiled is linked.
///
/// What people write is never linked: the steps write to it.
fn copy_file(from: &Path, to: &Path) {
    const LARGE: u64 = 1 << 20;
    let Ok(found) = fs::metadata(from) else {
        // Some cargo has just replaced it.
        return;
    };
    if found.len() > LARGE {
        fs::hard_link(from, to).unwrap();
    } else {
        fs::copy(from, to).unwrap();
        let changed = found.modified().unwrap();
        File::open(to).unwrap().set_modified(changed).unwrap();
    }
}

/// Copies a folder, as far as its files and folders are `wanted` by their names.
fn copy(from: &Path, to: &Path, wanted: &dyn Fn(&str) -> bool) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !wanted(name) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name), wanted);
        } else {
            copy_file(&path, &to.join(name));
        }
    }
}

/// Copies a workspace without what is made in it, and gives the copy the dependencies that are compiled already.
///
/// The copy compiles its own packages: where it stands has no part in the names of what cargo makes of them, so that in one folder
/// those of the workspace and those of the copy would be taken for each other.
fn copy_workspace(from: &Path, made: &Path, to: &Path) {
    let made_here = ["target", ".git", ".cache"];
    copy(from, to, &|name| !made_here.contains(&name));
    let folders = ["functions", "shared"].map(|folder| fs::read_dir(from.join(folder)).unwrap());
    let packages = folders.into_iter().flatten();
    let packages = packages.map(|package| package.unwrap().file_name().into_string().unwrap());
    let ours: BTreeSet<String> = packages
        .chain(["local", "tests"].map(str::to_owned))
        .collect();
    let is_of_others = |name: &str| {
        let package = name.strip_prefix("lib").unwrap_or(name);
        let package = package
            .rsplit_once('-')
            .map_or(package, |(package, _)| package);
        !ours.contains(package)
    };
    let profile = made.file_name().unwrap();
    for folder in ["deps", "build", ".fingerprint"] {
        let to = to.join("target").join(profile).join(folder);
        copy(&made.join(folder), &to, &is_of_others);
    }
}

/// A copy of the workspace, and a `cargo` for it.
struct Copy {
    folder: TempDir,
    shims: TempDir,
    addresses: [(&'static str, String); 2],
}

impl Copy {
    fn of_workspace(cluster: &Cluster, store: &Store) -> Self {
        let local = binaries::local();
        let made = local.parent().unwrap();
        // Beside what is made, so that large files can be linked.
        let folder = TempDir::new_in(binaries::target()).unwrap();
        copy_workspace(&binaries::workspace(), made, folder.path());
        let shims = TempDir::new().unwrap();
        let shim = shims.path().join("cargo");
        fs::write(&shim, cargo_shim(&local, folder.path())).unwrap();
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
        let [(_, s3), _] = store.env();
        Self {
            folder,
            shims,
            addresses: [(KAFKA, cluster.address().to_owned()), (S3, s3)],
        }
    }

    fn write(&self, file: &str, code: &str) {
        let file = self.folder.path().join(file);
        assert!(file.exists(), "{} is to be replaced", file.display());
        fs::write(file, code).unwrap();
    }

    /// Runs lines as a shell does that ends at the first failure; returns what they wrote.
    async fn run(&self, lines: &str) -> String {
        let mut lines = lines.to_owned();
        for (told, real) in &self.addresses {
            lines = lines.replace(told, real);
        }
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(
            [self.shims.path().to_owned()]
                .into_iter()
                .chain(std::env::split_paths(&path)),
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-e", "-c", &lines])
            .current_dir(&self.folder)
            .env_remove("CARGO_TARGET_DIR")
            .env("PATH", path.unwrap())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if binaries::is_of_one_package(&name) {
                shell.env_remove(name);
            }
        }
        let ended = tokio::time::timeout(PATIENCE, shell.output());
        let ended = ended.await.unwrap().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&ended.stdout).into_owned(),
            String::from_utf8_lossy(&ended.stderr).into_owned(),
        );
        assert!(ended.status.success(), "{lines}{out}{err}");
        assert!(!err.contains("warning:"), "{lines}{err}");
        out + &err
    }
}

/// Returns a `cargo` that compiles no dependency again, and whose `local` is the one that is tested.
///
/// With the local tool beside it dependencies keep the features with which they were compiled. `cargo local run` is given the new
/// function by hand, since the tool looks for functions in the workspace that it was built from.
fn cargo_shim(local: &Path, copy: &Path) -> String {
    let profile = local.parent().unwrap().file_name().unwrap();
    let release = if profile == "release" {
        "--release"
    } else {
        ""
    };
    let invoices = copy.join("target").join(profile).join("invoices");
    let path = std::env::var_os("PATH").unwrap();
    format!(
        r#"#!/bin/sh
set -e
PATH='{path}'
command=$1
shift
case $command in
  build) exec '{cargo}' build --quiet --offline {release} --package local --bin invoices "$@" ;;
  local)
    if [ "$1" = run ]; then exec '{local}' "$@" --function 'Invoices={invoices}'; fi
    exec '{local}' "$@" ;;
  *) exec '{cargo}' "$command" "$@" ;;
esac
"#,
        path = path.to_string_lossy(),
        cargo = env!("CARGO"),
        local = local.display(),
        invoices = invoices.display(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_steps_to_a_handler_of_ones_own_lead_to_its_first_dead_letter_on_kafka() {
    let Some(cluster) = Cluster::own_kafka().await else {
        return;
    };
    for build in [binaries::payments, binaries::dlq] {
        build();
    }
    let store = Store::start().await;
    let readme = fs::read_to_string(binaries::workspace().join("README.md")).unwrap();
    let blocks = blocks(&readme, "### Your own handler");
    let languages: Vec<&str> = blocks.iter().map(|block| &*block.language).collect();
    assert_eq!(languages, ["sh", "rust", "rust", "sh", "sh", "sh"]);

    let copy = Copy::of_workspace(&cluster, &store);
    let mut told = String::new();
    for block in &blocks {
        let file = block.file.as_deref();
        match &*block.language {
            "sh" => told += &copy.run(&block.code).await,
            "rust" => copy.write(file.unwrap(), &block.code),
            other => panic!("nobody knows what to do with {other}"),
        }
    }

    let topic = |name: &str| name.parse::<Topic>().unwrap();
    let dead = cluster.records(&topic("invoices.dlq")).await;
    let told_of: Vec<[&str; 3]> = dead
        .iter()
        .map(|dead| {
            ["previous.topic", "error.code", "dlq-reason"]
                .map(|name| dead.headers.only_text(name).unwrap())
        })
        .collect();
    assert_eq!(told_of, [["invoices", "payload.malformed", "json"]]);
    let committed = cluster
        .committed("invoices.invoices", &topic("invoices"), 3)
        .await;
    let done: i64 = committed.iter().filter_map(|(_, offset)| *offset).sum();
    assert_eq!(done, 10, "all is done: {told}");
    assert_eq!(store.incidents().await.len(), 1);
    assert!(
        told.contains("payload.malformed"),
        "the incident is listed: {told}"
    );
}

#[test]
fn blocks_are_found_with_the_file_that_they_are_for() {
    let document = "# A\n```sh\nno\n```\n## B\n\nIn `x.rs`:\n\n```rust\na\n\nb\n```\nThen `this` and `that`:\n```sh\nc\n```\n## C\n```sh\nno\n```\n";
    let found: Vec<_> = blocks(document, "## B")
        .into_iter()
        .map(
            |Block {
                 language,
                 file,
                 code,
             }| (language, file, code),
        )
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        found,
        [
            (text("rust"), Some(text("x.rs")), text("a\n\nb\n")),
            (text("sh"), None, text("c\n")),
        ]
    );
}
