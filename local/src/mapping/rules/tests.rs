use std::num::NonZeroUsize;

use bytes::Bytes;
use pipeline::{Coordinates, Offset};

use super::super::answer::Place;
use super::*;

pub(in crate::mapping) const SECOND: Duration = Duration::from_secs(1);

pub(in crate::mapping) fn partition(number: i32) -> Partition {
    Partition::new(number).unwrap()
}

pub(in crate::mapping) fn place_of(at: i32, offset: i64) -> Place {
    (partition(at), Offset::new(offset).unwrap())
}

/// A record that adds one byte more to an event than its JSON has.
pub(in crate::mapping) fn record(at: i32, offset: i64, bytes: usize) -> EventRecord {
    EventRecord {
        coordinates: Coordinates {
            topic: "t".parse().unwrap(),
            partition: partition(at),
            offset: Offset::new(offset).unwrap(),
        },
        timestamp: 1,
        json: Bytes::from(vec![b'x'; bytes]),
        unreadable_headers: 0,
    }
}

/// Batches of at most 3 records and 100 bytes beside the frame of one partition, 1 s after the first.
pub(in crate::mapping) fn rules() -> Rules {
    let topic: Topic = "t".parse().unwrap();
    Rules {
        bytes: event::frame_size(&topic, partition(0)).saturating_add(100),
        topic,
        records: 3,
        window: SECOND,
        pollers: Pollers::Standard,
        redelivery: Redelivery::Items,
        bisect: Bisect::Off,
        retries: None,
        max_age: None,
    }
}

#[test]
fn partitions_belong_to_pollers_by_their_numbers() {
    let of = |pollers, numbers: &[i32]| -> Vec<i64> {
        let rules = Rules { pollers, ..rules() };
        let pollers = numbers.iter().map(|at| rules.poller_of(partition(*at)).0);
        pollers.collect()
    };
    assert_eq!(of(Pollers::Standard, &[0, 1, 7]), [0, 1, 7]);
    let provisioned = |pollers| Pollers::Provisioned(NonZeroUsize::new(pollers).unwrap());
    assert_eq!(of(provisioned(1), &[0, 1, 7]), [0, 0, 0]);
    assert_eq!(of(provisioned(3), &[0, 1, 2, 3, 7]), [0, 1, 2, 0, 1]);
}

#[test]
fn a_record_is_too_old_past_the_age_and_never_without_a_time_of_its_own() {
    let check = |max_age, timestamp, expected| {
        let rules = Rules { max_age, ..rules() };
        let record = EventRecord {
            timestamp,
            ..record(0, 0, 1)
        };
        let now = 1_000_000;
        assert_eq!(
            is_too_old(&record, rules.oldest(now)),
            expected,
            "{timestamp}"
        );
    };
    let minute = Some(Duration::from_mins(1));
    check(minute, 940_000, false);
    check(minute, 939_999, true);
    check(minute, 1, true);
    for absurd in [0, -1, i64::MIN, 2_000_000, i64::MAX] {
        check(minute, absurd, false);
    }
    check(None, 1, false);
}

#[test]
fn retries_end_after_so_many_or_never() {
    let check = |retries, used, expected| {
        let rules = Rules { retries, ..rules() };
        assert_eq!(rules.is_exhausted(used), expected);
    };
    check(None, u32::MAX, false);
    check(Some(0), 0, true);
    check(Some(2), 1, false);
    check(Some(2), 2, true);
}
