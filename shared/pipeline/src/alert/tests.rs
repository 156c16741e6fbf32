use super::*;

fn incident() -> Incident {
    let text = |text: &str| Some(text.to_owned());
    Incident {
        dlq_topic: text("brew.payments.dlq"),
        dlq_partition: Some(1),
        dlq_offset: Some(2),
        key: text("k-7"),
        original_topic: text("brew.payments.v1"),
        original_partition: text("0"),
        original_offset: text("14"),
        previous_topic: text("brew.payments.retry.1h"),
        retry_count: text("3"),
        error_class: text("transient"),
        error_code: text("provider.timeout"),
        error_message: text("no answer within 10 s"),
        payload_bytes: 42,
        ..Incident::default()
    }
}

fn of(class: &str, code: &str) -> Incident {
    Incident {
        error_class: Some(class.to_owned()),
        error_code: Some(code.to_owned()),
        ..incident()
    }
}

fn check(incident: &Incident, expected: &str) {
    assert_eq!(alert_text(incident, 3, &Masker::default()), expected);
}

#[test]
fn an_alert_is_four_lines() {
    check(
        &incident(),
        r#"[ALERT] #3  dlq=brew.payments.dlq p=1 off=2 key=k-7
        original=brew.payments.v1/0/14 previous=brew.payments.retry.1h retries=3
        class=transient message="no answer within 10 s"
        payload=42 bytes"#,
    );
}

#[test]
fn absent_fields_are_dashes() {
    check(
        &Incident::default(),
        r#"[ALERT] #3  dlq=- p=- off=- key=-
        original=-/-/- previous=- retries=-
        class=- message="-"
        payload=0 bytes"#,
    );
}

#[test]
fn an_alert_of_a_spilled_record_names_the_object() {
    let spilled = Incident {
        dlq_topic: None,
        dlq_partition: None,
        dlq_offset: None,
        spill: Some("spill/brew.payments.v1-0-00000000000000000014-7.json".to_owned()),
        ..incident()
    };
    check(
        &spilled,
        r#"[ALERT] #3  dlq=- p=- off=- key=k-7
        original=brew.payments.v1/0/14 previous=brew.payments.retry.1h retries=3
        class=transient message="no answer within 10 s"
        payload=42 bytes spill=spill/brew.payments.v1-0-00000000000000000014-7.json"#,
    );
}

#[test]
fn a_key_that_is_no_text_is_shown_in_base64() {
    let incident = Incident {
        key: None,
        key_base64: Some("AP8Q".to_owned()),
        ..incident()
    };
    assert!(alert_text(&incident, 1, &Masker::default()).contains(" key=AP8Q\n"));
}

#[test]
fn nothing_a_payload_holds_can_forge_a_line() {
    let hostile = "a\"\n[ALERT] #9\r\u{0}\u{1b}[2K\u{85}\u{2028}\\\"b";
    let text = || Some(hostile.to_owned());
    let incident = Incident {
        key: text(),
        original_topic: text(),
        original_partition: text(),
        original_offset: text(),
        previous_topic: text(),
        retry_count: text(),
        error_class: text(),
        error_message: text(),
        ..incident()
    };
    let alert = alert_text(&incident, 3, &Masker::default());
    assert_eq!(alert.lines().count(), 4, "{alert}");
    assert!(
        !alert.replace('\n', "").contains(char::is_control),
        "{alert}"
    );
    assert!(!alert.contains('\u{2028}'), "{alert}");
    assert_eq!(
        alert
            .lines()
            .filter(|line| line.starts_with("[ALERT]"))
            .count(),
        1
    );
    let message = r#"message="a\"\n[ALERT] #9\r\u{0}\u{1b}[2K\u{85}\u{2028}\\\"b""#;
    assert!(alert.contains(message), "{alert}");
}

#[test]
fn an_alert_is_masked_and_bounded() {
    let incident = Incident {
        key: Some(format!("Bearer abc {}", "x".repeat(1 << 20))),
        error_message: Some("card 4111 1111 1111 1111".to_owned()),
        ..incident()
    };
    let alert = alert_text(&incident, 3, &Masker::default());
    assert!(!alert.contains("abc") && !alert.contains("4111"), "{alert}");
    assert!(alert.len() < 2_000);
}

/// Checks which posts a run of incidents makes: at once and at the end, each as class, code and count.
fn check_posts(
    incidents: &[Incident],
    at_once: &[(&str, &str, u64)],
    at_end: &[(&str, &str, u64)],
) {
    let mut posts = Posts::default();
    let told = |post: &Post| (post.error_class, post.error_code, post.count);
    let raised: Vec<Post> = incidents
        .iter()
        .enumerate()
        .filter_map(|(number, incident)| posts.raised(incident, format!("alert {number}")))
        .collect();
    let rest = posts.finish();
    assert_eq!(raised.iter().map(told).collect::<Vec<_>>(), at_once);
    assert_eq!(rest.iter().map(told).collect::<Vec<_>>(), at_end);
    let count: u64 = raised.iter().chain(&rest).map(|post| post.count).sum();
    assert_eq!(count, u64::try_from(incidents.len()).unwrap());
    assert_eq!(posts.finish(), []);
}

#[test]
fn the_first_of_a_kind_is_posted_at_once_and_the_rest_as_one_post() {
    let timeout = of("transient", "provider.timeout");
    let declined = of("permanent", "provider.declined");
    check_posts(&[], &[], &[]);
    check_posts(
        std::slice::from_ref(&timeout),
        &[("transient", "provider.timeout", 1)],
        &[],
    );
    check_posts(
        &vec![timeout.clone(); 1_000],
        &[("transient", "provider.timeout", 1)],
        &[("transient", "provider.timeout", 999)],
    );
    check_posts(
        &[
            timeout.clone(),
            declined.clone(),
            timeout.clone(),
            timeout,
            declined,
        ],
        &[
            ("transient", "provider.timeout", 1),
            ("permanent", "provider.declined", 1),
        ],
        &[
            ("transient", "provider.timeout", 2),
            ("permanent", "provider.declined", 1),
        ],
    );
}

#[test]
fn codes_that_a_producer_invents_are_one_kind() {
    let invented: Vec<Incident> = (0..100)
        .map(|n| of("fatal", &format!("code-{n}")))
        .collect();
    check_posts(
        &invented,
        &[("unknown", "unknown", 1)],
        &[("unknown", "unknown", 99)],
    );
}

#[test]
fn the_next_invocation_posts_at_once_again() {
    let mut posts = Posts::default();
    assert!(posts.raised(&incident(), "a".to_owned()).is_some());
    assert!(posts.raised(&incident(), "b".to_owned()).is_none());
    let rest = posts.finish();
    assert_eq!(
        rest[0].text,
        "[ALERT] 1 more alert of this kind, the last:\nb"
    );
    assert!(posts.raised(&incident(), "c".to_owned()).is_some());
}

#[test]
fn a_post_is_json_of_four_fields() {
    let post = Posts::default()
        .raised(&incident(), "a\n\"b\"".to_owned())
        .unwrap();
    assert_eq!(
        serde_json::to_string(&post).unwrap(),
        r#"{"text":"a\n\"b\"","error_class":"transient","error_code":"provider.timeout","count":1}"#
    );
}
