//! Whole lives of payments: charged, up the whole ladder, declined, and back by replay.

use std::time::Duration;

use local::provider::{Provider, ProviderSettings};
use pipeline::{Coordinates, Record};
use serde_json::{Value, json};

use crate::harness::cluster::{Cluster, Seed};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_id, payment};
use crate::harness::world::World;
use crate::harness::{is, now_ms, until};

/// How long the slowest part of a life may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// How far the times of a record may lie apart: rows 30 and 31 of docs/faults.md.
const NOW_MS: i64 = 5_000;

/// Headers as producers write them: a trace, a name that stands twice, bytes that are no text, null, and forgeries of ours.
const WRITTEN: [(&str, Option<&[u8]>); 8] = [
    (
        "traceparent",
        Some(b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    ),
    ("twice", Some(b"1")),
    ("retry.count", Some(b"9999")),
    ("bytes", Some(&[0xff, 0x00, 0xc3])),
    ("twice", Some(b"2")),
    ("null", None),
    ("error.class", Some(b"permanent")),
    ("due-at", Some(b"253402300799000")),
];

/// Which of them a forward passes on: Lambda keeps no name of a null value, and ours are written anew.
const PASSED_ON: [usize; 5] = [0, 1, 3, 4, 7];

/// Our headers of a forward, in their order.
const OURS: [&str; 10] = [
    "error.class",
    "error.code",
    "error.message",
    "error.timestamp",
    "retry.count",
    "previous.topic",
    "original.topic",
    "original.partition",
    "original.offset",
    "original.timestamp",
];

/// Where a failed record came from and what is to be found at its next place.
struct Hop<'a> {
    origin: &'a Record,
    previous: &'a str,
    retries: &'a str,
    code: &'a str,
    reason: Option<&'a str>,
}

/// Checks a record that was forwarded since `started`, header by header.
#[track_caller]
fn check(record: &Record, hop: &Hop<'_>, started: i64) {
    let origin = hop.origin;
    assert_eq!(
        record.key, origin.key,
        "row 22: the key on {}",
        record.coordinates
    );
    assert_eq!(record.value, origin.value);
    let (earliest, latest) = (started - NOW_MS, now_ms() + NOW_MS);
    let time = record.timestamp.millis();
    assert!(
        (earliest..=latest).contains(&time),
        "rows 30 and 31: {time} is not between {earliest} and {latest}"
    );
    let told = record.headers.text("error.timestamp").unwrap();
    let failed: i64 = told_ms(told);
    assert!((time - failed).abs() <= NOW_MS, "{told} and {time}");

    let written: Vec<_> = origin.headers.iter().cloned().collect();
    let passed_on = PASSED_ON.map(|nth| written[nth].clone());
    let found: Vec<_> = record.headers.iter().cloned().collect();
    assert_eq!(found[..PASSED_ON.len()], passed_on, "rows 8, 15 and 18");
    let names: Vec<&str> = found[PASSED_ON.len()..]
        .iter()
        .map(|header| header.name.as_str())
        .collect();
    let dead = hop.reason.is_some();
    let ours = OURS.into_iter().chain(dead.then_some("dlq-reason"));
    assert_eq!(names, ours.collect::<Vec<_>>(), "rows 2 and 8");

    let at = &origin.coordinates;
    let expected = [
        ("error.code", hop.code.to_owned()),
        ("retry.count", hop.retries.to_owned()),
        ("previous.topic", hop.previous.to_owned()),
        ("original.topic", at.topic.to_string()),
        ("original.partition", at.partition.to_string()),
        ("original.offset", at.offset.to_string()),
        ("original.timestamp", origin.timestamp.millis().to_string()),
    ];
    for (name, value) in expected {
        assert_eq!(
            record.headers.only_text(name),
            Some(value.as_str()),
            "{name}"
        );
    }
    assert_eq!(record.headers.text("dlq-reason"), hop.reason);
}

/// Reads `2026-11-30T21:00:00.123Z`, and nothing else, as milliseconds since the epoch.
fn told_ms(text: &str) -> i64 {
    assert_eq!((text.len(), text.ends_with('Z')), (24, true), "{text}");
    let time = text.parse::<jiff::Timestamp>().unwrap();
    time.as_millisecond()
}

async fn only(world: &World, topic: &pipeline::Topic, key: &[u8]) -> Record {
    let records = world.cluster.records_of(topic, key).await;
    let [record] = records.as_slice() else {
        panic!("{topic} has {} records of the key", records.len())
    };
    record.clone()
}

/// Lives three lives on a cluster.
async fn live(cluster: Cluster) {
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let ladder = Ladder::with_delays(&["1s", "2s", "3s"]);
    let world = World::new(cluster, ladder.clone(), &provider.url()).await;
    let ids = ["ok", "transient", "permanent"].map(fresh_id);
    let [charged, climbing, declined] = &ids;
    let odd_key = [&[0x00, 0xff, 0x10], climbing.as_bytes()].concat();
    let values = [
        payment(charged, "ok"),
        payment(climbing, "transient"),
        payment(declined, "permanent"),
    ];
    let keys: [&[u8]; 3] = [charged.as_bytes(), &odd_key, declined.as_bytes()];
    let seeds = [0, 1, 2].map(|nth| Seed {
        key: Some(keys[nth]),
        value: Some(&values[nth]),
        headers: &WRITTEN,
        ..Seed::default()
    });

    let started = now_ms();
    world.cluster.produce(&ladder.main, &seeds).await;
    let stages = world.map_stages(&[]);
    let dlq = world.map_dlq();
    until(PATIENCE, "two incidents and alerts", async || {
        is(&world.store.incidents().await.len(), &2)?;
        is(&world.lines.alerts("dlq").len(), &2)
    })
    .await;

    let climbed = climbing_hops(&world, &odd_key, started).await;
    let dead = only(&world, &ladder.dlq, keys[2]).await;
    let refused = only(&world, &ladder.main, keys[2]).await;
    let hop = Hop {
        origin: &refused,
        previous: ladder.main.as_str(),
        retries: "0",
        code: "provider.declined",
        reason: Some("declined"),
    };
    check(&dead, &hop, started);
    for retry in &ladder.retries {
        assert!(world.cluster.records_of(&retry.0, keys[2]).await.is_empty());
    }
    assert_eq!(world.cluster.records(&ladder.dlq).await.len(), 2);
    assert_eq!(provider.charges(), [(charged.clone(), 1)].into());
    check_incidents(&world.store.incidents().await, &climbed, &dead);

    provider.up();
    replay(&world, &climbed).await;
    until(PATIENCE, "the replayed payment is charged", async || {
        is(&provider.charges().get(climbing), &Some(&1))
    })
    .await;
    check_replayed(&world, &odd_key, &climbed).await;
    for mapped in stages.iter().chain([&dlq]) {
        let idle = mapped.mapping.idle_for(Duration::from_millis(500));
        tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
    }
    assert_eq!(world.store.incidents().await.len(), 2);
    assert_eq!(world.lines.alerts("dlq").len(), 2);
    let twice = provider.charges().into_values().any(|charges| charges > 1);
    assert!(!twice, "{:?}", provider.charges());
}

/// Checks the payment that climbs, on each of its topics, and returns its dead letter.
async fn climbing_hops(world: &World, key: &[u8], started: i64) -> Record {
    let ladder = &world.ladder;
    let origin = only(world, &ladder.main, key).await;
    let topics = ladder.topics();
    for (entered, pair) in topics.windows(2).enumerate() {
        let is_dead = pair[1] == &ladder.dlq;
        let retries = if is_dead { entered } else { entered + 1 };
        let record = only(world, pair[1], key).await;
        let hop = Hop {
            origin: &origin,
            previous: pair[0].as_str(),
            retries: &retries.to_string(),
            code: "provider.unavailable",
            reason: is_dead.then_some("exhausted"),
        };
        check(&record, &hop, started);
        let partition = |record: &Record| record.coordinates.partition;
        assert_eq!(partition(&record), partition(&origin), "row 24");
    }
    only(world, &ladder.dlq, key).await
}

#[track_caller]
fn check_incidents(incidents: &[Value], climbed: &Record, declined: &Record) {
    let of = |at: &Coordinates| {
        let found = incidents.iter().find(|incident| {
            incident["dlq_partition"] == at.partition.get()
                && incident["dlq_offset"] == at.offset.get()
        });
        found.unwrap_or_else(|| panic!("no incident of {at} in {incidents:?}"))
    };
    let incident = of(&climbed.coordinates);
    assert_eq!(incident["error_class"], "transient");
    assert_eq!(incident["dlq_reason"], "exhausted");
    assert_eq!(incident["retry_count"], "3");
    assert_eq!(incident["key"], Value::Null);
    assert!(incident["key_base64"].is_string());
    let incident = of(&declined.coordinates);
    assert_eq!(incident["error_class"], "permanent");
    assert_eq!(incident["dlq_reason"], "declined");
    assert_eq!(
        incident["payload_bytes"],
        declined.value.as_ref().unwrap().len()
    );
}

/// Replays what is transient: first to see, then in earnest.
async fn replay(world: &World, climbed: &Record) {
    let dry = world
        .replay(&json!({"error_class": "transient", "dry_run": true}))
        .await;
    assert_eq!(
        (&dry["matched"], &dry["to_publish"], &dry["published"]),
        (&json!(1), &json!(1), &json!(0)),
        "{dry}"
    );
    assert_eq!(dry["sample"], json!([climbed.coordinates.to_string()]));
    let run = world.replay(&json!({"error_class": "transient"})).await;
    assert_eq!(
        (&run["matched"], &run["published"], &run["failed"]),
        (&json!(1), &json!(1), &json!(0)),
        "{run}"
    );
    assert_eq!(run["complete"], true);
}

/// Checks what replay wrote to the main topic.
async fn check_replayed(world: &World, key: &[u8], climbed: &Record) {
    let on_main = world.cluster.records_of(&world.ladder.main, key).await;
    let [origin, replayed] = on_main.as_slice() else {
        panic!("{} records", on_main.len())
    };
    assert_eq!(replayed.key, origin.key);
    assert_eq!(replayed.value, origin.value);
    let text = |name| replayed.headers.only_text(name);
    assert_eq!(text("retry.count"), Some("0"));
    assert_eq!(text("replay.count"), Some("1"));
    assert_eq!(
        text("replay.from-dlq"),
        Some(climbed.coordinates.to_string().as_str())
    );
    assert!(text("replay.id").is_some_and(|id| !id.is_empty()));
    assert!((told_ms(text("replay.timestamp").unwrap()) - now_ms()).abs() < 60_000);
    for name in [
        "original.topic",
        "original.partition",
        "original.offset",
        "original.timestamp",
        "traceparent",
    ] {
        assert_eq!(text(name), climbed.headers.only_text(name), "{name}");
    }
}

/// Rows 2, 8, 15, 18, 22, 30, 42 and 43 of docs/faults.md, and the whole of the contract's headers.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_lives_its_whole_life_on_an_embedded_broker() {
    live(Cluster::embedded()).await;
}

/// The same life where a real broker decides what it takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_lives_its_whole_life_on_apache_kafka() {
    if let Some(cluster) = Cluster::kafka().await {
        live(cluster).await;
    }
}
