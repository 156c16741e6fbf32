//! When a run ends by itself.

use std::time::Duration;

use tokio::time::Instant;

/// How long a run that ends by itself waits for brokers and topics.
const JOIN_LIMIT: Duration = Duration::from_mins(1);

/// Watches for how long nothing has happened on any mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiet {
    wanted: Option<Duration>,
    began: Instant,
    since: Instant,
}

/// Why a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It was told to.
    Told,
    /// All mappings have been idle for as long as was asked.
    Idle,
    /// Some mapping has never become a member of its group.
    NeverJoined(String),
}

impl Quiet {
    /// Begins to watch; without a time that is wanted there is no end.
    pub(super) const fn new(wanted: Option<Duration>, now: Instant) -> Self {
        Self {
            wanted,
            began: now,
            since: now,
        }
    }

    /// Notes that something happened, or that some mapping is busy.
    pub(super) const fn disturb(&mut self, now: Instant) {
        self.since = now;
    }

    /// Tells whether the run ends; `missing` are mappings that have never joined their groups, of which none is idle.
    ///
    /// `idle_as_of` tells when the ends of all partitions were looked up last: before something happened on one mapping, it says
    /// nothing of what that has produced for another.
    pub(super) fn judge(
        &self,
        missing: &[&str],
        idle_as_of: Option<Instant>,
        now: Instant,
    ) -> Option<End> {
        let wanted = self.wanted?;
        let lasts = |since: Instant| now.saturating_duration_since(since);
        if missing.is_empty() {
            let since_then = idle_as_of.is_some_and(|at| at >= self.since);
            (lasts(self.since) >= wanted && since_then).then_some(End::Idle)
        } else {
            (lasts(self.began) >= JOIN_LIMIT).then(|| {
                let missing = missing.join(", ");
                End::NeverJoined(format!(
                    "within a minute these mappings could not join their groups: {missing}"
                ))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges after so many seconds, with something happening in those that are named, and returns when it ended.
    fn ends(wanted: Option<u64>, missing: &[&str], disturbed: &[u64]) -> Option<(u64, End)> {
        ends_with_lookups(wanted, missing, disturbed, Some)
    }

    /// Judges as `ends` does; `looked_up` tells for each second in which one the ends were looked up last.
    fn ends_with_lookups(
        wanted: Option<u64>,
        missing: &[&str],
        disturbed: &[u64],
        looked_up: impl Fn(u64) -> Option<u64>,
    ) -> Option<(u64, End)> {
        let began = Instant::now();
        let at = |second| began.checked_add(Duration::from_secs(second)).unwrap();
        let mut quiet = Quiet::new(wanted.map(Duration::from_secs), began);
        (0..=100).find_map(|second| {
            if disturbed.contains(&second) {
                quiet.disturb(at(second));
            }
            let end = quiet.judge(missing, looked_up(second).map(at), at(second));
            Some((second, end?))
        })
    }

    #[test]
    fn it_ends_after_one_quiet_time_without_a_break() {
        assert_eq!(ends(Some(5), &[], &[]), Some((5, End::Idle)));
        assert_eq!(ends(Some(5), &[], &[3, 4, 8]), Some((13, End::Idle)));
        assert_eq!(ends(None, &[], &[]), None);
    }

    #[test]
    fn it_ends_only_when_all_ends_were_looked_up_since_something_happened() {
        let every_ten = |second: u64| Some(second / 10 * 10);
        assert_eq!(
            ends_with_lookups(Some(1), &[], &[0, 1, 2, 3], every_ten),
            Some((10, End::Idle))
        );
        assert_eq!(ends_with_lookups(Some(0), &[], &[], |_| None), None);
    }

    #[test]
    fn it_fails_after_a_minute_when_a_mapping_has_not_joined() {
        let (second, end) = ends(Some(5), &["a", "b"], &[]).unwrap();
        assert!(
            matches!(&end, End::NeverJoined(why) if why.contains("a, b")),
            "{end:?}"
        );
        assert_eq!(second, 60);
        assert_eq!(ends(None, &["a"], &[]), None);
    }
}
