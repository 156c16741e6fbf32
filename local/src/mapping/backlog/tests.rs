use std::num::NonZeroUsize;
use std::time::Duration;

use pipeline::Offset;

use super::super::rules::tests::{SECOND, partition, place_of, record, rules};
use super::super::settings::{Pollers, Redelivery};
use super::*;

/// A backlog with the rules of the tests, and partitions from 0 on.
fn backlog(rules: Rules, partitions: i32, now: Instant) -> Backlog {
    let mut backlog = Backlog::new(rules);
    backlog.assign((0..partitions).map(partition), now);
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
    assert!(backlog.is_idle());
}

#[test]
fn a_partition_that_comes_back_waits_for_the_invocation_that_still_runs() {
    let now = Instant::now();
    let mut backlog = one(now);
    push(&mut backlog, 0, 0..3, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    backlog.revoke([partition(0)]);
    backlog.assign([partition(0)], now);
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
fn a_batch_of_several_partitions_is_answered_for_each_of_them() {
    let now = Instant::now();
    let rules = Rules {
        redelivery: Redelivery::Resume,
        ..pollers(1)
    };
    let mut backlog = backlog(rules, 2, now);
    push(&mut backlog, 0, 0..2, now);
    push(&mut backlog, 1, 5..7, now + SECOND / 2);
    let (batch, places) = take(&mut backlog, now + SECOND / 2).unwrap();
    assert_eq!(places, [(0, 0), (0, 1), (1, 5)]);
    let finished = backlog.finish(&batch, &not_done(&[(0, 0)]), now);
    assert_eq!(finished.commits, [(partition(1), 6)]);
    assert_eq!(finished.again[0].1, 2);
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
    backlog.assign(both(), now);
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
fn idle_means_read_to_the_end_and_all_done() {
    let now = Instant::now();
    let mut backlog = one(now);
    assert!(!backlog.is_idle());
    backlog.at_end(partition(0));
    backlog.at_end(partition(1));
    assert!(backlog.is_idle());
    push(&mut backlog, 0, 0..1, now);
    assert!(!backlog.is_idle());
    backlog.at_end(partition(0));
    assert!(!backlog.is_idle());
    let (batch, _) = take(&mut backlog, now + SECOND).unwrap();
    assert!(!backlog.is_idle());
    backlog.finish(&batch, &Resolution::Failed, now);
    assert!(!backlog.is_idle());
    let (batch, _) = take(&mut backlog, now + SECOND).unwrap();
    backlog.finish(&batch, &Resolution::AllDone, now);
    assert!(backlog.is_idle());
}

#[test]
fn a_batch_draws_from_the_free_partitions_of_one_poller() {
    let now = Instant::now();
    let mut backlog = backlog(pollers(2), 4, now);
    for at in 0..4 {
        push(&mut backlog, at, 0..2, now);
    }
    // Partitions 0 and 2 are full together, and so are 1 and 3.
    let (first, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(0, 0), (0, 1), (2, 0)]);
    let (_, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(1, 0), (1, 1), (3, 0)]);
    // What came too late for a batch waits until its partition is free.
    push(&mut backlog, 2, 2..9, now);
    assert!(take(&mut backlog, now + SECOND).is_none());
    backlog.finish(&first, &Resolution::AllDone, now);
    let (_, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(2, 1), (2, 2), (2, 3)]);
}

#[test]
fn a_poller_has_five_invocations_under_way_and_its_sixth_partition_stands_still() {
    let now = Instant::now();
    let mut backlog = backlog(pollers(1), 6, now);
    let mut batches = Vec::new();
    for at in 0..5 {
        push(&mut backlog, at, 0..3, now);
        batches.push(take(&mut backlog, now).unwrap().0);
    }
    push(&mut backlog, 5, 0..3, now);
    assert!(take(&mut backlog, now + SECOND).is_none());
    // Nor does time alone change that.
    assert_eq!(backlog.next_due(), None);
    backlog.finish(&batches[2], &Resolution::Failed, now);
    let (_, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(5, 0), (5, 1), (5, 2)]);
    // A partition that went away does not keep its place under way for ever.
    backlog.revoke((0..6).map(partition));
    for batch in &batches {
        backlog.finish(batch, &Resolution::AllDone, now);
    }
    backlog.assign([partition(0)], now);
    push(&mut backlog, 0, 0..3, now);
    assert!(take(&mut backlog, now).is_some());
}

#[test]
fn in_standard_mode_each_partition_has_a_poller_of_its_own() {
    let now = Instant::now();
    let mut backlog = backlog(rules(), 7, now);
    for at in 0..7 {
        push(&mut backlog, at, 0..1, now);
    }
    for at in 0..7 {
        let (_, places) = take(&mut backlog, now + SECOND).unwrap();
        assert_eq!(places, [(at, 0)]);
    }
}

#[test]
fn a_batch_that_failed_is_delivered_again_as_it_was() {
    let now = Instant::now();
    let mut backlog = backlog(pollers(1), 3, now);
    push(&mut backlog, 0, 0..1, now);
    push(&mut backlog, 1, 0..2, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    push(&mut backlog, 2, 0..1, now);
    push(&mut backlog, 0, 1..2, now);
    backlog.finish(&batch, &Resolution::Failed, now);
    let later = now + SECOND;
    // What has come since does not join it.
    let batches: Vec<_> = std::iter::from_fn(|| take(&mut backlog, later))
        .map(|(_, places)| places)
        .collect();
    assert_eq!(batches, [vec![(2, 0)], vec![(0, 0), (1, 0), (1, 1)]]);
}

#[test]
fn halves_go_one_after_the_other_down_to_the_record_that_fails() {
    let now = Instant::now();
    let rules = Rules {
        records: 4,
        bisect: Bisect::On,
        retries: Some(1),
        ..pollers(1)
    };
    let mut backlog = backlog(rules, 2, now);
    push(&mut backlog, 0, 0..4, now);
    let mut found = Vec::new();
    let mut now = now;
    // Record 2 fails in whatever company.
    while let Some((batch, places)) = take(&mut backlog, now) {
        let offsets: Vec<i64> = places.iter().map(|(_, offset)| *offset).collect();
        let resolution = if offsets.contains(&2) {
            Resolution::Failed
        } else {
            Resolution::AllDone
        };
        let finished = backlog.finish(&batch, &resolution, now);
        let commit = finished.commits.first().map(|(_, next)| *next);
        found.push((offsets, commit, finished.exhausted.len()));
        now += SECOND;
    }
    let expected = [
        (vec![0, 1, 2, 3], None, 0),
        (vec![0, 1], Some(2), 0),
        (vec![2, 3], None, 0),
        (vec![2], None, 0),
        (vec![2], Some(3), 1),
        (vec![3], Some(4), 0),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_second_half_goes_at_once_after_the_first_and_the_other_partition_by_itself() {
    let now = Instant::now();
    let rules = Rules {
        records: 6,
        bisect: Bisect::On,
        ..pollers(1)
    };
    let mut backlog = backlog(rules, 2, now);
    push(&mut backlog, 0, 0..2, now);
    push(&mut backlog, 1, 0..4, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    let pause = Duration::from_millis(100);
    let finished = backlog.finish(&batch, &Resolution::Failed, now);
    let waiting = [(partition(0), 2, pause), (partition(1), 4, pause)];
    assert_eq!(finished.again, waiting);
    let later = now + pause;
    let (first, places) = take(&mut backlog, later).unwrap();
    assert_eq!(places, [(0, 0)]);
    let (_, places) = take(&mut backlog, later).unwrap();
    assert_eq!(places, [(1, 0), (1, 1)]);
    let finished = backlog.finish(&first, &Resolution::AllDone, later);
    assert_eq!(finished.again, [(partition(0), 1, Duration::ZERO)]);
    let (_, places) = take(&mut backlog, later).unwrap();
    assert_eq!(places, [(0, 1)]);
}

#[test]
fn after_the_last_retry_the_offset_moves_past_what_is_given_up() {
    let now = Instant::now();
    let rules = Rules {
        retries: Some(1),
        ..rules()
    };
    let mut backlog = backlog(rules, 1, now);
    push(&mut backlog, 0, 0..4, now);
    let (batch, _) = take(&mut backlog, now).unwrap();
    assert_eq!(
        backlog.finish(&batch, &not_done(&[(0, 2)]), now).commits,
        [(partition(0), 2)]
    );
    let now = now + SECOND;
    let (batch, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(0, 2)]);
    let finished = backlog.finish(&batch, &Resolution::Failed, now);
    let given_up = record(0, 2, 9).coordinates;
    assert_eq!(finished.exhausted, [given_up]);
    assert_eq!(finished.commits, [(partition(0), 3)]);
    // The next batch has its own retries.
    let (batch, places) = take(&mut backlog, now).unwrap();
    assert_eq!(places, [(0, 3)]);
    let finished = backlog.finish(&batch, &Resolution::Failed, now);
    assert_eq!((finished.exhausted, finished.again.len()), (vec![], 1));
}

#[test]
fn records_past_their_age_are_passed_over_when_they_would_be_delivered_and_before_a_retry() {
    let now = Instant::now();
    let rules = Rules {
        max_age: Some(Duration::from_mins(1)),
        ..rules()
    };
    let mut backlog = backlog(rules, 1, now);
    let aged = |offset, seconds: i64| EventRecord {
        timestamp: 1_000_000 - seconds * 1_000,
        ..record(0, offset, 9)
    };
    for (offset, seconds) in [(0, 61), (1, 59), (2, 900), (3, 0), (4, 61)] {
        backlog.push(aged(offset, seconds), now).unwrap();
    }
    let expired = |turn: &Turn| -> Vec<i64> {
        let offsets = turn.expired.iter().map(|at| at.offset.get());
        offsets.collect()
    };
    let first = turn(&mut backlog, now);
    assert_eq!(expired(&first), [0, 2, 4]);
    let batch = first.batch.unwrap();
    assert_eq!((batch.parts[0].first.get(), batch.records.len()), (1, 2));
    backlog.finish(&batch, &Resolution::Failed, now);
    // Two seconds later the older one has passed it as well.
    let later = Moment {
        instant: now + SECOND,
        time: 1_002_000,
    };
    let second = backlog.take(later);
    assert_eq!(expired(&second), [1]);
    let batch = second.batch.unwrap();
    assert_eq!(batch.parts[0].delivery, 2);
    let finished = backlog.finish(&batch, &Resolution::AllDone, now);
    assert_eq!(finished.commits, [(partition(0), 5)]);
    // With nothing else to deliver, its offset is committed at once.
    backlog.push(aged(5, 61), now).unwrap();
    let last = turn(&mut backlog, now + SECOND);
    assert_eq!((expired(&last), last.batch.is_none()), (vec![5], true));
    assert_eq!(last.commits, [(partition(0), 6)]);
}

#[test]
fn an_event_counts_the_frame_of_each_of_its_partitions() {
    let now = Instant::now();
    let frame = rules().frame_size(partition(0));
    let check = |bytes: usize, expected: &[(i32, i64)]| {
        let rules = Rules {
            bytes,
            ..pollers(1)
        };
        let mut backlog = backlog(rules, 2, now);
        push(&mut backlog, 0, 0..1, now);
        push(&mut backlog, 1, 0..1, now);
        let (_, places) = take(&mut backlog, now + SECOND).unwrap();
        assert_eq!(places, expected, "{bytes}");
    };
    check(2 * (10 + frame), &[(0, 0), (1, 0)]);
    check(2 * (10 + frame) - 1, &[(0, 0)]);
    let mut backlog = one(now);
    assert_eq!(backlog.push(record(0, 0, 99), now), Ok(()));
    assert!(backlog.push(record(1, 0, 100), now).is_err());
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
