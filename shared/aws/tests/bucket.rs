//! The bucket against S3's real protocol, and against everything that may go wrong on the way there.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::significant_drop_tightening,
    reason = "what fails here is to fail the test"
)]

mod support;

use std::time::Duration;

use aws::{Bucket, Listed, Sdk, Swap};
use hyper::Method;
use lambda::{Objects, Put, StoreFault};
use support::{Fault, S3, bucket};

const KEY: &str =
    "incidents/dt=2025-08-23/error_class=transient/t-1-00000000000000000002-1755933141805.json";

/// Checks how a put ends that meets these faults, and how many requests it makes.
async fn check(faults: &[Fault], expected: Result<Put, &str>, puts: usize) {
    let s3 = S3::start().await;
    s3.next(&Method::PUT, faults);
    let put = s3.bucket().put_new(KEY, b"{}".to_vec()).await;
    match (put, expected) {
        (Ok(put), Ok(expected)) => assert_eq!(put, expected, "{faults:?}"),
        (Err(StoreFault(why)), Err(expected)) => {
            for part in ["bucket incidents at http://127.0.0.1:", KEY, expected] {
                assert!(why.contains(part), "{faults:?}: {why}");
            }
            assert_eq!(why.lines().count(), 1, "{why}");
        }
        (put, expected) => panic!("{faults:?}: {put:?}, not {expected:?}"),
    }
    assert_eq!(s3.seen(&Method::PUT), puts, "{faults:?}");
}

#[tokio::test]
async fn an_object_is_created_once_and_never_overwritten() {
    let s3 = S3::start().await;
    let first = s3.bucket();
    assert_eq!(
        first.put_new(KEY, b"first".to_vec()).await,
        Ok(Put::Created)
    );
    assert_eq!(
        first.put_new(KEY, b"second".to_vec()).await,
        Ok(Put::Existed)
    );
    assert_eq!(
        s3.bucket().put_new(KEY, b"third".to_vec()).await,
        Ok(Put::Existed)
    );
    assert_eq!(first.get(KEY).await.unwrap().unwrap().body, b"first");
}

#[tokio::test]
async fn a_412_for_our_own_write_after_a_lost_answer_counts_as_created() {
    check(&[Fault::LostAnswer], Ok(Put::Created), 2).await;
    check(&[Fault::NoAnswer], Ok(Put::Created), 2).await;
    check(
        &[Fault::LostAnswer, Fault::Answer(500, "InternalError")],
        Ok(Put::Created),
        3,
    )
    .await;
}

#[tokio::test]
async fn a_write_whose_every_answer_was_lost_is_known_as_ours_when_it_is_tried_again() {
    let s3 = S3::start().await;
    let ours = s3.bucket();
    s3.next(&Method::PUT, &[Fault::LostAnswer; 3]);
    assert!(ours.put_new(KEY, b"{}".to_vec()).await.is_err());
    assert_eq!(ours.put_new(KEY, b"{}".to_vec()).await, Ok(Put::Created));
    assert_eq!(
        ours.put_new(KEY, b"{}".to_vec()).await,
        Ok(Put::Existed),
        "told once"
    );
}

#[tokio::test]
async fn a_write_that_was_given_up_is_known_as_ours_when_it_is_tried_again() {
    let s3 = S3::start().await;
    let ours = s3.bucket();
    s3.next(&Method::PUT, &[Fault::NoAnswer]);
    let given_up = tokio::time::timeout(
        Duration::from_millis(300),
        ours.put_new(KEY, b"{}".to_vec()),
    );
    assert!(given_up.await.is_err());
    assert_eq!(s3.seen(&Method::PUT), 1);
    assert_eq!(ours.put_new(KEY, b"{}".to_vec()).await, Ok(Put::Created));
}

#[tokio::test]
async fn whose_object_it_is_stays_open_until_the_store_can_be_asked() {
    let s3 = S3::start().await;
    let ours = s3.bucket();
    s3.next(&Method::PUT, &[Fault::LostAnswer]);
    s3.always(Some((Method::HEAD, Fault::Answer(503, "SlowDown"))));
    let StoreFault(why) = ours.put_new(KEY, b"{}".to_vec()).await.unwrap_err();
    assert!(why.contains("HeadObject") && why.contains("503"), "{why}");
    s3.always(None);
    assert_eq!(ours.put_new(KEY, b"{}".to_vec()).await, Ok(Put::Created));
}

#[tokio::test]
async fn another_write_under_way_is_waited_for() {
    let conflict = Fault::Answer(409, "ConditionalRequestConflict");
    check(&[conflict], Ok(Put::Created), 2).await;
    check(&[conflict; 5], Ok(Put::Created), 6).await;
    check(
        &[conflict; 6],
        Err("ConditionalRequestConflict (HTTP 409): as told"),
        6,
    )
    .await;
}

#[tokio::test]
async fn a_passing_fault_is_tried_again_and_a_lasting_one_is_told() {
    for fault in [
        Fault::Answer(500, "InternalError"),
        Fault::Answer(503, "SlowDown"),
        Fault::Reset,
    ] {
        check(&[fault; 2], Ok(Put::Created), 3).await;
    }
    check(
        &[Fault::Answer(500, "InternalError"); 3],
        Err("InternalError (HTTP 500): as told"),
        3,
    )
    .await;
    check(
        &[Fault::Answer(503, "SlowDown"); 3],
        Err("SlowDown (HTTP 503): as told"),
        3,
    )
    .await;
    check(&[Fault::Reset; 3], Err("PutObject"), 3).await;
    check(&[Fault::NoAnswer; 3], Err("no answer in time"), 3).await;
}

#[tokio::test]
async fn what_another_try_cannot_mend_is_told_at_once() {
    check(
        &[Fault::Answer(403, "AccessDenied")],
        Err("AccessDenied (HTTP 403): as told"),
        1,
    )
    .await;
    check(
        &[Fault::Answer(404, "NoSuchBucket")],
        Err("NoSuchBucket (HTTP 404): as told"),
        1,
    )
    .await;
    check(
        &[Fault::Answer(400, "KeyTooLongError")],
        Err("KeyTooLongError (HTTP 400): as told"),
        1,
    )
    .await;
}

#[tokio::test]
async fn a_store_that_is_away_is_told_in_time_by_its_address() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let bucket = bucket(&url, "incidents");
    let put = tokio::time::timeout(Duration::from_secs(8), bucket.put_new(KEY, Vec::new()));
    let StoreFault(why) = put.await.unwrap().unwrap_err();
    assert!(why.contains(&url) && why.contains("refused"), "{why}");
}

/// Where the environment has credentials the server does not know them; where it has none, the SDK looks for a metadata service.
#[tokio::test]
async fn without_credentials_that_fit_a_put_ends_in_time() {
    let s3 = S3::start().await;
    let sdk = Sdk::new(Some(s3.url.parse().unwrap()));
    let bucket = Bucket::new("incidents".parse().unwrap(), sdk);
    let put = tokio::time::timeout(Duration::from_secs(9), bucket.put_new(KEY, Vec::new()));
    let StoreFault(why) = put.await.unwrap().unwrap_err();
    assert!(why.contains("bucket incidents at"), "{why}");
}

#[tokio::test]
async fn objects_are_read_listed_and_deleted() {
    let s3 = S3::start().await;
    let bucket = s3.bucket();
    assert_eq!(bucket.get("a/none").await, Ok(None));
    assert_eq!(bucket.list("a/").await, Ok(Vec::new()));
    for key in ["a/2", "b/3", "a/1"] {
        bucket.put_new(key, key.as_bytes().to_vec()).await.unwrap();
    }
    let listed = |key: &str| Listed {
        key: key.to_owned(),
        bytes: 3,
    };
    assert_eq!(
        bucket.list("a/").await,
        Ok(vec![listed("a/1"), listed("a/2")])
    );
    bucket.delete("a/1").await.unwrap();
    bucket.delete("a/1").await.unwrap();
    assert_eq!(bucket.list("a/").await, Ok(vec![listed("a/2")]));
    s3.next(&Method::GET, &[Fault::Answer(404, "NoSuchBucket"); 2]);
    for fault in [bucket.get("a/2").await.err(), bucket.list("a/").await.err()] {
        let fault = fault.unwrap().to_string();
        assert!(fault.contains("NoSuchBucket"), "{fault}");
    }
}

#[tokio::test]
async fn an_object_that_is_far_too_long_is_refused_unread() {
    let s3 = S3::start().await;
    let bucket = s3.bucket();
    // Written past the protocol, in which so many bytes take a while.
    let write = |name: &str, bytes| std::fs::write(s3.folder().join(name), vec![b' '; bytes]);
    write("just", 16 << 20).unwrap();
    write("long", (16 << 20) + 1).unwrap();
    let just = bucket.get("just").await.unwrap().unwrap();
    assert_eq!(just.body.len(), 16 << 20);
    let StoreFault(why) = bucket.get("long").await.unwrap_err();
    assert!(why.contains("16777217 bytes"), "{why}");
}

#[tokio::test]
async fn a_list_of_more_than_a_page_is_whole() {
    let s3 = S3::start().await;
    for number in 0..1_005 {
        std::fs::write(s3.folder().join(format!("{number:04}")), "").unwrap();
    }
    let listed = s3.bucket().list("").await.unwrap();
    assert_eq!(listed.len(), 1_005);
    assert!(listed.is_sorted_by_key(|object| object.key.clone()));
}

#[tokio::test]
async fn an_object_is_replaced_only_while_it_is_what_was_read() {
    let s3 = S3::start().await;
    let bucket = s3.bucket();
    bucket.put_new("state", b"1".to_vec()).await.unwrap();
    let read = bucket.get("state").await.unwrap().unwrap();
    let Swap::Swapped(newer) = bucket
        .put_if_match("state", b"2".to_vec(), &read.etag)
        .await
        .unwrap()
    else {
        panic!("it was what was read");
    };
    assert_eq!(
        bucket
            .put_if_match("state", b"3".to_vec(), &read.etag)
            .await,
        Ok(Swap::Changed)
    );
    let now = bucket.get("state").await.unwrap().unwrap();
    assert_eq!((now.body, now.etag), (b"2".to_vec(), newer));
}

#[tokio::test]
async fn a_bucket_is_made_once() {
    let s3 = S3::start().await;
    let bucket = s3.bucket_of("new-bucket");
    bucket.create().await.unwrap();
    bucket.create().await.unwrap();
    assert_eq!(bucket.put_new("a", Vec::new()).await, Ok(Put::Created));
}

#[tokio::test]
async fn the_age_of_an_object_is_told_by_the_store_s_own_clock() {
    let s3 = S3::start().await;
    let bucket = s3.bucket();
    bucket.put_new(KEY, b"{}".to_vec()).await.unwrap();
    let age = async || bucket.get(KEY).await.unwrap().unwrap().age_ms.unwrap();
    assert!((0..=2_000).contains(&age().await));
    let file = std::fs::File::open(s3.folder().join(KEY)).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written - Duration::from_secs(61))
        .unwrap();
    assert!((61_000..=63_000).contains(&age().await));
}

#[tokio::test]
async fn a_list_begins_after_a_key() {
    let s3 = S3::start().await;
    let bucket = s3.bucket();
    for key in ["a/1", "a/2", "a/3", "b/1"] {
        bucket.put_new(key, Vec::new()).await.unwrap();
    }
    let keys = async |after: &str| -> Vec<String> {
        let listed = bucket.list_after("a/", after).await.unwrap();
        listed.into_iter().map(|listed| listed.key).collect()
    };
    assert_eq!(keys("").await, ["a/1", "a/2", "a/3"]);
    assert_eq!(keys("a/1").await, ["a/2", "a/3"]);
    assert_eq!(keys("a/25").await, ["a/3"]);
}
