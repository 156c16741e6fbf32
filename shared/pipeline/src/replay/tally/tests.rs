use bytes::Bytes;

use super::*;
use crate::headers::{Headers, names};

fn matched(offset: i64, time: i64, value: Option<usize>, class: &str) -> Matched {
    let mut headers = Headers::default();
    headers.set(names::ERROR_CLASS, class);
    headers.set(names::ERROR_CODE, "provider.timeout");
    Matched::of(&Record {
        coordinates: format!("dlq/0/{offset}").parse().unwrap(),
        timestamp: Timestamp::from_millis(time),
        key: None,
        value: value.map(|length| Bytes::from(vec![0; length])),
        headers,
    })
}

const FATES: [Fate; 6] = [
    Fate::Sent,
    Fate::Failed,
    Fate::Gone,
    Fate::Skipped(SkipReason::AlreadyReplayed),
    Fate::Skipped(SkipReason::MaxReplays),
    Fate::Skipped(SkipReason::UnreadableHeaders),
];

#[test]
fn matched_is_what_was_sent_failed_and_skipped() {
    let mut tally = Tally::default();
    for (times, fate) in FATES.into_iter().enumerate() {
        for _ in 0..=times {
            tally.note(&matched(1, 1, None, "transient"), fate);
        }
    }
    assert_eq!((tally.matched(), tally.sent(), tally.failed()), (21, 1, 5));
    let skipped: Vec<u64> = tally.skipped().map(|(_, count)| count).collect();
    assert_eq!(skipped, [4, 5, 6]);
    assert_eq!((tally.gone(), tally.tried()), (3, 3));
    assert_eq!(tally.by_class().values().sum::<u64>(), 21);
    assert_eq!(tally.by_code().values().sum::<u64>(), 21);
}

#[test]
fn nothing_matched_is_all_zeros() {
    let tally = Tally::default();
    assert_eq!(
        (tally.matched(), tally.bytes(), tally.oldest()),
        (0, 0, None)
    );
    assert!(tally.by_class().is_empty() && tally.sample().is_empty());
    assert_eq!(tally.skipped().map(|(_, count)| count).sum::<u64>(), 0);
}

#[test]
fn bytes_times_classes_and_a_sample_are_kept() {
    let mut tally = Tally::default();
    for offset in 0..25 {
        let class = if offset < 5 { "permanent" } else { "transient" };
        tally.note(&matched(offset, 1_000 - offset, Some(3), class), Fate::Sent);
    }
    tally.note(&matched(25, -1, None, "x"), Fate::Sent);
    tally.note(
        &Matched::unreadable("dlq/0/26".parse().unwrap(), Timestamp::from_millis(1_001)),
        FATES[4],
    );
    assert_eq!(tally.bytes(), 75);
    assert_eq!(tally.oldest(), Some(Timestamp::from_millis(976)));
    assert_eq!(tally.newest(), Some(Timestamp::from_millis(1_001)));
    let classes: Vec<(&str, u64)> = tally
        .by_class()
        .iter()
        .map(|(name, n)| (*name, *n))
        .collect();
    assert_eq!(
        classes,
        [("permanent", 5), ("transient", 20), ("unknown", 2)]
    );
    assert_eq!(tally.sample().len(), 10);
    assert_eq!(tally.sample()[0].to_string(), "dlq/0/0");
}

#[test]
fn codes_that_no_one_knows_take_no_memory_of_their_own() {
    let mut tally = Tally::default();
    for number in 0..1_000 {
        let mut headers = Headers::default();
        headers.set(names::ERROR_CODE, &format!("made.up.{number}"));
        let record = Record {
            coordinates: "dlq/0/0".parse().unwrap(),
            timestamp: Timestamp::NONE,
            key: None,
            value: None,
            headers,
        };
        tally.note(&Matched::of(&record), Fate::Sent);
    }
    assert_eq!(tally.by_code().len(), 1);
}
