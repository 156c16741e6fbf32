use std::collections::BTreeSet;

use super::super::rules::tests::{place_of, record, rules};
use super::*;

fn piece(offsets: impl IntoIterator<Item = i64>, retries: u32) -> Piece {
    Piece {
        records: offsets
            .into_iter()
            .map(|offset| Arc::new(record(0, offset, 9)))
            .collect(),
        deliveries: 7,
        retries,
        batch: Some(3),
    }
}

fn offsets(coordinates: &[Coordinates]) -> Vec<i64> {
    coordinates.iter().map(|at| at.offset.get()).collect()
}

/// Checks what is left of the offsets 0 to 4: for each piece its offsets and retries, and what is given up.
#[track_caller]
fn check(
    rules: &Rules,
    retries: u32,
    resolution: &Resolution,
    again: &[(&[i64], u32)],
    up: &[i64],
) {
    let left = piece(0..5, retries).left(resolution, rules);
    let found: Vec<(Vec<i64>, u32)> = left
        .again
        .iter()
        .map(|piece| {
            let records = piece.records.iter();
            let offsets = records.map(|record| record.coordinates.offset.get());
            (offsets.collect(), piece.retries)
        })
        .collect();
    let again: Vec<(Vec<i64>, u32)> = again
        .iter()
        .map(|(offsets, retries)| (offsets.to_vec(), *retries))
        .collect();
    assert_eq!((found, offsets(&left.exhausted)), (again, up.to_vec()));
    assert!(left.again.iter().all(|piece| piece.deliveries == 7));
}

fn listed(offsets: &[i64]) -> Resolution {
    let places: BTreeSet<_> = offsets.iter().map(|offset| place_of(0, *offset)).collect();
    Resolution::NotDone(places)
}

const ALL: &[i64] = &[0, 1, 2, 3, 4];

#[test]
fn what_is_done_leaves_nothing() {
    check(&rules(), 0, &Resolution::AllDone, &[], &[]);
    let elsewhere = Resolution::NotDone([place_of(1, 2)].into());
    check(&rules(), 0, &elsewhere, &[], &[]);
}

#[test]
fn what_is_listed_is_delivered_again_or_all_from_the_first_of_it_on() {
    let items = Rules {
        redelivery: Redelivery::Items,
        ..rules()
    };
    check(&items, 0, &listed(&[3, 1]), &[(&[1, 3], 1)], &[]);
    let resume = Rules {
        redelivery: Redelivery::Resume,
        ..rules()
    };
    check(&resume, 4, &listed(&[3, 1]), &[(&[1, 2, 3, 4], 5)], &[]);
}

#[test]
fn without_an_answer_all_is_delivered_again_whole_or_in_halves_that_count_as_no_retry() {
    check(&rules(), 0, &Resolution::Failed, &[(ALL, 1)], &[]);
    let bisect = Rules {
        bisect: Bisect::On,
        redelivery: Redelivery::Resume,
        retries: Some(2),
        ..rules()
    };
    let halves: &[(&[i64], u32)] = &[(&[0, 1], 2), (&[2, 3, 4], 2)];
    check(&bisect, 2, &Resolution::Failed, halves, &[]);
    // What is listed is not split.
    check(&bisect, 0, &listed(&[2]), &[(&[2, 3, 4], 1)], &[]);
    let single = piece([9], 1).left(&Resolution::Failed, &bisect);
    assert_eq!(single.again, [piece([9], 2)]);
    let single = piece([9], 2).left(&Resolution::Failed, &bisect);
    assert_eq!(offsets(&single.exhausted), [9]);
}

#[test]
fn what_did_not_reach_the_function_is_delivered_again_whole_and_counts_as_no_retry() {
    let strict = Rules {
        bisect: Bisect::On,
        retries: Some(2),
        ..rules()
    };
    check(&strict, 2, &Resolution::NotInvoked, &[(ALL, 2)], &[]);
}

#[test]
fn after_the_last_retry_what_is_not_done_is_given_up() {
    let twice = Rules {
        retries: Some(2),
        redelivery: Redelivery::Resume,
        ..rules()
    };
    check(&twice, 1, &Resolution::Failed, &[(ALL, 2)], &[]);
    check(&twice, 2, &Resolution::Failed, &[], ALL);
    // What was not listed is done, although it would have been delivered again.
    check(&twice, 2, &listed(&[1, 3]), &[], &[1, 3]);
    let never = Rules {
        retries: Some(0),
        ..rules()
    };
    check(&never, 0, &Resolution::Failed, &[], ALL);
    check(
        &rules(),
        u32::MAX,
        &Resolution::Failed,
        &[(ALL, u32::MAX)],
        &[],
    );
}

#[test]
fn a_piece_fits_by_records_and_by_bytes() {
    let check = |records, bytes, expected| {
        let fits = piece(0..5, 0).fits(Load { records, bytes });
        assert_eq!(fits, expected, "{records} {bytes}");
    };
    check(5, 50, true);
    check(4, 50, false);
    check(5, 49, false);
}
