//! The ledger: what was published, so that no later run publishes it again unasked.
//!
//! A place in it is partition, offset and the record's own time: a topic that was deleted and created again has the same offsets, not
//! the same times.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Offset, Partition, Record, Timestamp, Topic};
use crate::replay::plan::PlanName;
use crate::replay::selection::Window;

/// The form of ledger objects of this version.
const FORM: u32 = 1;

/// A dead letter in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Its partition.
    pub partition: Partition,
    /// Its offset.
    pub offset: Offset,
    /// When it died.
    pub time: Timestamp,
}

/// What one chunk of a run published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Where the dead letters are.
    pub from: Topic,
    /// Where they went.
    pub to: Topic,
    /// The run.
    pub replay_id: String,
    /// The plan that it carried out.
    pub plan: Option<PlanName>,
    /// When, RFC 3339.
    pub published: String,
    /// The dead letters.
    pub places: Vec<Place>,
}

/// What was published of a topic, as far as it matters to a run: 16 bytes for each dead letter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    by_partition: BTreeMap<Partition, Vec<(Offset, Timestamp)>>,
}

/// Says why an object is no part of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no ledger object of this version: {0}")]
pub struct LedgerError(String);

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    form: u32,
    topic: String,
    to: String,
    replay_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    published: String,
    /// Runs of offsets: partition, first offset, and the time of each record.
    records: Vec<(i32, i64, Vec<i64>)>,
}

impl Place {
    /// Takes down a record.
    pub const fn of(record: &Record) -> Self {
        Self {
            partition: record.coordinates.partition,
            offset: record.coordinates.offset,
            time: record.timestamp,
        }
    }
}

impl LedgerEntry {
    /// Returns the folder of a topic's ledger.
    pub fn folder(topic: &Topic) -> String {
        format!("replays/_ledger/{topic}/")
    }

    /// Returns the key of the object; `unique` tells it from every other.
    ///
    /// The times of the youngest and the oldest dead letter come first: keys in their order are objects in the order of time, and a run
    /// over a window need not read those that lie outside.
    pub fn key(&self, unique: &str) -> String {
        let times = self.places.iter().map(|place| place.time);
        let youngest = times.clone().max().unwrap_or(Timestamp::NONE);
        let oldest = times.min().unwrap_or(Timestamp::NONE);
        format!(
            "{}{}-{}-{}-{unique}.json",
            Self::folder(&self.from),
            sortable(youngest),
            sortable(oldest),
            self.replay_id
        )
    }

    /// Returns the key before which no object of a topic matters to a run over this window.
    pub fn first_key(topic: &Topic, window: Window) -> String {
        let since = window.since.map(sortable).unwrap_or_default();
        format!("{}{since}", Self::folder(topic))
    }

    /// Tells whether an object of this key may matter to a run over this window.
    pub fn may_matter(key: &str, window: Window) -> bool {
        let name = key.rsplit('/').next().unwrap_or(key);
        let mut times = name.split('-');
        let (Some(youngest), Some(oldest)) = (times.next(), times.next()) else {
            return true;
        };
        let since = window.since.map(sortable);
        let until = window.until.map(sortable);
        since.is_none_or(|since| since.as_str() <= youngest)
            && until.is_none_or(|until| oldest < until.as_str())
    }

    /// Writes the object.
    pub fn write(&self) -> Vec<u8> {
        let mut places = self.places.clone();
        places.sort_unstable();
        let mut records: Vec<(i32, i64, Vec<i64>)> = Vec::new();
        for place in places {
            let (partition, offset) = (place.partition.get(), place.offset.get());
            let follows = |(of, first, times): &&mut (i32, i64, Vec<i64>)| {
                let next = i64::try_from(times.len())
                    .ok()
                    .and_then(|length| first.checked_add(length));
                *of == partition && next == Some(offset)
            };
            match records.last_mut().filter(follows) {
                Some((_, _, times)) => times.push(place.time.millis()),
                None => records.push((partition, offset, vec![place.time.millis()])),
            }
        }
        let wire = Wire {
            form: FORM,
            topic: self.from.to_string(),
            to: self.to.to_string(),
            replay_id: self.replay_id.clone(),
            plan: self.plan.as_ref().map(ToString::to_string),
            published: self.published.clone(),
            records,
        };
        serde_json::to_vec(&wire).unwrap_or_default()
    }

    /// Reads the object.
    pub fn read(object: &[u8]) -> Result<Self, LedgerError> {
        let wrong = |error: &dyn std::fmt::Display| LedgerError(error.to_string());
        let wire: Wire = serde_json::from_slice(object).map_err(|error| wrong(&error))?;
        if wire.form != FORM {
            return Err(LedgerError(format!("it has form {}", wire.form)));
        }
        let mut places = Vec::new();
        for (partition, first, times) in wire.records {
            for (offset, time) in (first..).zip(times) {
                let place = Partition::new(partition)
                    .zip(Offset::new(offset))
                    .ok_or_else(|| {
                        LedgerError(format!("it has a record at {partition}/{offset}"))
                    })?;
                places.push(Place {
                    partition: place.0,
                    offset: place.1,
                    time: Timestamp::from_millis(time),
                });
            }
        }
        Ok(Self {
            from: wire.topic.parse().map_err(|error| wrong(&error))?,
            to: wire.to.parse().map_err(|error| wrong(&error))?,
            replay_id: wire.replay_id,
            plan: match wire.plan {
                Some(plan) => Some(plan.parse().map_err(|error| wrong(&error))?),
                None => None,
            },
            published: wire.published,
            places,
        })
    }
}

/// Writes a time so that the order of texts is the order of times; what lies before the epoch counts as at it.
fn sortable(time: Timestamp) -> String {
    format!("{:020}", time.millis().max(0))
}

impl Published {
    /// Adds what matters: call [`Self::in_order`] when all is added.
    pub fn add(&mut self, places: impl IntoIterator<Item = Place>) {
        for place in places {
            let of_partition = self.by_partition.entry(place.partition).or_default();
            of_partition.push((place.offset, place.time));
        }
    }

    /// Puts what was added in order, so that it can be asked.
    pub fn in_order(mut self) -> Self {
        for places in self.by_partition.values_mut() {
            places.sort_unstable();
            places.dedup();
            places.shrink_to_fit();
        }
        self
    }

    /// Tells whether this dead letter was published.
    pub fn holds(&self, place: &Place) -> bool {
        self.by_partition
            .get(&place.partition)
            .is_some_and(|places| places.binary_search(&(place.offset, place.time)).is_ok())
    }

    /// Returns how many dead letters it holds.
    pub fn len(&self) -> usize {
        let lengths = self.by_partition.values().map(Vec::len);
        lengths.fold(0, usize::saturating_add)
    }

    /// Tells whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.by_partition.values().all(Vec::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(partition: i32, offset: i64, time: i64) -> Place {
        Place {
            partition: Partition::new(partition).unwrap(),
            offset: Offset::new(offset).unwrap(),
            time: Timestamp::from_millis(time),
        }
    }

    fn entry(places: Vec<Place>) -> LedgerEntry {
        LedgerEntry {
            from: "dlq".parse().unwrap(),
            to: "main".parse().unwrap(),
            replay_id: "run-1".to_owned(),
            plan: None,
            published: "2025-08-23T07:12:21.805Z".to_owned(),
            places,
        }
    }

    proptest! {
        #[test]
        fn what_was_published_comes_back_from_its_object(
            places in proptest::collection::btree_map((0..9_i32, 0..40_i64), any::<i64>(), 0..500)
        ) {
            let places: Vec<Place> =
                places.into_iter().map(|((p, o), time)| place(p, o, time)).collect();
            let written = entry(places.clone());
            prop_assert_eq!(LedgerEntry::read(&written.write()), Ok(written));
            let mut published = Published::default();
            published.add(places.iter().rev().copied());
            let published = published.in_order();
            prop_assert_eq!(published.len(), places.len());
            prop_assert!(places.iter().all(|place| published.holds(place)));
        }
    }

    #[test]
    fn another_time_is_another_dead_letter() {
        let mut published = Published::default();
        published.add([place(0, 7, 1_000)]);
        let published = published.in_order();
        assert!(published.holds(&place(0, 7, 1_000)));
        for other in [place(0, 7, 2_000), place(0, 8, 1_000), place(1, 7, 1_000)] {
            assert!(!published.holds(&other), "{other:?}");
        }
    }

    #[test]
    fn offsets_in_a_row_take_one_line() {
        let object = entry((10..510).map(|offset| place(3, offset, 5)).collect()).write();
        let text = String::from_utf8(object).unwrap();
        assert_eq!(text.matches("[3,10,[").count(), 1, "{text}");
        assert!(text.len() < 2_000, "{}", text.len());
    }

    #[test]
    fn a_window_leaves_out_only_what_lies_outside_it() {
        let key = entry(vec![place(0, 1, 1_000), place(0, 2, 2_000)]).key("x");
        assert!(key.starts_with("replays/_ledger/dlq/"), "{key}");
        let check = |since: Option<i64>, until: Option<i64>, matters: bool| {
            let window = Window {
                since: since.map(Timestamp::from_millis),
                until: until.map(Timestamp::from_millis),
            };
            assert_eq!(LedgerEntry::may_matter(&key, window), matters, "{window:?}");
            let first = LedgerEntry::first_key(&"dlq".parse().unwrap(), window);
            assert!(!matters || first < key, "{window:?}");
        };
        check(None, None, true);
        check(Some(2_000), None, true);
        check(Some(2_001), None, false);
        check(None, Some(1_001), true);
        check(None, Some(1_000), false);
        check(Some(0), Some(i64::MAX), true);
    }

    #[test]
    fn what_is_no_ledger_object_is_refused() {
        for object in ["", "{}", r#"{"form":1}"#] {
            assert!(LedgerEntry::read(object.as_bytes()).is_err(), "{object}");
        }
        let mut negative: serde_json::Value =
            serde_json::from_slice(&entry(vec![place(0, 1, 1)]).write()).unwrap();
        negative["records"] = serde_json::json!([[0, -1, [1]]]);
        let refused = LedgerEntry::read(negative.to_string().as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("0/-1"), "{refused}");
    }
}
