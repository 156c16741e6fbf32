//! How the loop follows its membership of the group: partitions come and go, and the topic may be another one.

use pipeline::{Offset, Partition};
use tokio::time::Instant;

use super::Poller;
use crate::invoke::Invoke;
use crate::mapping::consumer::{AFTER_TROUBLE, Change, subscribe};
use crate::mapping::progress::Progress;
use crate::mapping::start::Placed;

impl<F: Invoke> Poller<F> {
    /// Takes in what happened to the assignment, before anything that was read afterwards.
    pub(super) fn follow_assignment(&mut self) {
        while let Ok(change) = self.changes.try_recv() {
            match change {
                Change::Assigned(placed) => self.assigned(placed),
                Change::Unplaced(error) => {
                    self.joined = false;
                    self.join_at = Instant::now().checked_add(AFTER_TROUBLE);
                    self.reporter.trouble(format!("{error:#}"));
                }
                Change::Revoked(partitions) => self.give_up(partitions),
                Change::Recreated => {
                    self.reporter.tell(Progress::Recreated);
                    self.start_over();
                }
                Change::Ends(ends) => self.backlog.came_to(ends),
            }
        }
    }

    fn assigned(&mut self, placed: Placed) {
        let Placed { from, pins, gone } = placed;
        self.joined = true;
        let partitions = from.keys().copied().collect();
        self.reporter.tell(Progress::Assigned(partitions));
        for (partition, committed) in gone {
            let oldest = from.get(&partition).copied().and_then(Offset::new);
            if let (Some(committed), Some(oldest)) = (Offset::new(committed), oldest) {
                self.reporter.tell(Progress::Gone {
                    partition,
                    committed,
                    oldest,
                });
            }
        }
        self.backlog.assign(from, Instant::now());
        for (partition, offset) in pins {
            self.report_committed(partition, offset);
        }
    }

    fn give_up(&mut self, partitions: Vec<Partition>) {
        self.joined = false;
        self.commits.forget(&partitions);
        let fetching = self.backlog.revoke(partitions);
        self.set_fetching(&fetching);
        self.reporter.tell(Progress::Assigned(Vec::new()));
    }

    /// Forgets everything that was read, and joins the group again.
    pub(super) fn start_over(&mut self) {
        self.give_up(self.backlog.partitions());
        self.watermarks.forget();
        self.join_at = Some(Instant::now());
    }

    /// Joins the group again after it could not be told where to begin, or when it begins anew.
    pub(super) fn join_again(&mut self) {
        // An offset that is still on its way must not come after those that the group begins at.
        let may = !self.commits.are_under_way();
        if may && self.join_at.is_some_and(|at| at <= Instant::now()) {
            self.join_at = None;
            if let Err(error) = subscribe(&self.consumer, &self.settings.topic) {
                self.reporter.trouble(format!("{error:#}"));
                self.join_at = Instant::now().checked_add(AFTER_TROUBLE);
            }
        }
    }
}
