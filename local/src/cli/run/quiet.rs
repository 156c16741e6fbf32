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
    pub(super) fn judge(&self, missing: &[&str], now: Instant) -> Option<End> {
        let wanted = self.wanted?;
        let lasts = |since: Instant| now.saturating_duration_since(since);
        if missing.is_empty() {
            (lasts(self.since) >= wanted).then_some(End::Idle)
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
        let began = Instant::now();
        let at = |second| began.checked_add(Duration::from_secs(second)).unwrap();
        let mut quiet = Quiet::new(wanted.map(Duration::from_secs), began);
        (0..=100).find_map(|second| {
            if disturbed.contains(&second) {
                quiet.disturb(at(second));
            }
            Some((second, quiet.judge(missing, at(second))?))
        })
    }

    #[test]
    fn it_ends_after_one_quiet_time_without_a_break() {
        assert_eq!(ends(Some(5), &[], &[]), Some((5, End::Idle)));
        assert_eq!(ends(Some(5), &[], &[3, 4, 8]), Some((13, End::Idle)));
        assert_eq!(ends(None, &[], &[]), None);
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
