//! When the provider is asked before a charge, and that each call fits into the time left.

use super::*;

const DONE: &str = r#"{"status":"succeeded"}"#;

async fn check(record: &Record, attempt: Attempt, get: Reply, expected: &str, methods: &str) {
    let provider = Provider::start(rule(answer(201, DONE), get.clone()));
    let charge = Parts {
        limit: "600ms",
        ..Parts::default()
    }
    .charge(&provider);
    let verdict = charge.handle(record, &attempt).await;
    assert_eq!(word(&verdict), expected, "{get:?}");
    assert_eq!(provider.methods(), methods, "{get:?}");
}

#[tokio::test]
async fn whoever_may_have_been_charged_is_asked_about_first() {
    let young = record(Some(payment("k-7")));
    let mut replayed = young.clone();
    replayed
        .headers
        .push(names::REPLAY_COUNT, Some(Bytes::from_static(b"1")));
    let mut old = young.clone();
    old.timestamp = Timestamp::from_millis(NOW - 24 * 3_600_000);
    let suspect = Attempt {
        suspect: true,
        ..MAIN
    };
    for (record, attempt) in [
        (&young, RETRY),
        (&young, suspect),
        (&replayed, MAIN),
        (&old, MAIN),
    ] {
        check(record, attempt, answer(200, DONE), "done", "GET").await;
        check(record, attempt, answer(404, ""), "done", "GET POST").await;
    }
    check(&young, MAIN, answer(404, ""), "done", "POST").await;
}

#[tokio::test]
async fn a_charge_follows_only_where_the_provider_says_there_is_none() {
    let record = record(Some(payment("k-7")));
    let failed = answer(200, r#"{"status":"failed"}"#);
    check(&record, RETRY, failed, "done", "GET POST").await;
    let pending = answer(200, r#"{"status":"pending"}"#);
    check(&record, RETRY, pending, "provider.busy", "GET").await;
    for (get, expected) in [
        (answer(200, ""), "provider.unexpected"),
        (answer(200, r#"{"status":"new"}"#), "provider.unexpected"),
        (answer(201, DONE), "provider.unexpected"),
        (answer(302, ""), "provider.unexpected"),
        (answer(400, ""), "provider.rejected"),
        (answer(402, ""), "provider.declined"),
        (answer(403, ""), "provider.unauthorized"),
        (answer(408, ""), "provider.busy"),
        (answer(409, ""), "provider.busy"),
        (answer(410, ""), "provider.unexpected"),
        (answer(429, ""), "provider.rate_limited"),
        (answer(500, ""), "provider.unavailable"),
        (Reply::Hang(Vec::new()), "provider.timeout"),
        (Reply::Reset(Vec::new()), "provider.unreachable"),
        (
            Reply::Close(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n".to_vec()),
            "provider.unreachable",
        ),
    ] {
        check(&record, RETRY, get, expected, "GET").await;
    }
}

/// Each call of the provider takes 1 s by the clock of the test.
async fn check_time(last_call: i64, attempt: Attempt, post: Reply, methods: &str) {
    let clock = TestClock::new();
    let provider_clock = clock.clone();
    let provider = Provider::start(move |request| {
        provider_clock.advance(1_000);
        if request.is_post() {
            post.clone()
        } else {
            answer(404, "")
        }
    });
    let charge = Parts {
        clock,
        ..Parts::default()
    }
    .charge(&provider);
    let attempt = Attempt {
        last_call: Timestamp::from_millis(last_call),
        ..attempt
    };
    let verdict = charge.handle(&record(Some(payment("k-7"))), &attempt).await;
    assert_eq!(word(&verdict), "no time");
    assert_eq!(provider.methods(), methods);
}

#[tokio::test]
async fn no_call_starts_after_the_last_moment_for_one() {
    let created = || answer(201, DONE);
    check_time(NOW - 1, MAIN, created(), "").await;
    check_time(NOW - 1, RETRY, created(), "").await;
    check_time(NOW + 999, RETRY, created(), "GET").await;
    check_time(NOW + 999, MAIN, answer(409, ""), "POST").await;
    check_time(NOW + 999, MAIN, answer(401, ""), "POST").await;
    check_time(NOW + 1_999, RETRY, answer(422, ""), "GET POST").await;
}

#[tokio::test]
async fn a_call_may_start_at_the_very_last_moment() {
    let provider = Provider::start(|_| answer(201, DONE));
    let charge = Parts::default().charge(&provider);
    let attempt = Attempt {
        last_call: Timestamp::from_millis(NOW),
        ..MAIN
    };
    let verdict = charge.handle(&record(Some(payment("k-7"))), &attempt).await;
    assert_eq!(word(&verdict), "done");
    assert_eq!(charge.call_limit_ms(), 5_000);
}
