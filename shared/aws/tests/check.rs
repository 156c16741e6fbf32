//! What a check tells of a bucket, against S3's protocol.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::significant_drop_tightening,
    reason = "what fails here is to fail the test"
)]

mod support;

use std::time::Duration;

use aws::Bucket;
use hyper::Method;
use lambda::Checks;
use serde_json::Value;
use support::{Fault, S3};

/// Checks whether objects can be put and keys be listed, and tells how both ended: `ok`, or why not.
async fn check(bucket: &Bucket, expected: [&str; 2]) -> String {
    let checks = bucket.check_puts(Checks::new("dlq"), "spill/");
    let checks = bucket.check_lists(checks, "replays/");
    let checked = checks.run(Duration::from_secs(5)).await;
    let told: Value = serde_json::to_value(&checked).unwrap();
    let why = |nth: usize| told["checks"][nth]["why"].as_str().unwrap_or("ok");
    assert_eq!([why(0), why(1)], expected, "{told}");
    assert_eq!(checked.is_ok(), expected == ["ok", "ok"]);
    told.to_string()
}

#[tokio::test]
async fn a_bucket_is_written_to_by_the_first_check_alone() {
    let s3 = S3::start().await;
    let file = s3.folder().join("spill/_check.json");
    for _ in 0..3 {
        check(&s3.bucket(), ["ok", "ok"]).await;
        assert_eq!(std::fs::read(&file).unwrap(), br#"{"check":true}"#);
    }
    let first = std::fs::metadata(&file).unwrap().modified().unwrap();
    check(&s3.bucket(), ["ok", "ok"]).await;
    let last = std::fs::metadata(&file).unwrap().modified().unwrap();
    assert_eq!(first, last, "it was written again");
    assert!(!s3.folder().join("replays").exists());
}

#[tokio::test]
async fn each_right_that_is_missing_is_named() {
    let s3 = S3::start().await;
    let bucket = s3.bucket();
    check(&bucket, ["ok", "ok"]).await;
    for (method, expected, call) in [
        (Method::PUT, ["unauthorized", "ok"], "PutObject spill/"),
        (Method::HEAD, ["unauthorized", "ok"], "HeadObject spill/"),
        (
            Method::GET,
            ["ok", "unauthorized"],
            "ListObjectsV2 replays/",
        ),
    ] {
        s3.always(Some((method, Fault::Answer(403, "AccessDenied"))));
        let told = check(&bucket, expected).await;
        assert!(told.contains(call) && told.contains("HTTP 403"), "{told}");
    }
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_apart() {
    let s3 = S3::start().await;
    let nobody = support::bucket("http://127.0.0.1:1", "incidents");
    check(&nobody, ["unreachable", "unreachable"]).await;
    let bucket = s3.bucket();
    for (status, code, why) in [
        (400, "ExpiredToken", "unauthorized"),
        (403, "SignatureDoesNotMatch", "unauthorized"),
        (404, "NoSuchBucket", "missing"),
        (301, "PermanentRedirect", "wrong"),
    ] {
        s3.always(Some((Method::PUT, Fault::Answer(status, code))));
        let told = check(&bucket, [why, "ok"]).await;
        assert!(told.contains(code), "{told}");
    }
    // Another check puts the object just now.
    s3.always(None);
    check(&bucket, ["ok", "ok"]).await;
    s3.next(
        &Method::PUT,
        &[Fault::Answer(409, "ConditionalRequestConflict")],
    );
    check(&bucket, ["ok", "ok"]).await;
    s3.always(Some((Method::PUT, Fault::NoAnswer)));
    let told = check(&bucket, ["timeout", "ok"]).await;
    assert!(told.contains("PutObject"), "the cause is told: {told}");
}
