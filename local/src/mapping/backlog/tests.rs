use std::num::NonZeroUsize;
use std::time::Duration;

use pipeline::Offset;

use super::super::rules::tests::{SECOND, partition, place_of, record, rules};
use super::super::settings::{Pollers, Redelivery};
use super::*;

mod giving_up;
mod pollers;

/// A backlog with the rules of the tests, and partitions from 0 on.
fn backlog(rules: Rules, partitions: i32, now: Instant) -> Backlog {
    let mut backlog = Backlog::new(rules);
    backlog.assign((0..partitions).map(|at| (partition(at), 0)), now);
    backlog
}

fn one(now: Instant) -> Backlog {
    backlog(rules(), 2, now)
}

fn pollers(number: usize) -> Rules {
    Rules {
        pollers: Pollers::Provisioned(NonZeroUsize::new(number).unwrap()),
        ..rules()
    }
}

fn push(backlog: &mut Backlog, at: i32, offsets: impl IntoIterator<Item = i64>, now: Instant) {
    for offset in offsets {
        backlog.push(record(at, offset, 9), now).unwrap();
    }
}

fn turn(backlog: &mut Backlog, now: Instant) -> Turn {
    backlog.take(Moment {
        instant: now,
        time: 1_000_000,
    })
}

/// Takes a batch and returns where its records are.
fn take(backlog: &mut Backlog, now: Instant) -> Option<(Batch, Vec<(i32, i64)>)> {
    let batch = turn(backlog, now).batch?;
    let places = batch.records.iter().map(|record| {
        let at = &record.coordinates;
        (at.partition.get(), at.offset.get())
    });
    let places = places.collect();
    Some((batch, places))
}

fn not_done(places: &[(i32, i64)]) -> Resolution {
    let places = places.iter().map(|(at, offset)| place_of(*at, *offset));
    Resolution::NotDone(places.collect())
}

#[test]
fn a_batch_goes_when_it_is_full_or_its_window_is_over() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, 0..2, now);
    assert!(take(&mut backlog, now).is_none());
    assert_eq!(backlog.next_due(), Some(now + SECOND));
    push(&mut backlog, 0, 2..5, now + SECOND / 2);
    let (batch, places) = take(&mut backlog, now + SECOND / 2).unwrap();
    assert_eq!(places, [(0, 0), (0, 1), (0, 2)]);
    // The partition is busy; afterwards the window of its next record counts.
    assert!(take(&mut backlog, now + SECOND * 5).is_none());
    backlog.finish(&batch, &Resolution::AllDone, now + SECOND);
    assert!(take(&mut backlog, now + SECOND).is_none());
    let (_, places) = take(&mut backlog, now + SECOND * 3 / 2).unwrap();
    assert_eq!(places, [(0, 3), (0, 4)]);
}

#[test]
fn without_a_window_a_batch_goes_at_once_and_at_6_mb_it_does_not_wait_for_one() {
    let now = Instant::now();
    let rules = Rules {
        window: Duration::ZERO,
        ..rules()
    };
    let mut at_once = backlog(rules, 1, now);
    push(&mut at_once, 0, 0..1, now);
    assert!(take(&mut at_once, now).is_some());
    let mut large = one(now);
    large.push(record(0, 0, 90), now).unwrap();
    assert!(take(&mut large, now).is_none());
    large.push(record(0, 1, 90), now).unwrap();
    let (_, places) = take(&mut large, now).unwrap();
    assert_eq!(places, [(0, 0)]);
}

#[test]
fn a_batch_ends_before_it_is_too_large_and_a_record_too_large_for_any_is_passed_over() {
    let now = Instant::now();
    let mut backlog = one(now);
    backlog.push(record(0, 0, 60), now).unwrap();
    backlog.push(record(0, 1, 60), now).unwrap();
    // It stands behind others: its offset goes with theirs.
    assert_eq!(backlog.push(record(0, 2, 100), now), Err(None));
    let (batch, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(0, 0)]);
    let finished = backlog.finish(&batch, &Resolution::AllDone, now);
    assert_eq!(finished.commits, [(partition(0), 1)]);
    let (batch, places) = take(&mut backlog, now + SECOND).unwrap();
    assert_eq!(places, [(0, 1)]);
    let finished = backlog.finish(&batch, &Resolution::AllDone, now);
    assert_eq!(finished.commits, [(partition(0), 3)]);
    // With nothing before it, it is committed at once.
    let next = Some((partition(1), 8));
    assert_eq!(backlog.push(record(1, 7, 100), now), Err(next));
}

#[test]
fn offsets_never_move_past_what_is_not_done_and_end_behind_the_batch() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, 10..13, now);
    let commit = |next: i64| vec![(partition(0), next)];
    let mut step = |resolution: Resolution, expected: &[i64], commits: Vec<(Partition, i64)>| {
        let later = now + SECOND * 10;
        let (batch, places) = take(&mut backlog, later).unwrap();
        let offsets: Vec<i64> = places.iter().map(|(_, offset)| *offset).collect();
        assert_eq!(offsets, expected);
        assert_eq!(backlog.finish(&batch, &resolution, now).commits, commits);
    };
    step(Resolution::Failed, &[10, 11, 12], vec![]);
    // 11 is done, and 10 is not.
    step(not_done(&[(0, 10), (0, 12)]), &[10, 11, 12], commit(10));
    step(not_done(&[(0, 12)]), &[10, 12], commit(12));
    step(not_done(&[(0, 12)]), &[12], vec![]);
    step(Resolution::AllDone, &[12], commit(13));
}

#[test]
fn what_is_delivered_again_is_not_topped_up_and_waits_for_its_pause() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, 0..3, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    push(&mut backlog, 0, 3..6, now);
    let finished = backlog.finish(&batch, &not_done(&[(0, 1)]), now);
    let pause = Duration::from_millis(100);
    assert_eq!(finished.again, [(partition(0), 1, pause)]);
    assert!(take(&mut backlog, now + pause / 2).is_none());
    assert_eq!(backlog.next_due(), Some(now + pause));
    let (batch, places) = take(&mut backlog, now + pause).unwrap();
    assert_eq!((places, batch.parts[0].delivery), (vec![(0, 1)], 2));
    backlog.finish(&batch, &Resolution::AllDone, now + pause);
    let (_, places) = take(&mut backlog, now + pause).unwrap();
    assert_eq!(places, [(0, 3), (0, 4), (0, 5)]);
}

#[test]
fn a_partition_that_went_away_is_forgotten_and_its_answer_counts_for_nothing() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, 0..5, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    backlog.revoke([partition(0), partition(1)]);
    assert!(take(&mut backlog, now + SECOND).is_none());
    // What still comes of it is not taken in.
    push(&mut backlog, 0, 5..8, now);
    assert!(take(&mut backlog, now + SECOND).is_none());
    let finished = backlog.finish(&batch, &Resolution::AllDone, now);
    assert_eq!(
        (finished.lost, finished.commits),
        (vec![partition(0)], vec![])
    );
    assert_eq!(backlog.idle_as_of(now), Some(now));
}

#[test]
fn a_partition_that_comes_back_waits_for_the_invocation_that_still_runs() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, 0..3, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    backlog.revoke([partition(0)]);
    backlog.assign([(partition(0), 0)], now);
    push(&mut backlog, 0, 0..3, now);
    assert!(take(&mut backlog, now + SECOND).is_none());
    let finished = backlog.finish(&batch, &Resolution::AllDone, now);
    assert_eq!(
        (finished.lost, finished.commits),
        (vec![partition(0)], vec![])
    );
    let (_, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(0, 0), (0, 1), (0, 2)]);
}

#[test]
fn the_longest_waiting_partition_goes_first() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 1, 0..3, now);
    push(&mut backlog, 0, 0..3, now + SECOND / 4);
    let (_, places) = take(&mut backlog, now + SECOND / 2).unwrap();
    assert_eq!(places[0].0, 1);
}

#[test]
fn fetching_stops_two_batches_ahead_and_goes_on_below_one() {
    let now = Instant::now();
    let mut backlog = one(now);
    let check = |backlog: &mut Backlog, pause: &[i32], resume: &[i32]| {
        let list = |numbers: &[i32]| numbers.iter().copied().map(partition).collect();
        let expected = Fetching {
            pause: list(pause),
            resume: list(resume),
        };
        assert_eq!(backlog.fetching(), expected);
    };
    push(&mut backlog, 0, 0..5, now);
    check(&mut backlog, &[], &[]);
    push(&mut backlog, 0, 5..6, now);
    check(&mut backlog, &[0], &[]);
    check(&mut backlog, &[], &[]);
    let (batch, _) = take(&mut backlog, now).unwrap();
    check(&mut backlog, &[], &[]);
    backlog.finish(&batch, &Resolution::AllDone, now);
    take(&mut backlog, now).unwrap();
    check(&mut backlog, &[], &[0]);
    // What is stopped when the partition goes away must go on, or it would never be read again.
    push(&mut backlog, 0, 6..13, now);
    check(&mut backlog, &[0], &[]);
    let both = || [partition(0), partition(1)];
    assert_eq!(backlog.revoke(both()).resume, [partition(0)]);
    backlog.assign(both().map(|at| (at, 0)), now);
    check(&mut backlog, &[], &[]);
}

#[test]
fn a_record_that_is_read_twice_is_queued_once() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, [4, 5, 4, 5, 6], now);
    let (_, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(0, 4), (0, 5), (0, 6)]);
}

#[test]
fn idle_means_read_to_an_end_that_was_looked_up_since_and_all_done() {
    let now = Instant::now();
    let at = |seconds: u32| now + SECOND * seconds;
    let mut backlog = one(now);
    let ends = |first| [(partition(0), first), (partition(1), 0)];
    backlog.end_at(ends(0), at(1));
    assert_eq!(backlog.idle_as_of(at(9)), None);
    backlog.at_end(partition(0));
    backlog.at_end(partition(1));
    assert_eq!(backlog.idle_as_of(at(9)), Some(at(1)));
    push(&mut backlog, 0, 0..1, at(2));
    backlog.at_end(partition(0));
    backlog.end_at(ends(1), at(3));
    assert_eq!(backlog.idle_as_of(at(9)), None);
    let (batch, _) = take(&mut backlog, at(4)).unwrap();
    assert_eq!(backlog.idle_as_of(at(9)), None);
    backlog.finish(&batch, &Resolution::Failed, at(5));
    backlog.end_at(ends(1), at(6));
    assert_eq!(backlog.idle_as_of(at(9)), None);
    let (batch, _) = take(&mut backlog, at(7)).unwrap();
    backlog.finish(&batch, &Resolution::AllDone, at(8));
    // The end must be looked up since then.
    assert!(backlog.is_done());
    assert_eq!(backlog.idle_as_of(at(9)), None);
    backlog.end_at(ends(1), at(9));
    assert_eq!(backlog.idle_as_of(at(10)), Some(at(9)));
}

#[test]
fn a_partition_whose_end_is_elsewhere_than_where_it_was_read_to_is_not_idle() {
    let now = Instant::now();
    let mut backlog = backlog(rules(), 1, now);
    backlog.assign([(partition(0), 5)], now);
    backlog.at_end(partition(0));
    let mut check = |end: i64, came_to: i64, expected: bool| {
        let asked = now + SECOND;
        backlog.came_to([(partition(0), came_to)]);
        backlog.end_at([(partition(0), end)], asked);
        let expected = expected.then_some(asked);
        assert_eq!(backlog.idle_as_of(asked), expected, "{end} {came_to}");
    };
    check(5, 5, true);
    // On its way, or transaction markers that the client has not come to.
    check(6, 5, false);
    check(6, 6, true);
    // A new topic of the same name, or one that was cut.
    check(4, 6, false);
}

#[test]
fn what_is_handed_back_and_delivered_most_often_is_told() {
    let now = Instant::now();
    let mut backlog = one(now);
    assert_eq!(
        (backlog.handed_back(), backlog.most_delivered()),
        (None, None)
    );
    let head = |at, offset, deliveries| {
        Some(MostDelivered {
            partition: partition(at),
            offset: Offset::new(offset).unwrap(),
            deliveries,
        })
    };
    push(&mut backlog, 0, 0..3, now);
    push(&mut backlog, 1, 5..8, now);
    let (zero, _) = take(&mut backlog, now).unwrap();
    let (one, _) = take(&mut backlog, now).unwrap();
    assert_eq!(backlog.most_delivered().unwrap().deliveries, 1);
    backlog.finish(&zero, &Resolution::Failed, now);
    backlog.finish(&one, &not_done(&[(1, 6)]), now + SECOND);
    let handed_back = HandedBack {
        records: 4,
        until: now + Duration::from_millis(100),
    };
    assert_eq!(backlog.handed_back(), Some(handed_back));
    let (again, _) = take(&mut backlog, now + SECOND).unwrap();
    assert_eq!(backlog.most_delivered(), head(0, 0, 2));
    // The one that was delivered among others counts those deliveries too.
    backlog.finish(&again, &not_done(&[(0, 2)]), now + SECOND);
    assert_eq!(backlog.most_delivered(), head(0, 2, 2));
    backlog.revoke([partition(0)]);
    assert_eq!(backlog.most_delivered(), head(1, 6, 1));
}
