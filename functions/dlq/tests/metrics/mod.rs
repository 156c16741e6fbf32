//! What the metrics tell of dead letters, and how many posts an alert storm is.

use hyper::Method;

use crate::world::s3::{Fault, S3};
use crate::world::{Hook, World, dead_letter, handing_back, timeouts};

const COUNTED: [&str; 5] = [
    "RecordsDone",
    "RecordsFaulted",
    "IncidentsCreated",
    "AlertsRaised",
    "PostsFailed",
];

#[tokio::test]
async fn an_incident_is_counted_when_it_is_new_and_its_record_each_time() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    world.invoke(&timeouts(0..3)).await;
    assert_eq!(world.counted(COUNTED), [3, 0, 3, 3, 0]);
    world.invoke(&timeouts(0..4)).await;
    assert_eq!(world.counted(COUNTED), [4, 0, 1, 1, 0]);
    let broken =
        serde_json::json!({"topic": "brew.payments.dlq", "partition": 1, "offset": 7, "value": 5});
    world.invoke(&[broken]).await;
    assert_eq!(world.counted(COUNTED), [1, 0, 1, 1, 0]);
}

#[tokio::test]
async fn the_age_of_each_dead_letter_is_measured_when_its_turn_comes() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    let mut records = timeouts(0..2);
    records[1]["timestamp"] = (-1).into();
    world.invoke(&records).await;
    // The clock stands still.
    assert_eq!(world.metrics()[0]["Lateness"], serde_json::json!([58_195]));
}

#[tokio::test]
async fn a_store_that_is_away_is_counted_as_a_fault_and_as_no_incident() {
    let s3 = S3::start().await;
    let world = World::new(&s3, None);
    s3.always(Some((Method::PUT, Fault::Answer(403, "AccessDenied"))));
    world.invoke(&timeouts(0..3)).await;
    assert_eq!(world.counted(COUNTED), [0, 3, 0, 0, 0]);
}

#[tokio::test]
async fn each_post_that_a_webhook_does_not_take_is_counted() {
    let s3 = S3::start().await;
    let refusing = Hook::start(&[Some(500), Some(500)]).await;
    let world = World::new(&s3, Some(refusing.webhook()));
    let invocation = world.invoke(&timeouts(0..5)).await;
    assert_eq!(invocation, handing_back(&[]));
    assert_eq!(world.counted(COUNTED), [5, 0, 5, 5, 2]);
    world.invoke(&timeouts(5..10)).await;
    assert_eq!(world.counted(COUNTED), [5, 0, 5, 5, 0]);
}

/// Row 92, where the mapping's batches are small: the process may be frozen after any of them, so none keeps a count for the next.
#[tokio::test]
async fn a_storm_over_many_invocations_is_two_posts_of_each_and_no_alert_goes_uncounted() {
    let s3 = S3::start().await;
    let hook = Hook::start(&[]).await;
    let world = World::new(&s3, Some(hook.webhook()));
    for nth in 0..5 {
        let twenty = timeouts(nth * 20..nth * 20 + 20);
        assert_eq!(world.invoke(&twenty).await, handing_back(&[]));
    }
    let told = hook.told();
    let counts: Vec<u64> = told.iter().map(|(_, _, count)| *count).collect();
    assert_eq!(counts, [1, 19].repeat(5));
    assert_eq!(world.counted(COUNTED), [100, 0, 100, 100, 0]);
    let declined = dead_letter(100, "permanent", "provider.declined");
    world.invoke(&[declined]).await;
    let (class, code, count) = hook.told().pop().unwrap();
    assert_eq!(
        (class.as_str(), code.as_str(), count),
        ("permanent", "provider.declined", 1)
    );
}
