use super::*;

fn partition(number: i32) -> Partition {
    Partition::new(number).unwrap()
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn lanes(list: &[(i32, i64, i64)]) -> BTreeMap<Partition, Lane> {
    let lane = |(number, next, end): &(i32, i64, i64)| {
        let lane = Lane {
            next: offset(*next),
            end: offset(*end),
        };
        (partition(*number), lane)
    };
    list.iter().map(lane).collect()
}

fn progress(list: &[(i32, i64, i64)]) -> Progress {
    Progress::new(lanes(list), BTreeSet::new())
}

fn at(partition: i32, offset: i64) -> Coordinates {
    format!("dlq/{partition}/{offset}").parse().unwrap()
}

fn left(progress: &Progress) -> Vec<(i32, i64, i64)> {
    let left = progress.left();
    left.map(|(partition, lane)| (partition.get(), lane.next.get(), lane.end.get()))
        .collect()
}

fn ahead(progress: &Progress) -> Vec<(i32, i64)> {
    let ahead = progress.done_ahead();
    ahead
        .map(|(partition, offset)| (partition.get(), offset.get()))
        .collect()
}

#[test]
fn a_run_is_complete_when_every_position_has_reached_its_end_and_not_before() {
    let mut run = progress(&[(0, 0, 2), (1, 5, 5), (2, 7, 9)]);
    assert_eq!(left(&run), [(0, 0, 2), (2, 7, 9)]);
    run.reach(partition(0), offset(2));
    run.reach(partition(2), offset(8));
    assert!(!run.is_complete());
    // A transaction marker or a gap is passed like a record.
    run.reach(partition(2), offset(9));
    assert!(run.is_complete());
    assert!(progress(&[]).is_complete());
}

#[test]
fn a_position_never_goes_back() {
    let mut run = progress(&[(0, 5, 9)]);
    run.reach(partition(0), offset(3));
    run.reach(partition(7), offset(3));
    assert_eq!(left(&run), [(0, 5, 9)]);
}

#[test]
fn every_mix_of_done_and_undone_leaves_exactly_the_undone() {
    // Two partitions of three records, read in turns: every pattern of done and undone.
    let places: Vec<Coordinates> = (0..3).flat_map(|o| [at(0, o), at(1, o)]).collect();
    for pattern in 0_u32..64 {
        let mut run = progress(&[(0, 0, 3), (1, 0, 3)]);
        let done = |index: usize| pattern & (1 << index) != 0;
        run.pass(
            places
                .iter()
                .enumerate()
                .map(|(index, at)| (at, done(index))),
        );
        for (index, at) in places.iter().enumerate() {
            assert_eq!(
                run.awaits(at),
                !done(index),
                "{at} of {pattern:06b}: {run:?}"
            );
        }
        assert_eq!(run.is_complete(), pattern == 63, "{pattern:06b}");
    }
}

#[test]
fn what_is_done_ahead_is_forgotten_when_the_position_has_passed_it() {
    let mut run = progress(&[(0, 0, 9)]);
    let places = [at(0, 0), at(0, 1), at(0, 2), at(0, 3)];
    run.pass(places.iter().zip([true, false, true, false]));
    assert_eq!((left(&run), ahead(&run)), (vec![(0, 1, 9)], vec![(0, 2)]));
    run.pass(places.iter().skip(1).zip([true, true, true]));
    assert_eq!((left(&run), ahead(&run)), (vec![(0, 4, 9)], vec![]));
}

#[test]
fn what_the_topic_no_longer_holds_is_passed() {
    let check = |held: &[(i32, i64, i64)], expected: &[(i32, i64, i64)]| {
        let mut run = progress(&[(0, 3, 9), (1, 0, 5)]);
        run.keep_within(&lanes(held));
        assert_eq!(left(&run), expected, "{held:?}");
    };
    check(&[(0, 0, 20), (1, 0, 5), (2, 0, 7)], &[(0, 3, 9), (1, 0, 5)]);
    check(&[(0, 6, 20), (1, 0, 5)], &[(0, 6, 9), (1, 0, 5)]);
    check(&[(0, 9, 20), (1, 0, 5)], &[(1, 0, 5)]);
    // The topic was made anew and is shorter, or has fewer partitions.
    check(&[(0, 0, 2), (1, 0, 4)], &[(1, 0, 4)]);
    check(&[(0, 0, 20)], &[(0, 3, 9)]);
    check(&[], &[]);
}

#[test]
fn a_list_of_places_keeps_to_the_stretches_that_hold_them() {
    let check = |places: &[(i32, i64)], expected: &[(i32, i64, i64)]| {
        let mut run = progress(&[(0, 3, 9), (1, 0, 5)]);
        let places = places.iter().map(|(p, o)| (partition(*p), offset(*o)));
        run.keep_to(&places.collect());
        assert_eq!(left(&run), expected, "{expected:?}");
    };
    check(&[(0, 5)], &[(0, 5, 6)]);
    check(&[(0, 5), (0, 7), (1, 4)], &[(0, 5, 8), (1, 4, 5)]);
    check(&[(0, 1)], &[]);
    check(&[(0, 9)], &[]);
    check(&[(2, 0)], &[]);
    check(&[(0, i64::MAX)], &[]);
    check(&[(1, 0), (1, i64::MAX)], &[(1, 0, 5)]);
}
