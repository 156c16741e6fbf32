//! Which records of a batch must wait for which: one key in order, other keys beside it.

use std::collections::HashMap;

use bytes::Bytes;

use crate::record::{Coordinates, Partition, Record, Topic};

/// Splits records into lanes: within a lane one after the other, lanes beside each other.
///
/// A lane holds the records of one key in one partition, in the order in which they came. A null key has no order, so each such
/// record has a lane of its own; an empty key is a key. Lanes come in the order of their first records.
pub fn lanes<T>(
    records: impl IntoIterator<Item = T>,
    record: impl Fn(&T) -> &Record,
) -> Vec<Vec<T>> {
    let mut lanes: Vec<Vec<T>> = Vec::new();
    let mut of_key: HashMap<(Topic, Partition, Bytes), usize> = HashMap::new();
    for item in records {
        let Record {
            coordinates: Coordinates {
                topic, partition, ..
            },
            key,
            ..
        } = record(&item);
        let lane = key.as_ref().map(|key| {
            *of_key
                .entry((topic.clone(), *partition, key.clone()))
                .or_insert(lanes.len())
        });
        match lane.and_then(|lane| lanes.get_mut(lane)) {
            Some(lane) => lane.push(item),
            None => lanes.push(vec![item]),
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Headers, Offset, Timestamp};

    fn record(partition: i32, offset: i64, key: Option<&'static str>) -> Record {
        Record {
            coordinates: Coordinates {
                topic: "t".parse().unwrap(),
                partition: Partition::new(partition).unwrap(),
                offset: Offset::new(offset).unwrap(),
            },
            timestamp: Timestamp::NONE,
            key: key.map(|key| Bytes::from_static(key.as_bytes())),
            value: None,
            headers: Headers::default(),
        }
    }

    fn check(records: &[(i32, i64, Option<&'static str>)], expected: &[&[i64]]) {
        let records = records
            .iter()
            .map(|(partition, offset, key)| record(*partition, *offset, *key));
        let got: Vec<Vec<i64>> = lanes(records, |record| record)
            .iter()
            .map(|lane| {
                lane.iter()
                    .map(|record| record.coordinates.offset.get())
                    .collect()
            })
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn one_key_is_one_lane_in_order() {
        check(
            &[(0, 1, Some("a")), (0, 2, Some("b")), (0, 3, Some("a"))],
            &[&[1, 3], &[2]],
        );
    }

    #[test]
    fn a_null_key_has_no_order_and_an_empty_key_is_a_key() {
        check(
            &[
                (0, 1, None),
                (0, 2, Some("")),
                (0, 3, None),
                (0, 4, Some("")),
            ],
            &[&[1], &[2, 4], &[3]],
        );
    }

    #[test]
    fn the_same_key_in_another_partition_is_another_lane() {
        check(&[(0, 1, Some("a")), (1, 2, Some("a"))], &[&[1], &[2]]);
    }
}
