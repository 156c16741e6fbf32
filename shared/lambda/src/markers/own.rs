//! The marker file of this process.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pipeline::Timestamp;

use super::Alone;
use super::notes::{FIRST_LINE, Note, Noted};

/// What the name of a marker file starts with.
pub(super) const PREFIX: &str = "brew-running-";

/// A file that this process writes, locked as long as it is held.
#[derive(Debug)]
pub(super) struct Own {
    path: PathBuf,
    file: File,
    open: HashSet<u64>,
    has_hung: bool,
    /// A write failed: a line may be torn, so nothing is written until the file is emptied.
    is_broken: bool,
}

impl Own {
    /// Makes a file under a new name and locks it. Makes the folder when it is missing.
    pub(super) fn create(folder: &Path, now: Timestamp) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        for _ in 0..8 {
            let path = folder.join(new_name(now));
            let mut file = match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // Another process may look at the file before it is locked, take it for that of a dead one and delete it: then the
            // lock is busy or the name is gone.
            match file.try_lock() {
                Ok(()) if path.exists() => {}
                Ok(()) | Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => {
                    drop(std::fs::remove_file(&path));
                    return Err(error);
                }
            }
            file.write_all(FIRST_LINE.as_bytes())?;
            return Ok(Self {
                path,
                file,
                open: HashSet::new(),
                has_hung: false,
                is_broken: false,
            });
        }
        Err(io::Error::other("every new file was taken away at once"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn begin(
        &mut self,
        number: u64,
        record: &Noted,
        alone: Alone,
        at: Timestamp,
    ) -> io::Result<()> {
        self.write(&Note::Begun {
            number,
            record: record.clone(),
            alone,
            at,
        })?;
        self.open.insert(number);
        Ok(())
    }

    /// Notes that a record came back. A note that cannot be written leaves a suspect that is none, which only costs it company.
    pub(super) fn end(&mut self, number: u64) {
        if self.open.remove(&number) {
            drop(self.write(&Note::Ended(number)));
        }
    }

    /// Leaves a record's note open for good.
    pub(super) fn hung(&mut self, number: u64) {
        self.has_hung |= self.open.remove(&number);
    }

    /// Tells whether the file witnesses a hang and nothing else is under way in it.
    pub(super) fn is_witness(&self) -> bool {
        self.has_hung && self.open.is_empty()
    }

    /// Empties the file; `None` when it stays as the witness of a hang, or is no longer there.
    pub(super) fn start_invocation(mut self) -> Option<Self> {
        if self.has_hung {
            for number in std::mem::take(&mut self.open) {
                drop(self.write(&Note::Ended(number)));
            }
            return None;
        }
        if !self.path.exists() {
            return None;
        }
        self.open.clear();
        let first_line = u64::try_from(FIRST_LINE.len()).unwrap_or(u64::MAX);
        self.is_broken = self.file.set_len(first_line).is_err();
        Some(self)
    }

    /// Lets every further write fail as on a full disk.
    #[cfg(test)]
    pub(super) fn fill_up(&mut self) {
        self.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    }

    fn write(&mut self, note: &Note) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier write failed"));
        }
        let written = self.file.write_all(note.to_string().as_bytes());
        self.is_broken = written.is_err();
        written
    }
}

/// Returns a name that no other process has: the process, the time, and a count within the process.
fn new_name(now: Timestamp) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{}-{count}", std::process::id(), now.millis())
}
