//! Every row of the contract's table, over real HTTP.

use pipeline::mask::Masker;
use pipeline::{ErrorClass, Stages, decide};

use super::*;

async fn check(post: Reply, get: Reply, expected: &str, methods: &str) {
    let provider = Provider::start(rule(post.clone(), get.clone()));
    let charge = Parts {
        limit: "600ms",
        ..Parts::default()
    }
    .charge(&provider);
    let verdict = charge.handle(&record(Some(payment("k-7"))), &MAIN).await;
    let what = format!("{post:?} {get:?}");
    assert_eq!(word(&verdict), expected, "{what}");
    assert_eq!(provider.methods(), methods, "{what}");
    if let Ok(Verdict::Transient(failure)) = &verdict {
        assert_eq!(failure.code.class(), ErrorClass::Transient, "{what}");
    }
    if let Ok(Verdict::Permanent(failure)) = &verdict {
        assert_eq!(failure.code.class(), ErrorClass::Permanent, "{what}");
    }
}

/// What a question meets that must not be asked.
fn unused() -> Reply {
    Reply::Close(Vec::new())
}

#[tokio::test]
async fn each_answer_to_a_charge_leads_where_the_contract_says() {
    for (status, expected) in [
        (200, "done"),
        (201, "done"),
        (202, "provider.unexpected"),
        (204, "provider.unexpected"),
        (301, "provider.unexpected"),
        (302, "provider.unexpected"),
        (307, "provider.unexpected"),
        (402, "provider.declined"),
        (403, "provider.unauthorized"),
        (404, "provider.unexpected"),
        (405, "provider.unexpected"),
        (408, "provider.busy"),
        (410, "provider.unexpected"),
        (413, "provider.rejected"),
        (423, "provider.busy"),
        (425, "provider.busy"),
        (429, "provider.rate_limited"),
        (500, "provider.unavailable"),
        (502, "provider.unavailable"),
        (503, "provider.unavailable"),
        (504, "provider.unavailable"),
        (599, "provider.unavailable"),
    ] {
        check(answer(status, ""), unused(), expected, "POST").await;
    }
}

#[tokio::test]
async fn a_charge_that_is_pending_or_failed_is_none() {
    for (body, expected) in [
        (r#"{"status":"pending"}"#, "provider.busy"),
        (r#"{"status":"failed"}"#, "provider.declined"),
        (r#"{"status":"succeeded"}"#, "done"),
    ] {
        check(answer(200, body), unused(), expected, "POST").await;
        check(answer(201, body), unused(), expected, "POST").await;
    }
}

#[tokio::test]
async fn without_an_answer_the_payment_waits_for_the_next_stage() {
    let head = b"HTTP/1.1 201 Created\r\ncontent-length: 30\r\n\r\n{\"status\"".to_vec();
    for (reply, expected) in [
        (Reply::Hang(Vec::new()), "provider.timeout"),
        (Reply::Hang(head.clone()), "provider.timeout"),
        (Reply::Reset(Vec::new()), "provider.unreachable"),
        (Reply::Close(Vec::new()), "provider.unreachable"),
        (Reply::Close(head), "provider.unreachable"),
        (
            Reply::Close(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
            "provider.unreachable",
        ),
    ] {
        check(reply, unused(), expected, "POST").await;
    }
}

#[tokio::test]
async fn a_refusal_that_may_mean_already_there_is_asked_about() {
    for (status, refusal) in [
        (400, "provider.rejected"),
        (409, "provider.busy"),
        (422, "provider.rejected"),
    ] {
        for (get, expected) in [
            (answer(200, r#"{"status":"succeeded"}"#), "done"),
            (answer(200, r#"{"status":"pending"}"#), "provider.busy"),
            (answer(200, r#"{"status":"failed"}"#), refusal),
            (answer(404, ""), refusal),
            (answer(200, "{}"), "provider.unexpected"),
            (answer(503, ""), "provider.unavailable"),
            (answer(429, ""), "provider.rate_limited"),
            (Reply::Hang(Vec::new()), "provider.timeout"),
        ] {
            check(answer(status, ""), get, expected, "POST GET").await;
        }
    }
}

#[tokio::test]
async fn a_broken_payment_never_reaches_the_provider() {
    let provider = Provider::start(|_| unused());
    let charge = Parts::default().charge(&provider);
    for (value, expected) in [
        (None, "payload.invalid"),
        (Some(""), "payload.malformed"),
        (Some("{}"), "payload.schema_version"),
        (Some(r#"{"schema_version":1}"#), "payload.malformed"),
    ] {
        let record = record(value.map(|value| value.as_bytes().to_vec()));
        let verdict = charge.handle(&record, &RETRY).await;
        assert!(matches!(verdict, Ok(Verdict::Permanent(_))), "{verdict:?}");
        assert_eq!(word(&verdict), expected);
    }
    assert_eq!(provider.connections(), 0);
}

/// Dead-letters a record that meets this reply, on a ladder without retry stages.
async fn dead_letter(record: &Record, post: Reply) -> Headers {
    let provider = Provider::start(rule(post, unused()));
    let charge = Parts::default().charge(&provider);
    let verdict = charge.handle(record, &MAIN).await.unwrap();
    let stages = Stages::new(
        "brew.payments.v1".parse().unwrap(),
        &[],
        &[],
        "brew.payments.dlq".parse().unwrap(),
    )
    .unwrap();
    let pipeline::Decision::DeadLetter(forward) = decide(&stages, record, verdict) else {
        panic!("not dead-lettered");
    };
    let outgoing = forward.outgoing(record, Timestamp::from_millis(NOW), &Masker::default());
    assert_eq!(outgoing.value, record.value);
    outgoing.headers
}

async fn header_after(post: Reply, name: &str) -> String {
    let headers = dead_letter(&record(Some(payment("k-7"))), post).await;
    headers.only_text(name).unwrap().to_owned()
}

/// Row 16.
#[tokio::test]
async fn an_error_without_a_text_still_has_its_class_code_and_message() {
    for body in ["", " \r\n", "null"] {
        let header = |name| header_after(answer(402, body), name);
        assert_eq!(header(names::ERROR_CLASS).await, "permanent");
        assert_eq!(header(names::ERROR_CODE).await, "provider.declined");
        let message = header(names::ERROR_MESSAGE).await;
        assert!(
            message.starts_with("POST /v1/charges answered 402"),
            "{message}"
        );
    }
}

/// Row 17.
#[tokio::test]
async fn the_root_cause_is_told_not_what_wraps_it() {
    let reset = || Reply::Reset(Vec::new());
    assert_eq!(
        header_after(reset(), names::ERROR_MESSAGE).await,
        "POST /v1/charges was not answered: Connection reset by peer (os error 104)"
    );
    assert_eq!(
        header_after(reset(), names::ERROR_CODE).await,
        "provider.unreachable"
    );
}

/// Row 19.
#[tokio::test]
async fn what_the_provider_says_is_masked_and_cut() {
    let body = format!(
        "card 4111 1111 1111 1111 refused\r\nAuthorization: Bearer abcdefghijklmnop\r\n{}",
        "é".repeat(1024 * 1024)
    );
    let message = header_after(answer(402, &body), names::ERROR_MESSAGE).await;
    assert!(
        message.len() <= 1_024 && message.len() > 1_000,
        "{}",
        message.len()
    );
    assert!(
        message.starts_with("POST /v1/charges answered 402: card "),
        "{message}"
    );
    for secret in ["4111", "1111", "abcdef", "\r", "\n"] {
        assert!(!message.contains(secret), "{message}");
    }
}

/// Row 21.
#[tokio::test]
async fn a_tombstone_is_dead_lettered_as_invalid_and_stays_one() {
    let headers = dead_letter(&record(None), unused()).await;
    assert_eq!(
        headers.only_text(names::ERROR_CODE),
        Some("payload.invalid")
    );
    assert_eq!(headers.only_text(names::DLQ_REASON), Some("validation"));
}
