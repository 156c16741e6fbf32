//! When retries run: not before they are due, and not much later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use local::invoke::Invoke;
use tokio::time::Instant;

use crate::harness::binaries;
use crate::harness::cluster::{Cluster, Seed};
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_id, fresh_ids, payment};
use crate::harness::world::{World, answered};
use crate::harness::{is, now_ms, until};

const PATIENCE: Duration = Duration::from_mins(1);

/// Row 37: how late a retry of an idle system may start.
const LATE_MS: i64 = 2_000;

/// When each payment was first tried, in milliseconds since the epoch, last call counting.
type Tries = Arc<Mutex<BTreeMap<String, Vec<i64>>>>;

async fn noting(ruling: Ruling) -> (Gateway, Tries) {
    let tries = Tries::default();
    let noted = Arc::clone(&tries);
    let gateway = Gateway::start(move |asked| {
        let id = asked.id.clone();
        noted.lock().unwrap().entry(id).or_default().push(now_ms());
        ruling.clone()
    })
    .await;
    (gateway, tries)
}

/// Row 37: payments that have waited 27 s of their 30 s already.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_starts_at_most_two_seconds_after_it_is_due_and_never_before() {
    let (gateway, tries) = noting(Ruling::Charge(Duration::ZERO)).await;
    let ladder = Ladder::with_delays(&["30s"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let topic = world.ladder.retry(0);
    // The mapping and its processes are warm before anything is due.
    let mapped = world.map(
        world
            .settings("payments", binaries::payments(), &[])
            .with_timeout(Duration::from_mins(1)),
        topic,
    );
    mapped
        .mapping
        .idle_for(Duration::from_millis(500))
        .await
        .unwrap();
    let ids = fresh_ids("late", 5);
    let mut due = BTreeMap::new();
    for (nth, id) in ids.iter().enumerate() {
        let written = now_ms() - 27_000 + i64::try_from(nth).unwrap() * 500;
        due.insert(id.clone(), written + 30_000);
        let seed = Seed {
            key: Some(id.as_bytes()),
            value: Some(&payment(id, "ok")),
            timestamp: Some(written),
            ..Seed::default()
        };
        world.cluster.produce(topic, &[seed]).await;
    }
    until(PATIENCE, "all are charged", async || {
        is(&gateway.charges().len(), &5)
    })
    .await;
    for (id, times) in tries.lock().unwrap().iter() {
        let late = times[0] - due[id];
        assert!(
            (0..=LATE_MS).contains(&late),
            "{id} starts {late} ms after it is due"
        );
    }
}

/// Row 5: the next stage's delay is its own, from the moment the payment failed on this one.
#[tokio::test(flavor = "multi_thread")]
async fn each_stage_has_its_own_delay() {
    let (gateway, tries) = noting(Ruling::Refuse(503, "down".to_owned())).await;
    let ladder = Ladder::with_delays(&["1s", "4s"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let id = fresh_id("delays");
    let seed = Seed {
        key: Some(id.as_bytes()),
        value: Some(&payment(&id, "transient")),
        ..Seed::default()
    };
    world.cluster.produce(&world.ladder.main, &[seed]).await;
    let _stages = world.map_stages(&[]);
    until(PATIENCE, "it is in the DLQ", async || {
        is(&world.cluster.records(&world.ladder.dlq).await.len(), &1)
    })
    .await;
    let times = tries.lock().unwrap()[&id].clone();
    let [first, second, third] = times.as_slice() else {
        panic!("{times:?}")
    };
    for (nth, (from, to, delay)) in [(first, second, 1_000), (second, third, 4_000)]
        .into_iter()
        .enumerate()
    {
        let waited = to - from;
        // The record's own time is that of its produce, a moment after the call.
        assert!(waited >= delay, "stage {nth}: {waited} ms");
        let written = world.cluster.records(world.ladder.retry(nth)).await[0].timestamp;
        let late = to - (written.millis() + delay);
        assert!(
            (0..=LATE_MS + 3_000).contains(&late),
            "stage {nth}: {late} ms late"
        );
    }
}

/// Rows 4, 31 and 33: a time that was forged, or is none, never makes a payment wait longer than its stage.
#[tokio::test(flavor = "multi_thread")]
async fn a_forged_time_never_delays_a_retry() {
    let (gateway, _) = noting(Ruling::Refuse(503, "down".to_owned())).await;
    let ladder = Ladder::with_delays(&["30s", "1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[]);
    let now = now_ms();
    let times = [
        -1,
        0,
        now * 1_000,
        now * 1_000_000,
        253_402_300_799_000,
        now + 6_000,
        i64::MAX,
        i64::MIN,
    ];
    let ids = fresh_ids("forged", times.len());
    let records: Vec<Sent> = ids
        .iter()
        .zip(times)
        .zip(0..)
        .map(|((id, timestamp), offset)| Sent {
            timestamp,
            headers: vec![
                ("retry.count".to_owned(), b"9999".to_vec()),
                ("due-at".to_owned(), b"253402300799000".to_vec()),
            ],
            ..Sent::new(world.ladder.retry(0), offset, id, payment(id, "transient"))
        })
        .collect();
    let started = Instant::now();
    let answer = answered(function.invoke(event(&records)).await);
    let took = started.elapsed();
    assert_eq!(handed_back(&answer), Vec::<String>::new());
    assert!(took < Duration::from_secs(10), "{took:?}");
    let next = world.cluster.records(world.ladder.retry(1)).await;
    assert_eq!(next.len(), times.len());
    for record in next {
        assert_eq!(record.headers.only_text("retry.count"), Some("2"));
        let age = now_ms() - record.timestamp.millis();
        assert!((-1_000..20_000).contains(&age), "rows 30 and 31: {age}");
    }
}
