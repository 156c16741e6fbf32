//! Records that come again and again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Offset, Partition};
use tokio::time::Instant;

use crate::mapping::Portion;

/// How many deliveries make a record suspicious.
const DELIVERIES: u32 = 5;

/// Watches the records at the heads of partitions.
#[derive(Debug, Default)]
pub(crate) struct PoisonWatch {
    heads: BTreeMap<(Arc<str>, Partition), Head>,
}

/// The record at the head of a partition.
#[derive(Debug)]
struct Head {
    offset: Offset,
    since: Instant,
    /// Deliveries that say nothing of the record: before its delay was over, or without reaching the function.
    early: u32,
    told: bool,
}

impl PoisonWatch {
    /// Takes in a delivery to a mapping whose topic has this delay; tells, once a record, that it has come too often.
    pub(crate) fn delivered(
        &mut self,
        mapping: &Arc<str>,
        part: &Portion,
        delay: Duration,
        now: Instant,
    ) -> bool {
        let new = || Head {
            offset: part.first,
            since: now,
            early: 0,
            told: false,
        };
        let head = self
            .heads
            .entry((Arc::clone(mapping), part.partition))
            .or_insert_with(new);
        if head.offset != part.first {
            *head = new();
        }
        if now.saturating_duration_since(head.since) < delay {
            head.early = part.delivery;
        }
        let poisonous = part.delivery.saturating_sub(head.early) >= DELIVERIES;
        let tell = poisonous && !head.told;
        head.told |= poisonous;
        tell
    }

    /// Takes in that the function did not get what was delivered.
    pub(crate) fn not_reached(&mut self, mapping: &Arc<str>, part: &Portion) {
        let head = self.heads.get_mut(&(Arc::clone(mapping), part.partition));
        if let Some(head) = head.filter(|head| head.offset == part.first) {
            head.early = part.delivery;
        }
    }
}

/// Says which record of a topic comes again and again.
pub(crate) fn poisonous(topic: &str, part: &Portion) -> String {
    format!(
        "offset {} of {topic}-{} delivered {} times: poison record; its partition stands still until it is done",
        part.first, part.partition, part.delivery
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portion(offset: i64, delivery: u32) -> Portion {
        Portion {
            partition: Partition::FIRST,
            first: Offset::new(offset).unwrap(),
            last: Offset::new(offset).unwrap(),
            records: 1,
            delivery,
        }
    }

    /// Delivers records of these offsets, numbered deliveries, one a second, and returns which were told of.
    fn check(delay: u64, deliveries: &[(i64, u32)], told: &[usize]) {
        let mut watch = PoisonWatch::default();
        let began = Instant::now();
        let poisonous = |(second, (offset, delivery)): (u64, &(i64, u32))| {
            let now = began.checked_add(Duration::from_secs(second)).unwrap();
            let part = portion(*offset, *delivery);
            watch.delivered(&"m".into(), &part, Duration::from_secs(delay), now)
        };
        let was: Vec<bool> = (0..).zip(deliveries).map(poisonous).collect();
        let which: Vec<usize> = (0..was.len()).filter(|index| was[*index]).collect();
        assert_eq!(which, told, "{delay} {deliveries:?}");
    }

    #[test]
    fn five_deliveries_are_told_once() {
        check(
            0,
            &[(3, 1), (3, 2), (3, 3), (3, 4), (3, 5), (3, 6), (3, 7)],
            &[4],
        );
        check(0, &[(3, 1), (3, 2), (3, 3), (3, 4), (4, 1)], &[]);
    }

    #[test]
    fn a_record_that_was_delivered_behind_another_brings_its_deliveries_along() {
        check(0, &[(0, 1), (3, 2), (3, 3), (3, 4), (3, 5)], &[4]);
    }

    #[test]
    fn each_record_is_told_of() {
        check(0, &[(3, 4), (3, 5), (4, 4), (4, 5), (4, 6)], &[1, 3]);
    }

    #[test]
    fn what_is_handed_back_while_it_is_not_due_is_no_poison() {
        let long: Vec<(i64, u32)> = (1..=9).map(|delivery| (3, delivery)).collect();
        check(100, &long, &[]);
        // Deliveries 1 to 4 come before the fourth second.
        check(4, &long, &[8]);
    }
}
