//! The dlq function whole, on S3's real protocol and a real webhook.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::significant_drop_tightening,
    reason = "what fails here is to fail the test"
)]

mod metrics;
mod world;

use hyper::Method;
use lambda::BatchFailures;
use serde_json::{Value, json};
use world::s3::{Fault, S3};
use world::{Hook, World, dead_letter, handing_back, keys, timeouts};

const SECOND: &str = "incidents/dt=2025-08-23/error_class=transient/brew.payments.dlq-1-00000000000000000002-1755933141805.json";

#[tokio::test]
async fn a_dead_letter_becomes_one_object_and_then_one_alert() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    assert_eq!(world.invoke(&timeouts(2..3)).await, handing_back(&[]));
    assert_eq!(keys(&s3, "").await, [SECOND]);
    let object = s3.bucket().get(SECOND).await.unwrap().unwrap();
    assert_eq!(
        String::from_utf8(object.body).unwrap(),
        concat!(
            r#"{"dlq_topic":"brew.payments.dlq","dlq_partition":1,"dlq_offset":2,"key":"k-2","#,
            r#""original_topic":"brew.payments.v1","original_partition":"0","original_offset":"14","#,
            r#""previous_topic":"brew.payments.retry.1h","retry_count":"3","error_class":"transient","#,
            r#""error_code":"provider.timeout","error_message":"it failed","#,
            r#""dlq_record_time":"2025-08-23T07:12:21.805Z","payload_bytes":20}"#,
        )
    );
    assert_eq!(
        world.out.alerts(),
        [r#"[ALERT] #1  dlq=brew.payments.dlq p=1 off=2 key=k-2
        original=brew.payments.v1/0/14 previous=brew.payments.retry.1h retries=3
        class=transient message="it failed"
        payload=20 bytes
"#]
    );
}

#[tokio::test]
async fn the_object_exists_before_the_alert_is_raised_and_alerts_are_counted() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    world.invoke(&timeouts(0..20)).await;
    world.invoke(&timeouts(20..25)).await;
    for (index, objects) in world.out.objects_at_each().into_iter().enumerate() {
        assert!(objects > index, "{objects} objects at alert {index}");
    }
    let alerts = world.out.alerts();
    assert_eq!(alerts.len(), 25);
    for (number, alert) in (1..).zip(&alerts) {
        assert!(
            alert.starts_with(&format!("[ALERT] #{number}  dlq=")),
            "{alert}"
        );
    }
}

#[tokio::test]
async fn a_thousand_of_one_kind_are_two_posts_and_read_again_they_are_nothing() {
    let s3 = S3::start().await;
    let hook = Hook::start(&[]).await;
    let first = World::new(&s3, Some(hook.webhook()));
    let mut records = timeouts(0..1_000);
    records.push(dead_letter(1_000, "permanent", "provider.declined"));
    assert_eq!(first.invoke(&records).await, handing_back(&[]));
    assert_eq!(first.out.alerts().len(), 1_001);
    assert_eq!(keys(&s3, "incidents/").await.len(), 1_001);
    let mut told = hook.told();
    told.sort();
    let timeout = |count| ("transient".to_owned(), "provider.timeout".to_owned(), count);
    let declined = ("permanent".to_owned(), "provider.declined".to_owned(), 1);
    assert_eq!(told, [declined, timeout(1), timeout(999)]);

    let again = World::new(&s3, Some(hook.webhook()));
    assert_eq!(again.invoke(&records).await, handing_back(&[]));
    assert_eq!(again.out.alerts().len(), 0);
    assert_eq!(keys(&s3, "incidents/").await.len(), 1_001);
    assert_eq!(hook.told().len(), 3);
    assert!(
        s3.seen(&Method::PUT) >= 2_002,
        "the store was asked for each"
    );
}

#[tokio::test]
async fn a_post_says_what_the_alert_says() {
    let s3 = S3::start().await;
    let hook = Hook::start(&[]).await;
    let world = World::new(&s3, Some(hook.webhook()));
    world.invoke(&timeouts(2..3)).await;
    let text = world.out.alerts()[0].trim_end().to_owned();
    let expected = json!({"text": text, "error_class": "transient", "error_code": "provider.timeout", "count": 1});
    assert_eq!(*hook.posts.lock().unwrap(), [expected]);
}

#[tokio::test]
async fn while_the_store_is_away_everything_is_handed_back_and_afterwards_recorded_once() {
    for fault in [
        Fault::Answer(503, "SlowDown"),
        Fault::Answer(403, "AccessDenied"),
        Fault::Reset,
    ] {
        let s3 = S3::start().await;
        let hook = Hook::start(&[]).await;
        let world = World::new(&s3, Some(hook.webhook()));
        s3.always(Some((Method::PUT, fault)));
        for _ in 0..3 {
            assert_eq!(
                world.invoke(&timeouts(0..3)).await,
                handing_back(&[0, 1, 2])
            );
        }
        assert_eq!(
            (world.out.alerts().len(), hook.told().len()),
            (0, 0),
            "{fault:?}"
        );
        s3.always(None);
        assert_eq!(world.invoke(&timeouts(0..3)).await, handing_back(&[]));
        assert_eq!(
            (world.out.alerts().len(), keys(&s3, "").await.len()),
            (3, 3),
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn where_the_answer_is_ignored_the_invocation_fails() {
    let s3 = S3::start().await;
    let world = World::answering(&s3, None, BatchFailures::Raise);
    s3.always(Some((Method::PUT, Fault::Answer(403, "AccessDenied"))));
    assert_eq!(
        world.invoke(&timeouts(0..1)).await,
        json!("RecordsHandedBack")
    );
    s3.always(None);
    assert_eq!(world.invoke(&timeouts(0..1)).await, handing_back(&[]));
}

#[tokio::test]
async fn an_incident_whose_answer_was_lost_is_alerted_once() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    for (offset, lost) in (0..).zip([Fault::LostAnswer, Fault::NoAnswer]) {
        s3.next(&Method::PUT, &[lost]);
        let records = timeouts(offset..offset + 1);
        assert_eq!(world.invoke(&records).await, handing_back(&[]));
        assert_eq!(world.invoke(&records).await, handing_back(&[]));
    }
    assert_eq!(world.out.alerts().len(), 2);

    s3.next(&Method::PUT, &[Fault::LostAnswer; 3]);
    assert_eq!(world.invoke(&timeouts(2..3)).await, handing_back(&[2]));
    assert_eq!(world.out.alerts().len(), 2);
    for _ in 0..2 {
        assert_eq!(world.invoke(&timeouts(2..3)).await, handing_back(&[]));
        let counts = (world.out.alerts().len(), keys(&s3, "").await.len());
        assert_eq!(counts, (3, 3));
    }
}

#[tokio::test]
async fn a_dead_webhook_hands_nothing_back() {
    let s3 = S3::start().await;
    let gone = Hook::start(&[]).await.webhook();
    let refusing = Hook::start(&[Some(500); 2]).await;
    let redirecting = Hook::start(&[Some(302); 2]).await;
    let hanging = Hook::start(&[None; 2]).await;
    let webhooks = [
        gone,
        refusing.webhook(),
        redirecting.webhook(),
        hanging.webhook(),
    ];
    for (number, webhook) in (0..).zip(webhooks) {
        let world = World::new(&s3, Some(webhook));
        assert_eq!(
            world.invoke(&timeouts(number * 2..number * 2 + 2)).await,
            handing_back(&[])
        );
        assert_eq!(world.out.alerts().len(), 2, "webhook {number}");
    }
    assert_eq!(
        (
            refusing.told().len(),
            redirecting.told().len(),
            hanging.told().len()
        ),
        (2, 2, 2)
    );
}

#[tokio::test]
async fn an_entry_that_is_no_record_is_spilled_raw_and_told() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    let broken = json!({"topic": "brew.payments.dlq", "partition": 1, "offset": 7, "timestamp": 1_755_933_141_805_i64, "value": 5});
    let unplaced = json!("not even an object");
    let records: Vec<Value> = [broken.clone(), unplaced.clone()]
        .into_iter()
        .chain(timeouts(2..3))
        .collect();
    for _ in 0..2 {
        assert_eq!(world.invoke(&records).await, handing_back(&[]));
    }
    assert_eq!(world.out.alerts().len(), 3);
    let spilled = keys(&s3, "spill/").await;
    assert_eq!(spilled.len(), 2);
    assert_eq!(
        spilled[0],
        "spill/brew.payments.dlq-1-00000000000000000007-1755933141805.json"
    );
    for (key, raw) in spilled.iter().zip([&broken, &unplaced]) {
        let body = s3.bucket().get(key).await.unwrap().unwrap().body;
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), *raw);
        assert!(
            world
                .out
                .alerts()
                .iter()
                .any(|alert| alert.contains(&format!(" spill={key}\n")))
        );
    }
    let told = keys(&s3, "incidents/").await;
    assert_eq!(
        told.iter()
            .filter(|key| key.contains("/error_class=permanent/"))
            .count(),
        2,
        "{told:?}"
    );
}

#[tokio::test]
async fn an_entry_that_is_no_record_is_handed_back_while_the_store_is_away() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    let broken = json!({"topic": "brew.payments.dlq", "partition": 1, "offset": 7, "value": 5});
    s3.next(&Method::PUT, &[Fault::Answer(403, "AccessDenied")]);
    assert_eq!(
        world.invoke(std::slice::from_ref(&broken)).await,
        handing_back(&[7])
    );
    assert_eq!(world.out.alerts().len(), 0);
    assert_eq!(world.invoke(&[broken]).await, handing_back(&[]));
    assert_eq!(world.out.alerts().len(), 1);
}
