//! Every combination of what may have become of one payment, and what must be said of it.

use pipeline::{Offset, Partition};

use super::*;
use crate::provider::Mode;

fn at(topic: &str, offset: i64) -> Coordinates {
    Coordinates {
        topic: topic.parse().unwrap(),
        partition: Partition::FIRST,
        offset: Offset::new(offset).unwrap(),
    }
}

fn found(topic: &str, offset: i64, done: bool) -> Found {
    Found {
        key: Some("k-1".to_owned()),
        at: at(topic, offset),
        replays: 0,
        from_dlq: None,
        done,
    }
}

/// What may have become of the dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dead {
    Never,
    Stays,
    CameBack,
}

/// One payment, and everything that its end depends on.
#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    charges: u32,
    dead: Dead,
    waits: bool,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in [Kind::Payment(Mode::Transient), Kind::BrokenJson] {
        for charges in 0..3 {
            for dead in [Dead::Never, Dead::Stays, Dead::CameBack] {
                for waits in [false, true] {
                    cases.push(Case {
                        kind,
                        charges,
                        dead,
                        waits,
                    });
                }
            }
        }
    }
    cases
}

fn facts(case: Case) -> Facts {
    let mut main = vec![found("main", 0, true)];
    let mut dlq = Vec::new();
    if case.dead != Dead::Never {
        dlq.push(found("dlq", 0, true));
    }
    if case.dead == Dead::CameBack {
        main.push(Found {
            replays: 1,
            from_dlq: Some(at("dlq", 0)),
            ..found("main", 1, true)
        });
    }
    let topic = |label: &str, records| TopicRecords {
        label: label.to_owned(),
        records,
    };
    Facts {
        seeds: vec![Seed {
            key: "k-1".to_owned(),
            kind: case.kind,
            value: "".into(),
        }],
        charges: (case.charges > 0)
            .then(|| ("k-1".to_owned(), case.charges))
            .into_iter()
            .collect(),
        incidents: dlq.len(),
        alerts: count(dlq.len()),
        replayed: u64::from(case.dead == Dead::CameBack),
        topics: vec![
            topic("main", main),
            topic("retry", vec![found("retry", 0, !case.waits)]),
            topic("dlq", dlq),
        ],
    }
}

#[test]
fn every_payment_has_one_end() {
    for case in cases() {
        let account = Account::of(&facts(case));
        let expected = match case {
            Case { charges: 1.., .. } => End::Charged,
            Case { waits: true, .. } => End::InFlight,
            Case {
                dead: Dead::Stays, ..
            } => End::DeadLetter,
            Case {
                dead: Dead::Never | Dead::CameBack,
                ..
            } => End::Lost,
        };
        assert_eq!(account.rows.len(), 1, "{case:?}");
        assert_eq!(account.rows[0].end, expected, "{case:?}");
        assert_eq!(account.rows[0].charges, case.charges, "{case:?}");
    }
}

#[test]
fn the_sums_count_what_they_are_named_for() {
    for case in cases() {
        let Totals {
            payments,
            charged,
            dead_lettered,
            incidents,
            replayed,
            in_flight,
            lost,
            double_charged,
        } = Account::of(&facts(case)).totals;
        let dead = u64::from(case.dead != Dead::Never);
        assert_eq!(payments, 1);
        assert_eq!(charged, u64::from(case.charges > 0), "{case:?}");
        assert_eq!((dead_lettered, incidents), (dead, dead), "{case:?}");
        assert_eq!(replayed, u64::from(case.dead == Dead::CameBack), "{case:?}");
        assert_eq!(in_flight, u64::from(case.waits), "{case:?}");
        let nowhere = case.charges == 0 && !case.waits && case.dead != Dead::Stays;
        assert_eq!(lost, u64::from(nowhere), "{case:?}");
        assert_eq!(double_charged, u64::from(case.charges > 1), "{case:?}");
    }
}

#[test]
fn only_what_is_charged_once_or_rightly_dead_is_right() {
    for case in cases() {
        let right = !case.waits
            && if case.kind.is_chargeable() {
                case.charges == 1
            } else {
                case.charges == 0 && case.dead == Dead::Stays
            };
        let account = Account::of(&facts(case));
        assert_eq!(account.is_right(), right, "{case:?}: {account:?}");
    }
}

#[test]
fn counts_that_must_agree_and_do_not_are_named() {
    let fine = || {
        facts(Case {
            kind: Kind::Payment(Mode::Transient),
            charges: 1,
            dead: Dead::CameBack,
            waits: false,
        })
    };
    assert!(Account::of(&fine()).is_right());
    let check = |spoil: fn(&mut Facts), expected: &str| {
        let mut facts = fine();
        spoil(&mut facts);
        let problems = Account::of(&facts).problems;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(expected), "{problems:?}");
    };
    check(|facts| facts.incidents = 0, "1 dead letters, 0 incidents");
    check(|facts| facts.incidents = 2, "2 incidents");
    check(|facts| facts.alerts = 2, "2 alerts");
    check(|facts| facts.replayed = 2, "published 2");
    check(
        |facts| facts.charges.extend([("k-7".to_owned(), 1)]),
        "k-7 was charged 1 times and nobody seeded it",
    );
    check(
        |facts| facts.topics[0].records[0].done = false,
        "1 records are still in flight",
    );
}

#[test]
fn a_record_with_another_key_or_none_is_nobodys_way_but_is_in_flight() {
    let mut facts = facts(Case {
        kind: Kind::Payment(Mode::Ok),
        charges: 1,
        dead: Dead::Never,
        waits: false,
    });
    for key in [None, Some("k-2".to_owned())] {
        facts.topics[0].records.push(Found {
            key,
            ..found("main", 9, false)
        });
    }
    let account = Account::of(&facts);
    assert_eq!(account.rows[0].route, ["main", "retry"]);
    assert_eq!(account.totals.in_flight, 2);
}

#[test]
fn a_way_climbs_and_starts_again_with_each_replay() {
    let mut facts = facts(Case {
        kind: Kind::Payment(Mode::Transient),
        charges: 1,
        dead: Dead::CameBack,
        waits: false,
    });
    facts.topics[1].records.push(Found {
        replays: 1,
        ..found("retry", 1, true)
    });
    assert_eq!(
        Account::of(&facts).rows[0].route,
        ["main", "retry", "dlq", "main", "retry"]
    );
}

#[test]
fn payments_of_one_kind_and_way_stand_in_one_row() {
    let mut facts = Facts::default();
    for (key, charges) in [("k-1", 1), ("k-2", 1), ("k-3", 2)] {
        facts.seeds.push(Seed {
            key: key.to_owned(),
            kind: Kind::Payment(Mode::Ok),
            value: "".into(),
        });
        facts.charges.insert(key.to_owned(), charges);
    }
    let rows = Account::of(&facts).rows;
    let rows: Vec<_> = rows.iter().map(|row| (row.payments, row.charges)).collect();
    assert_eq!(rows, [(2, 1), (1, 2)]);
}
