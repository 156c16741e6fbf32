use super::*;

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
