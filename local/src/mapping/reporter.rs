//! Telling what a mapping does.

use std::sync::Arc;

use pipeline::Coordinates;
use tokio::sync::mpsc::UnboundedSender;

use super::progress::{Discard, Progress, Report};

/// Sends reports to whoever listens.
pub(super) struct Reporter {
    mapping: Arc<str>,
    reports: UnboundedSender<Report>,
    trouble: Option<String>,
}

impl Reporter {
    pub(super) fn new(mapping: Arc<str>, reports: UnboundedSender<Report>) -> Self {
        Self {
            mapping,
            reports,
            trouble: None,
        }
    }

    pub(super) fn tell(&self, progress: Progress) {
        let mapping = Arc::clone(&self.mapping);
        // Nobody has to listen.
        self.reports.send(Report { mapping, progress }).ok();
    }

    pub(super) fn discarded(&self, records: Vec<Coordinates>, reason: Discard) {
        for record in records {
            self.tell(Progress::Discarded { record, reason });
        }
    }

    /// Tells of trouble once, until it is over or changes.
    pub(super) fn trouble(&mut self, text: String) {
        if self.trouble.as_ref() != Some(&text) {
            self.tell(Progress::Trouble(text.clone()));
            self.trouble = Some(text);
        }
    }

    pub(super) fn trouble_is_over(&mut self) {
        self.trouble = None;
    }
}
