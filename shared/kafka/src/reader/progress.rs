//! How far a partition has been read.

use std::cmp::{max, min};

use super::chunk::Range;

/// How far a partition has been read, and up to where it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    start: i64,
    end: i64,
    next: i64,
    at_gap: AtGap,
}

/// Whether the broker has said that nothing comes after `next`, though `next` is before the end.
///
/// The end of a partition may be made of offsets without a record: transaction markers, aborted or compacted records. A new
/// leader, though, may for a moment not know of the last records that its predecessor had; so the broker has to say it twice, and in
/// between that its last stable offset is at our end or behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtGap {
    No,
    Once,
    Confirmed,
}

impl Progress {
    pub(crate) const fn new(range: &Range) -> Self {
        Self {
            start: range.start.get(),
            end: range.end.get(),
            next: range.start.get(),
            at_gap: AtGap::No,
        }
    }

    pub(crate) const fn is_at_end(self) -> bool {
        self.next >= self.end
    }

    pub(crate) const fn next(self) -> i64 {
        self.next
    }

    /// Goes on at an offset, within the range.
    pub(crate) fn start_at(&mut self, offset: i64) {
        self.next = min(max(offset, self.start), self.end);
        self.at_gap = AtGap::No;
    }

    /// Ends before an offset, within the range.
    pub(crate) fn end_at(&mut self, offset: i64) {
        self.end = min(max(offset, self.start), self.end);
        self.next = min(self.next, self.end);
    }

    /// Passes a record; tells whether it is one to return.
    pub(crate) fn pass(&mut self, offset: i64) -> bool {
        // Lower offsets come again when a topic was deleted and made anew: those are other records.
        let wanted = self.next <= offset && offset < self.end;
        self.next = max(self.next, min(offset.saturating_add(1), self.end));
        self.at_gap = AtGap::No;
        wanted
    }

    /// Notes that the broker has nothing after the position.
    pub(crate) fn nothing_more(&mut self) {
        match self.at_gap {
            AtGap::No => self.at_gap = AtGap::Once,
            AtGap::Once => {}
            AtGap::Confirmed => self.next = self.end,
        }
    }

    /// Tells whether only a gap seems to be left, which is to be confirmed.
    pub(crate) const fn is_at_gap(self) -> bool {
        matches!(self.at_gap, AtGap::Once)
    }

    /// Notes the last stable offset that the broker knows now; tells whether it is as far as our end.
    pub(crate) const fn confirm(&mut self, last_stable: i64) -> bool {
        let confirmed = last_stable >= self.end;
        self.at_gap = if confirmed {
            AtGap::Confirmed
        } else {
            AtGap::No
        };
        confirmed
    }
}

#[cfg(test)]
mod tests {
    use pipeline::{Offset, Partition};

    use super::*;

    fn progress(start: i64, end: i64) -> Progress {
        let offset = |number| Offset::new(number).unwrap();
        Progress::new(&Range {
            partition: Partition::new(0).unwrap(),
            start: offset(start),
            end: offset(end),
            high_watermark: offset(end),
        })
    }

    #[test]
    fn a_record_is_returned_once_and_only_before_the_end() {
        let check = |offsets: &[i64], returned: &[i64], next: i64| {
            let mut progress = progress(3, 6);
            let mut passed = offsets.to_vec();
            passed.retain(|offset| progress.pass(*offset));
            assert_eq!(
                (passed.as_slice(), progress.next()),
                (returned, next),
                "{offsets:?}"
            );
        };
        check(&[], &[], 3);
        check(&[3, 4, 5], &[3, 4, 5], 6);
        check(&[5], &[5], 6);
        check(&[4, 9], &[4], 6);
        check(&[6], &[], 6);
        check(&[4, 3, 4, 5], &[4, 5], 6);
        check(&[0, 1], &[], 3);
        check(&[i64::MAX], &[], 6);
    }

    #[test]
    fn an_empty_range_is_at_its_end() {
        assert!(progress(7, 7).is_at_end());
        assert!(!progress(7, 8).is_at_end());
    }

    #[test]
    fn a_gap_at_the_end_is_passed_when_the_broker_has_said_so_twice() {
        let mut progress = progress(0, 10);
        assert!(progress.pass(7));
        progress.nothing_more();
        assert!(progress.is_at_gap() && !progress.is_at_end());
        // A new leader that does not know the end yet.
        assert!(!progress.confirm(8));
        progress.nothing_more();
        assert!(progress.confirm(10));
        assert!(!progress.is_at_end());
        progress.nothing_more();
        assert!(progress.is_at_end());
    }

    #[test]
    fn a_record_after_a_supposed_gap_shows_that_there_was_none() {
        let mut progress = progress(0, 10);
        progress.nothing_more();
        assert!(progress.confirm(12));
        assert!(progress.pass(4));
        progress.nothing_more();
        assert!(progress.is_at_gap() && !progress.is_at_end());
    }

    #[test]
    fn start_and_end_stay_within_the_range() {
        let check = |start_at: i64, end_at: i64, next: i64, end: i64| {
            let mut progress = progress(3, 6);
            progress.end_at(end_at);
            progress.start_at(start_at);
            assert_eq!((progress.next(), progress.end), (next, end));
        };
        check(0, 9, 3, 6);
        check(4, 5, 4, 5);
        check(9, 5, 5, 5);
        check(5, 1, 3, 3);
    }
}
