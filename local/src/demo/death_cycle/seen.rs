//! What was seen of a death cycle, and whether it was one.

use serde::Serialize;

/// What was seen: before, while nothing was dead-lettered, and after, when it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// How many orders were sent, the one included that nobody can read.
    pub orders: u64,
    /// How many different orders were handled.
    pub handled: u64,
    /// The partition of the order that nobody can read.
    pub poison_partition: i32,
    /// Its offset.
    pub poison_offset: i64,
    /// What was told when it was recognised; absent when it was not.
    pub recognised: Option<String>,
    /// How often it was delivered before.
    pub deliveries_before: u32,
    /// How often it was delivered after.
    pub deliveries_after: u32,
    /// The offset of its partition that was committed before.
    pub committed_before: i64,
    /// The offset of its partition that was committed after.
    pub committed_after: i64,
    /// How many orders of its partition were not done before.
    pub lag_before: i64,
    /// How many orders of its partition were not done after.
    pub lag_after: i64,
    /// How many orders of the other partition were not done while its own stood still.
    pub other_lag: i64,
    /// How many records the dead-letter topic holds.
    pub dead_letters: i64,
    /// How many incidents lie in the bucket.
    pub incidents: u64,
    /// How many alerts there were.
    pub alerts: u64,
}

impl Seen {
    /// Returns what is not as it must be, in words; nothing when the whole story happened.
    pub fn problems(&self) -> Vec<String> {
        let poison = self.poison_offset;
        let end = poison.saturating_add(self.lag_before);
        let wrong = [
            (
                self.recognised.is_none() || self.deliveries_before < 5,
                format!(
                    "the poison order was delivered {} times before, and {} recognised",
                    self.deliveries_before,
                    if self.recognised.is_some() {
                        "was"
                    } else {
                        "was not"
                    }
                ),
            ),
            (
                self.committed_before != poison,
                format!(
                    "offset {} was committed before, not {poison}",
                    self.committed_before
                ),
            ),
            (
                self.lag_before < 2,
                format!(
                    "{} orders of its partition were not done before: the lag did not grow",
                    self.lag_before
                ),
            ),
            (
                self.other_lag != 0,
                format!(
                    "{} orders of the other partition stood still too",
                    self.other_lag
                ),
            ),
            (
                self.deliveries_after != 3,
                format!(
                    "the poison order was delivered {} times after, not 3",
                    self.deliveries_after
                ),
            ),
            (
                self.committed_after != end || self.lag_after != 0,
                format!(
                    "offset {} was committed after, not {end}; {} orders are not done",
                    self.committed_after, self.lag_after
                ),
            ),
            (
                (self.dead_letters, self.incidents, self.alerts) != (1, 1, 1),
                format!(
                    "{} dead letters, {} incidents, {} alerts instead of one each",
                    self.dead_letters, self.incidents, self.alerts
                ),
            ),
            (
                self.handled.saturating_add(1) != self.orders,
                format!("{} of {} orders were handled", self.handled, self.orders),
            ),
        ];
        wrong
            .into_iter()
            .filter_map(|(is_wrong, text)| is_wrong.then_some(text))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen {
            orders: 13,
            handled: 12,
            poison_partition: 0,
            poison_offset: 3,
            recognised: Some("offset 3 of orders-0 delivered 5 times: poison record".to_owned()),
            deliveries_before: 6,
            deliveries_after: 3,
            committed_before: 3,
            committed_after: 8,
            lag_before: 5,
            lag_after: 0,
            other_lag: 0,
            dead_letters: 1,
            incidents: 1,
            alerts: 1,
        }
    }

    #[test]
    fn the_whole_story_has_no_problem() {
        assert_eq!(seen().problems(), Vec::<String>::new());
    }

    #[test]
    fn each_thing_that_did_not_happen_is_a_problem() {
        let spoilt: [fn(&mut Seen); 15] = [
            |seen| seen.orders = 14,
            |seen| seen.handled = 11,
            |seen| seen.recognised = None,
            |seen| seen.deliveries_before = 4,
            |seen| seen.deliveries_after = 4,
            |seen| seen.deliveries_after = 2,
            |seen| seen.committed_before = 4,
            |seen| seen.committed_after = 4,
            |seen| (seen.lag_before, seen.committed_after) = (1, 4),
            |seen| seen.lag_after = 1,
            |seen| seen.other_lag = 1,
            |seen| seen.dead_letters = 0,
            |seen| seen.dead_letters = 2,
            |seen| seen.incidents = 0,
            |seen| seen.alerts = 2,
        ];
        for (number, spoil) in spoilt.iter().enumerate() {
            let mut seen = seen();
            spoil(&mut seen);
            assert_eq!(seen.problems().len(), 1, "{number}: {:?}", seen.problems());
        }
    }
}
