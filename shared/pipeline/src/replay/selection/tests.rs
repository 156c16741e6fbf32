use bytes::Bytes;

use super::*;

const TIME: Timestamp = Timestamp::from_millis(1_755_933_141_855);

fn record(headers: &[(&str, Option<&str>)]) -> Record {
    let mut all = Headers::default();
    for (name, value) in headers {
        all.push(
            name,
            value.map(|text| Bytes::copy_from_slice(text.as_bytes())),
        );
    }
    Record {
        coordinates: "dlq/1/20".parse().unwrap(),
        timestamp: TIME,
        key: Some(Bytes::from_static(b"k-7")),
        value: None,
        headers: all,
    }
}

fn place(partition: i32, offset: i64) -> (Partition, Offset) {
    (
        Partition::new(partition).unwrap(),
        Offset::new(offset).unwrap(),
    )
}

/// One filter that agrees with the record below, and one that does not.
fn filters() -> Vec<[fn(&mut Selection); 2]> {
    vec![
        [
            |s| s.window.since = Some(TIME),
            |s| s.window.since = Some(TIME.plus_millis(1)),
        ],
        [
            |s| s.window.until = Some(TIME.plus_millis(1)),
            |s| s.window.until = Some(TIME),
        ],
        [
            |s| s.error_class = Some(Told::Known(ErrorClass::Transient)),
            |s| s.error_class = Some(Told::Known(ErrorClass::Permanent)),
        ],
        [
            |s| s.error_code = Some(Told::Known(ErrorCode::ProviderTimeout)),
            |s| s.error_code = Some(Told::Unknown),
        ],
        [
            |s| s.key = Some("k-7".to_owned()),
            |s| s.key = Some("k-70".to_owned()),
        ],
        [
            |s| s.original_topic = Some("main".parse().unwrap()),
            |s| s.original_topic = Some("mains".parse().unwrap()),
        ],
        [
            |s| s.records = Some([place(0, 20), place(1, 20)].into()),
            |s| s.records = Some([place(0, 20), place(1, 21)].into()),
        ],
    ]
}

#[test]
fn a_dead_letter_is_taken_when_every_filter_that_is_set_agrees() {
    let record = record(&[
        (names::ERROR_CLASS, Some("transient")),
        (names::ERROR_CODE, Some("provider.timeout")),
        (names::ORIGINAL_TOPIC, Some("main")),
    ]);
    let filters = filters();
    // Each filter is unset, agreeing or disagreeing: 3^7 selections, all of them.
    let count = 3_usize.pow(u32::try_from(filters.len()).unwrap());
    for number in 0..count {
        let mut selection = Selection {
            max_replays: 1,
            ..Selection::default()
        };
        let (mut rest, mut agrees) = (number, true);
        for [agreeing, disagreeing] in &filters {
            match rest % 3 {
                0 => {}
                1 => agreeing(&mut selection),
                _ => {
                    disagreeing(&mut selection);
                    agrees = false;
                }
            }
            rest /= 3;
        }
        let expected = if agrees {
            Judgement::Take { nth: 1 }
        } else {
            Judgement::NotSelected
        };
        assert_eq!(selection.judge(&record), expected, "{selection:?}");
    }
}

#[test]
fn a_payment_that_was_replayed_often_enough_stays_put() {
    let check = |count: Option<Option<&str>>, max_replays: u64, expected: Judgement| {
        let headers = count.map(|count| (names::REPLAY_COUNT, count));
        let selection = Selection {
            max_replays,
            ..Selection::default()
        };
        let judged = selection.judge(&record(headers.as_slice()));
        assert_eq!(judged, expected, "{count:?} of {max_replays}");
    };
    let stays = Judgement::Skip(SkipReason::MaxReplays);
    check(None, 1, Judgement::Take { nth: 1 });
    for max in 1..5_u64 {
        for times in 0..6_u64 {
            let expected = if times < max {
                Judgement::Take { nth: times + 1 }
            } else {
                stays
            };
            check(Some(Some(&times.to_string())), max, expected);
        }
    }
    // Null or garbage is not "never", and nothing here panics.
    for garbage in [
        None,
        Some(""),
        Some("x"),
        Some("-1"),
        Some("+1"),
        Some(" 1"),
        Some("1.0"),
        Some("0x1"),
        Some("٣"),
        Some("18446744073709551616"),
        Some("99999999999999999999999999"),
    ] {
        check(Some(garbage), u64::MAX, stays);
    }
    check(Some(Some("18446744073709551615")), u64::MAX, stays);
    check(
        Some(Some("18446744073709551614")),
        u64::MAX,
        Judgement::Take { nth: u64::MAX },
    );
}

#[test]
fn a_count_that_stands_twice_is_none_to_go_by() {
    let doubled = record(&[
        (names::REPLAY_COUNT, Some("0")),
        (names::REPLAY_COUNT, Some("0")),
    ]);
    let selection = Selection {
        max_replays: 3,
        ..Selection::default()
    };
    assert_eq!(
        selection.judge(&doubled),
        Judgement::Skip(SkipReason::MaxReplays)
    );
    let mut not_text = record(&[]);
    not_text
        .headers
        .push(names::REPLAY_COUNT, Some(Bytes::from_static(&[0xff])));
    assert_eq!(
        selection.judge(&not_text),
        Judgement::Skip(SkipReason::MaxReplays)
    );
}

#[test]
fn a_dead_letter_that_was_not_asked_for_is_not_counted_as_skipped() {
    let selection = Selection {
        key: Some("other".to_owned()),
        max_replays: 1,
        ..Selection::default()
    };
    let often = record(&[(names::REPLAY_COUNT, Some("9"))]);
    assert_eq!(selection.judge(&often), Judgement::NotSelected);
}

#[test]
fn unreadable_headers_stay_and_count_unless_place_or_time_says_otherwise() {
    let at: Coordinates = "dlq/1/20".parse().unwrap();
    let check = |selection: &Selection, expected: Judgement| {
        assert_eq!(
            selection.judge_unreadable(&at, TIME),
            expected,
            "{selection:?}"
        );
    };
    let stays = Judgement::Skip(SkipReason::UnreadableHeaders);
    check(&Selection::default(), stays);
    for (index, [agreeing, disagreeing]) in filters().into_iter().enumerate() {
        let (mut agrees, mut disagrees) = (Selection::default(), Selection::default());
        agreeing(&mut agrees);
        disagreeing(&mut disagrees);
        check(&agrees, stays);
        let told_by_headers = (2..=5).contains(&index);
        check(
            &disagrees,
            if told_by_headers {
                stays
            } else {
                Judgement::NotSelected
            },
        );
    }
}

#[test]
fn class_and_code_are_read_from_the_last_header_and_unknown_is_a_word_for_the_rest() {
    let check = |headers: &[(&str, Option<&str>)], class: &str, code: &str| {
        let headers = record(headers).headers;
        let told = (
            Told::<ErrorClass>::class(&headers),
            Told::<ErrorCode>::code(&headers),
        );
        assert_eq!(
            (told.0.as_str(), told.1.as_str()),
            (class, code),
            "{headers:?}"
        );
    };
    check(&[], "unknown", "unknown");
    check(
        &[(names::ERROR_CLASS, None), (names::ERROR_CODE, None)],
        "unknown",
        "unknown",
    );
    check(
        &[
            (names::ERROR_CLASS, Some("x")),
            (names::ERROR_CODE, Some("x")),
        ],
        "unknown",
        "unknown",
    );
    check(
        &[
            (names::ERROR_CLASS, Some("permanent")),
            (names::ERROR_CLASS, Some("transient")),
            (names::ERROR_CODE, Some("handler.panic")),
        ],
        "transient",
        "handler.panic",
    );
}

#[test]
fn a_window_is_from_since_on_and_before_until() {
    let check = |since: Option<i64>, until: Option<i64>, time: i64, expected: bool| {
        let window = Window {
            since: since.map(Timestamp::from_millis),
            until: until.map(Timestamp::from_millis),
        };
        assert_eq!(
            window.holds(Timestamp::from_millis(time)),
            expected,
            "{window:?} {time}"
        );
    };
    for bounds in [None, Some(10)] {
        check(bounds, Some(20), 19, true);
        check(bounds, Some(20), 20, false);
        check(Some(10), bounds.map(|_| 20), 10, true);
        check(Some(10), bounds.map(|_| 20), 9, false);
    }
    // No time at all lies in no window, but is part of everything.
    check(None, None, -1, true);
    check(None, Some(20), -1, false);
    check(Some(-5), None, -1, false);
    check(Some(-5), None, 0, true);
}
