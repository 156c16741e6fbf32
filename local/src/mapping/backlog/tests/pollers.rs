use super::*;

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
    backlog.assign([(partition(0), 0)], now);
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
