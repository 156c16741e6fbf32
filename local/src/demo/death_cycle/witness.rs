//! Who watches the orders: how often the poison comes, what is done, and what is committed.

use std::collections::BTreeSet;
use std::time::Duration;

use pipeline::Offset;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::orders::{HELD, poison};
use super::topics::ORDERS;
use crate::demo::journey::{Cast, Journey, Word, about};
use crate::demo::narrator::{Follow, Shown};
use crate::function::Line;
use crate::mapping::{Portion, Progress, Report};
use crate::runner::poison::{PoisonWatch, poisonous};

/// What has been seen up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sighting {
    /// How often the poison has been delivered in a row by the mapping that runs.
    pub(super) deliveries: u32,
    /// What was told when it had come too often.
    pub(super) recognised: Option<String>,
    /// The orders that were handled, each its partition and offset.
    pub(super) handled: BTreeSet<(i32, i64)>,
    /// The offset of the poison's partition that was committed last.
    pub(super) committed: Option<Offset>,
    /// How many alerts there were.
    pub(super) alerts: u64,
}

/// Follows the orders.
#[derive(Debug)]
pub(super) struct Witness {
    journey: Journey,
    topic: String,
    poison: PoisonWatch,
    sighting: watch::Sender<Sighting>,
}

/// A log line of the function that tells of one order.
#[derive(Deserialize)]
struct Told {
    message: String,
    #[serde(rename = "kafka.topic")]
    topic: String,
    #[serde(rename = "kafka.partition")]
    partition: i32,
    #[serde(rename = "kafka.offset")]
    offset: i64,
}

impl Witness {
    /// Watches the orders of a topic, and shows what it sees.
    pub(super) fn of(topic: &str, cast: Cast) -> (Self, watch::Receiver<Sighting>) {
        let (sighting, seen) = watch::channel(Sighting::default());
        let witness = Self {
            journey: Journey::of(cast),
            topic: topic.to_owned(),
            poison: PoisonWatch::default(),
            sighting,
        };
        (witness, seen)
    }

    /// Takes in a batch of orders; tells, once, that its first one has come too often.
    fn delivered(&mut self, report: &Report, parts: &[Portion]) -> Option<Shown> {
        for part in parts {
            if part.partition == HELD && (part.first..=part.last).contains(&poison()) {
                self.sighting
                    .send_modify(|seen| seen.deliveries = part.delivery);
            }
        }
        let now = Instant::now();
        let watch = &mut self.poison;
        let head = parts
            .iter()
            .find(|part| watch.delivered(&report.mapping, part, Duration::ZERO, now))?;
        let told = poisonous(ORDERS, head);
        self.sighting
            .send_modify(|seen| seen.recognised = Some(told.clone()));
        Some(Shown::Loud(told))
    }

    fn committed(&self, partition: pipeline::Partition, offset: Offset) -> Shown {
        if partition == HELD {
            self.sighting
                .send_modify(|seen| seen.committed = Some(offset));
        }
        let place = format!("{ORDERS}-{partition}");
        let text = format!("offset {offset}: everything before it is done");
        Shown::Step(about(Word::Commit, &place, text))
    }

    fn note_done(&self, line: &Line) {
        let Ok(told) = serde_json::from_str::<Told>(&line.text) else {
            return;
        };
        if told.message == "record done" && told.topic == self.topic {
            self.sighting.send_modify(|seen| {
                seen.handled.insert((told.partition, told.offset));
            });
        }
    }
}

impl Follow for Witness {
    fn line(&mut self, line: &Line) -> Option<Shown> {
        self.note_done(line);
        let step = self.journey.line(line);
        let alerts = self.journey.alerts();
        self.sighting.send_modify(|seen| seen.alerts = alerts);
        step.map(Shown::Step)
    }

    fn report(&mut self, report: &Report) -> Option<Shown> {
        let of_orders = &*report.mapping == ORDERS;
        match &report.progress {
            Progress::Delivered { parts, .. } if of_orders => self.delivered(report, parts),
            Progress::Committed { partition, offset } if of_orders => {
                Some(self.committed(*partition, *offset))
            }
            Progress::Delivered { .. }
            | Progress::Committed { .. }
            | Progress::Assigned(_)
            | Progress::Answered { .. }
            | Progress::Waiting { .. }
            | Progress::Lost(_)
            | Progress::Recreated
            | Progress::Gone { .. }
            | Progress::Discarded { .. }
            | Progress::HeadersLost { .. }
            | Progress::Trouble(_) => self.journey.report(report).map(Shown::Step),
        }
    }
}

#[cfg(test)]
mod tests {
    use pipeline::Partition;

    use super::*;
    use crate::function::Stream;

    fn witness() -> (Witness, watch::Receiver<Sighting>) {
        Witness::of("demo.orders", Cast::default())
    }

    fn report(mapping: &str, progress: Progress) -> Report {
        Report {
            mapping: mapping.into(),
            progress,
        }
    }

    fn delivered(mapping: &str, partition: i32, offsets: (i64, i64), delivery: u32) -> Report {
        let (first, last) = offsets;
        let part = Portion {
            partition: Partition::new(partition).unwrap(),
            first: Offset::new(first).unwrap(),
            last: Offset::new(last).unwrap(),
            records: 1,
            delivery,
        };
        let parts = vec![part];
        report(
            mapping,
            Progress::Delivered {
                invocation: 1,
                parts,
            },
        )
    }

    #[test]
    fn the_fifth_delivery_of_the_poison_is_told() {
        let (mut witness, seen) = witness();
        assert_eq!(witness.report(&delivered("orders", 0, (0, 4), 1)), None);
        assert_eq!(seen.borrow().deliveries, 1);
        for delivery in 2..=6 {
            let shown = witness.report(&delivered("orders", 0, (3, 4), delivery));
            assert_eq!(seen.borrow().deliveries, delivery);
            let told = "offset 3 of orders-0 delivered 5 times: poison record";
            let is_told = matches!(&shown, Some(Shown::Loud(text)) if text.starts_with(told));
            assert_eq!(is_told, delivery == 5, "{shown:?}");
        }
        assert!(seen.borrow().recognised.is_some());
    }

    #[test]
    fn other_partitions_and_mappings_are_not_taken_for_it() {
        let (mut witness, seen) = witness();
        for other in [
            delivered("orders", 1, (3, 3), 1),
            delivered("orders", 0, (0, 2), 1),
            delivered("orders", 0, (4, 4), 1),
            delivered("orders.dlq", 0, (3, 3), 1),
        ] {
            witness.report(&other);
        }
        let committed = |mapping, partition| {
            let partition = Partition::new(partition).unwrap();
            let offset = Offset::new(9).unwrap();
            report(mapping, Progress::Committed { partition, offset })
        };
        assert_eq!(witness.report(&committed("orders.dlq", 0)), None);
        assert!(witness.report(&committed("orders", 1)).is_some());
        assert_eq!(*seen.borrow(), Sighting::default());
        witness.report(&committed("orders", 0));
        assert_eq!(seen.borrow().committed, Offset::new(9));
    }

    #[test]
    fn an_order_that_is_done_twice_is_one() {
        let (mut witness, seen) = witness();
        for (topic, message) in [
            ("demo.orders", "record done"),
            ("demo.orders", "record done"),
            ("demo.orders", "record moved"),
            ("demo.orders.dlq", "record done"),
        ] {
            let text = format!(
                r#"{{"level":"DEBUG","message":"{message}","kafka.topic":"{topic}","kafka.partition":0,"kafka.offset":2}}"#
            );
            witness.line(&Line {
                function: "orders".into(),
                sandbox: 0,
                stream: Stream::Err,
                text,
            });
        }
        assert_eq!(seen.borrow().handled, BTreeSet::from([(0, 2)]));
    }
}
