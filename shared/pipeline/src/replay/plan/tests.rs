use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::headers::Headers;

fn record(partition: i32, offset: i64) -> Record {
    Record {
        coordinates: format!("dlq/{partition}/{offset}").parse().unwrap(),
        timestamp: Timestamp::from_millis(1_755_933_141_805).plus_millis(offset),
        key: Some(Bytes::from(format!("k-{offset}"))),
        value: Some(Bytes::from_static(b"{}")),
        headers: Headers::default(),
    }
}

fn planned(places: &[(i32, i64)]) -> Vec<Planned> {
    let of = |(partition, offset): &(i32, i64)| Planned::of(&record(*partition, *offset));
    places.iter().map(of).collect()
}

fn head() -> PlanHead {
    PlanHead {
        replay_id: "run-1".to_owned(),
        made: "2025-08-23T07:12:21.805Z".to_owned(),
        from: "dlq".parse().unwrap(),
        to: "main".parse().unwrap(),
        max_replays: 3,
        again: false,
        asked: json!({ "error_class": "transient" }),
    }
}

#[test]
fn a_plan_comes_back_from_its_objects() {
    let whole = PlanFile {
        head: head(),
        parts: Vec::new(),
        planned: planned(&[(1, 7), (0, 3)]),
    };
    assert_eq!(PlanFile::read(&whole.write()), Ok(whole.clone()));
    assert_eq!(whole.records(), 2);
    let part = write_part(&whole.planned);
    assert_eq!(read_part(&part), Ok(whole.planned.clone()));
    let long = PlanFile {
        parts: vec![PlanPart {
            sha256: crate::replay::fingerprint::sha256(&part),
            records: 2,
            bytes: 4,
        }],
        planned: Vec::new(),
        ..whole
    };
    assert_eq!(PlanFile::read(&long.write()), Ok(long.clone()));
    assert_eq!(long.records(), 2);
}

#[test]
fn what_is_no_plan_is_refused() {
    for object in ["", "{}", "[]", r#"{"form":1,"list":[[0,-1,0,0,"x"]]}"#] {
        assert!(PlanFile::read(object.as_bytes()).is_err(), "{object}");
        assert!(read_part(object.as_bytes()).is_err(), "{object}");
    }
    let newer = r#"{"form":2,"list":[]}"#;
    assert!(
        read_part(newer.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("form 2")
    );
}

#[test]
fn a_plan_is_named_by_run_and_hash() {
    let sha256 = "0123456789abcdef".repeat(4);
    let name: PlanName = format!("run-1@{sha256}").parse().unwrap();
    assert_eq!(
        (name.replay_id(), name.sha256()),
        ("run-1", sha256.as_str())
    );
    assert_eq!(name.to_string().parse(), Ok(name));
    for text in ["", "run-1", "@", "run-1@x", &format!("../x@{sha256}")] {
        assert!(text.parse::<PlanName>().is_err(), "{text}");
    }
}

#[test]
fn only_what_was_seen_is_what_was_planned() {
    let seen = Planned::of(&record(0, 3));
    assert!(seen.is(&record(0, 3)));
    let mut younger = record(0, 3);
    younger.timestamp = younger.timestamp.plus_millis(1);
    let mut other = record(0, 3);
    other.value = None;
    assert!(!seen.is(&younger) && !seen.is(&other));
}

#[test]
fn a_plan_spans_its_partitions_from_first_to_last() {
    let plan = Plan::new(planned(&[(1, 7), (0, 9), (0, 3), (0, 3), (0, 5)]));
    let lanes: Vec<_> = plan
        .lanes()
        .into_iter()
        .map(|(partition, lane)| (partition.get(), lane.next.get(), lane.end.get()))
        .collect();
    assert_eq!(lanes, [(0, 3, 10), (1, 7, 8)]);
    let place = |p, o| (Partition::new(p).unwrap(), Offset::new(o).unwrap());
    let get = |p, o| {
        let (partition, offset) = place(p, o);
        plan.get(partition, offset).is_some()
    };
    assert!(get(0, 5) && get(1, 7) && !get(0, 4) && !get(1, 5) && !get(2, 7));
}

#[test]
fn what_a_run_passes_is_told_but_not_what_was_done_ahead() {
    let plan = Plan::new(planned(&[(0, 3), (0, 5), (0, 9), (1, 7)]));
    let place = |p, o| (Partition::new(p).unwrap(), Offset::new(o).unwrap());
    let before = Progress::new(plan.lanes(), BTreeSet::from([place(0, 5)]));
    let check = |after: &Progress, expected: &[(i32, i64)]| {
        let passed: Vec<(i32, i64)> = plan
            .passed(&before, after)
            .map(|planned| (planned.partition.get(), planned.offset.get()))
            .collect();
        assert_eq!(passed, expected);
    };
    check(&before, &[]);
    let mut after = before.clone();
    after.reach(Partition::FIRST, Offset::new(6).unwrap());
    check(&after, &[(0, 3)]);
    after.reach(Partition::FIRST, Offset::new(10).unwrap());
    check(&after, &[(0, 3), (0, 9)]);
    // The topic was made anew and is shorter, and has one partition only.
    let mut kept = before.clone();
    let lane = Lane {
        next: Offset::FIRST,
        end: Offset::new(4).unwrap(),
    };
    kept.keep_within(&BTreeMap::from([(Partition::FIRST, lane)]));
    check(&kept, &[(0, 9), (1, 7)]);
}
