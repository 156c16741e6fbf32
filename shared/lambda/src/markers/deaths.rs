//! What the marker files of dead processes tell.

use std::collections::HashMap;
use std::fs::{DirEntry, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use pipeline::Timestamp;

use super::notes::{self, Note, Noted, Part, Witness};
use super::own::PREFIX;
use super::{CONDEMNING_DEATHS, LIFETIME_MS, Standing};

/// How much of a file is read, in bytes: ours hold one invocation and stay far below.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// How many suspects of one death a log line names.
const NAMED_SUSPECTS: usize = 10;

/// The files of dead processes, read once each.
#[derive(Debug, Default)]
pub(super) struct Deaths {
    files: HashMap<PathBuf, Dead>,
    witnesses: HashMap<Noted, Vec<Witness>>,
}

/// One dead process.
#[derive(Debug)]
struct Dead {
    /// The file's length when it was read: others may have cleared records in it since.
    length: u64,
    witnesses: HashMap<Noted, Witness>,
}

impl Deaths {
    /// Reads the files of processes that died since the last look, and deletes those that tell of nothing any more.
    pub(super) fn look(&mut self, folder: &Path, own: Option<&Path>, now: Timestamp) {
        let mut before = std::mem::take(&mut self.files);
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for (path, length) in entries.filter_map(|entry| marker_file(&entry)) {
            if own == Some(path.as_path()) {
                continue;
            }
            let dead = match before.remove(&path) {
                Some(dead) if dead.length == length => Some(dead),
                known => read(&path, now).inspect(|dead| {
                    if known.is_none() {
                        dead.log(&path);
                    }
                }),
            };
            let Some(mut dead) = dead else { continue };
            dead.witnesses
                .retain(|_, witness| !is_expired(witness.at, now));
            if dead.witnesses.is_empty() {
                bury(&path, dead.length);
            } else {
                self.files.insert(path, dead);
            }
        }
        self.witnesses = HashMap::new();
        for dead in self.files.values() {
            for (record, witness) in &dead.witnesses {
                self.witnesses
                    .entry(record.clone())
                    .or_default()
                    .push(*witness);
            }
        }
    }

    /// Returns what all deaths together say about a record.
    pub(super) fn standing(&self, record: &Noted, now: Timestamp) -> Standing {
        let mut alone = 0_usize;
        let mut standing = Standing::Clear;
        for witness in self.witnesses.get(record).into_iter().flatten() {
            if is_expired(witness.at, now) {
                continue;
            }
            standing = standing.max(match witness.part {
                Part::Touched => Standing::Touched,
                Part::Beside | Part::Alone => Standing::Suspect,
            });
            alone = alone.saturating_add(usize::from(witness.part == Part::Alone));
        }
        if alone >= CONDEMNING_DEATHS {
            Standing::Condemned
        } else {
            standing
        }
    }

    /// Takes a record out of every death: it was handled and killed nobody.
    pub(super) fn clear(&mut self, record: &Noted) {
        if self.witnesses.remove(record).is_none() {
            return;
        }
        for (path, dead) in &mut self.files {
            if dead.witnesses.remove(record).is_some()
                && let Err(error) = append(path, &Note::Cleared(record.clone()))
            {
                tracing::debug!("{} cannot be written: {error}", path.display());
            }
        }
    }
}

impl Dead {
    fn log(&self, path: &Path) {
        let mut suspects: Vec<String> = self
            .witnesses
            .iter()
            .filter(|(_, witness)| witness.part > Part::Touched)
            .map(|(record, _)| record.place())
            .collect();
        if suspects.is_empty() {
            return;
        }
        suspects.sort();
        let count = suspects.len();
        suspects.truncate(NAMED_SUSPECTS);
        tracing::warn!(
            suspects = count,
            marker = %path.display(),
            "a process ended or hung while it ran these records; they run alone from now on: {}",
            suspects.join(", ")
        );
    }
}

/// Passes regular files of our name alone: opening a pipe would block, and a link may lead anywhere.
fn marker_file(entry: &DirEntry) -> Option<(PathBuf, u64)> {
    entry
        .file_name()
        .to_str()
        .filter(|name| name.starts_with(PREFIX))?;
    let metadata = entry.metadata().ok()?;
    metadata.is_file().then(|| (entry.path(), metadata.len()))
}

/// Reads a dead process's file; `None` when its process lives, or it cannot be read, or is none of ours.
///
/// The lock is shared, so that several processes may read of one death at once.
fn read(path: &Path, now: Timestamp) -> Option<Dead> {
    let file = File::open(path).ok()?;
    file.try_lock_shared().ok()?;
    let length = file.metadata().ok()?.len();
    let mut content = Vec::new();
    file.take(LARGEST_FILE).read_to_end(&mut content).ok()?;
    let mut witnesses = notes::read(&content)?;
    witnesses.retain(|_, witness| !is_expired(witness.at, now));
    Some(Dead { length, witnesses })
}

/// Deletes a dead process's file, unless someone holds it or it is longer than it was when it was read.
///
/// A file that was read before its process locked it may tell of that process's death by now.
fn bury(path: &Path, length: u64) {
    let delete = || -> io::Result<()> {
        let file = File::open(path)?;
        file.try_lock()?;
        if file.metadata()?.len() == length {
            std::fs::remove_file(path)?;
        }
        Ok(())
    };
    if let Err(error) = delete() {
        tracing::debug!("{} cannot be deleted: {error}", path.display());
    }
}

/// Adds a note on a line of its own: the process may have died in the middle of its last one.
fn append(path: &Path, note: &Note) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(format!("\n{note}").as_bytes())
}

/// Tells whether a death is too old to count; one from the future is no better.
const fn is_expired(at: Timestamp, now: Timestamp) -> bool {
    now.millis_since(at).saturating_abs() >= LIFETIME_MS
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);

    #[test]
    fn a_file_that_was_read_before_its_process_wrote_and_died_is_not_deleted() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(PREFIX);
        File::create(&path).unwrap();
        let read_empty = read(&path, NOW).unwrap();
        std::fs::write(&path, notes::FIRST_LINE).unwrap();
        bury(&path, read_empty.length);
        assert!(path.exists());
        bury(&path, read(&path, NOW).unwrap().length);
        assert!(!path.exists());
    }
}
