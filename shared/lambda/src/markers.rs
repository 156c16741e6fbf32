//! Crash markers: notes on what runs, which outlive the process that runs it.
//!
//! Each process writes into a file of its own and holds a lock on it for life, so a file that can be locked is a death. Files of the
//! dead are read by every process and changed by none, but for a line that clears a record which was handled since. Nothing is ever
//! moved from one file to another: a death counts once, whoever reads of it and is killed while doing so.

mod deaths;
mod folder;
mod notes;
mod own;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pipeline::{Coordinates, Timestamp};

use self::deaths::Deaths;
pub use self::folder::folder;
use self::notes::Noted;
use self::own::Own;

/// In how many deaths a record must have run alone before it is dead-lettered without being run again.
pub const CONDEMNING_DEATHS: usize = 3;

/// For how long a death counts, in milliseconds.
pub const LIFETIME_MS: i64 = 24 * 3_600_000;

/// What earlier deaths say about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing.
    Clear,
    /// It had run when a process died, whose answer nobody got: it may have been charged, and did not kill.
    Touched,
    /// It was running when a process died: it runs alone from now on.
    Suspect,
    /// It was running alone in three deaths: it is dead-lettered without being run again.
    Condemned,
}

/// Whether a record runs with no other record beside it in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// No other record runs.
    Yes,
    /// Others may run.
    No,
}

/// A record that runs: what [`Markers::begin`] gives, and [`Markers::end`], [`Markers::let_go`] or [`Markers::hung`] takes.
#[derive(Debug)]
#[must_use = "a record that runs ends, or hangs"]
pub struct Running {
    record: Noted,
    number: Option<u64>,
}

/// The notes of this process and of those that died in the same folder.
///
/// A folder that cannot be written never stops a record: that is logged once, and records run without notes.
#[derive(Debug)]
pub struct Markers {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    notes: Notes,
    deaths: Deaths,
    next_number: u64,
    warned: bool,
}

/// This process's own file.
#[derive(Debug, Default)]
enum Notes {
    /// Not needed yet.
    #[default]
    None,
    /// Written.
    Written(Own),
    /// Not to be had in this invocation.
    Failed,
}

impl Markers {
    /// Looks for deaths in a folder; this process's own file is made when the first record runs.
    pub fn open(folder: &Path, now: Timestamp) -> Self {
        let markers = Self {
            folder: folder.to_owned(),
            state: Mutex::default(),
        };
        markers.start_invocation(now);
        markers
    }

    /// Starts an invocation: the former one was answered, so its notes are dropped, and deaths since then are looked for.
    pub fn start_invocation(&self, now: Timestamp) {
        let mut state = self.state();
        let notes = std::mem::take(&mut state.notes);
        if let Notes::Written(own) = notes
            && let Some(own) = own.start_invocation()
        {
            state.notes = Notes::Written(own);
        }
        state.look_for_deaths(&self.folder, now);
    }

    /// Returns what earlier deaths say about a record.
    pub fn standing(&self, record: &Coordinates, timestamp: Timestamp, now: Timestamp) -> Standing {
        self.state()
            .deaths
            .standing(&Noted::new(record, timestamp), now)
    }

    /// Notes that a record starts to run.
    pub fn begin(
        &self,
        record: &Coordinates,
        timestamp: Timestamp,
        alone: Alone,
        now: Timestamp,
    ) -> Running {
        let record = Noted::new(record, timestamp);
        let number = self.state().begin(&self.folder, &record, alone, now);
        Running { record, number }
    }

    /// Notes that a record came back from its handler, whatever the verdict: it kills no process.
    pub fn end(&self, running: Running) {
        let Running { record, number } = running;
        let mut state = self.state();
        state.close(number, Own::end);
        state.deaths.clear(&record);
    }

    /// Notes that a record was let go before it really ran: that says nothing about it.
    pub fn let_go(&self, running: Running) {
        let Running { number, record } = running;
        drop(record);
        self.state().close(number, Own::end);
    }

    /// Notes that a record's handler did not come back before the deadline: that counts like a death of a record that ran so.
    pub fn hung(&self, running: Running, now: Timestamp) {
        let Running { number, record } = running;
        drop(record);
        let mut state = self.state();
        state.close(number, Own::hung);
        if matches!(state.notes, Notes::None) {
            state.look_for_deaths(&self.folder, now);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(
        &mut self,
        folder: &Path,
        record: &Noted,
        alone: Alone,
        now: Timestamp,
    ) -> Option<u64> {
        if matches!(self.notes, Notes::None) {
            self.notes = match Own::create(folder, now) {
                Ok(own) => Notes::Written(own),
                Err(error) => {
                    self.warn(folder, &error);
                    Notes::Failed
                }
            };
        }
        let Notes::Written(own) = &mut self.notes else {
            return None;
        };
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        match own.begin(number, record, alone, now) {
            Ok(()) => Some(number),
            Err(error) => {
                self.warn(folder, &error);
                None
            }
        }
    }

    /// Ends a note; a file that is complete as the witness of a hang is let go, and is then read like that of a dead process.
    fn close(&mut self, number: Option<u64>, how: fn(&mut Own, u64)) {
        let (Some(number), Notes::Written(own)) = (number, &mut self.notes) else {
            return;
        };
        how(own, number);
        if own.is_witness() {
            self.notes = Notes::None;
        }
    }

    fn look_for_deaths(&mut self, folder: &Path, now: Timestamp) {
        let own = match &self.notes {
            Notes::Written(own) => Some(own.path()),
            Notes::None | Notes::Failed => None,
        };
        self.deaths.look(folder, own, now);
    }

    fn warn(&mut self, folder: &Path, error: &std::io::Error) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                "records run without crash markers, because {} cannot be written: {error}",
                folder.display()
            );
        }
    }
}

#[cfg(test)]
mod tests;
