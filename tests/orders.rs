//! The orders pipeline: failures are counted, the third is a dead letter, and everything else goes on.

use std::sync::Arc;
use std::time::Duration;

use local::function::Function;
use local::mapping::{Answers, Portion, Progress, Redelivery};
use pipeline::{Record, Topic};
use serde_json::{Value, json};

use crate::harness::binaries;
use crate::harness::cluster::{Cluster, Seed};
use crate::harness::emulator::Emulator;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::ladder::Ladder;
use crate::harness::orders::{BEHIND_IT, POISON, POISON_AT, order, send, settings, ten, world};
use crate::harness::world::{Mapped, World, answered};
use crate::harness::{is, now_ms, until};

/// How long anything may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// Returns the offset from which the orders' group would go on.
async fn committed(world: &World) -> Option<i64> {
    let topic = &world.ladder.main;
    let group = format!("orders.{topic}");
    world.cluster.committed(&group, topic, 1).await[0].1
}

async fn when_idle(mapped: &Mapped) {
    let idle = mapped.mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
}

/// Returns the lines of a function's log that have this message or decision.
fn logged(world: &World, field: &str, text: &str) -> Vec<Value> {
    let mut logs = world.lines.logs("orders");
    logs.retain(|line| line[field] == text);
    logs
}

/// Adds up a field of the summaries of all invocations.
fn summed(world: &World, field: &str) -> u64 {
    let batches = logged(world, "message", "batch");
    batches
        .iter()
        .map(|line| line[field].as_u64().unwrap())
        .sum()
}

/// Returns how often an offset was delivered.
fn deliveries(mapped: &Mapped, offset: i64) -> usize {
    let mut deliveries = 0;
    for report in mapped.reports.all() {
        if let Progress::Delivered { parts, .. } = report.progress {
            let holds = |part: &&Portion| (part.first.get()..=part.last.get()).contains(&offset);
            deliveries += parts.iter().filter(holds).count();
        }
    }
    deliveries
}

/// Checks the dead letter of the poison.
fn check_dead_letter(dead: &Record, topic: &Topic, sent: i64) {
    assert_eq!(dead.value.as_deref(), Some(POISON));
    assert_eq!(
        dead.key.as_deref(),
        Some(format!("k-{POISON_AT}").as_bytes())
    );
    let headers: Vec<(&str, &str)> = dead
        .headers
        .iter()
        .map(|header| {
            let value = header.value.as_deref().unwrap();
            (header.name.as_str(), std::str::from_utf8(value).unwrap())
        })
        .collect();
    let text = |name| dead.headers.only_text(name).unwrap();
    let offset = POISON_AT.to_string();
    assert_eq!(
        headers,
        [
            ("traceparent", "00-ab"),
            ("error.class", "permanent"),
            ("error.code", "payload.malformed"),
            ("error.message", "the value is not a JSON object"),
            ("error.timestamp", text("error.timestamp")),
            ("retry.count", "0"),
            ("previous.topic", topic.as_str()),
            ("original.topic", topic.as_str()),
            ("original.partition", "0"),
            ("original.offset", &offset),
            ("original.timestamp", text("original.timestamp")),
            ("dlq-reason", "json"),
        ]
    );
    let original: i64 = text("original.timestamp").parse().unwrap();
    assert!((sent - 5_000..=now_ms()).contains(&original), "{original}");
    let time = dead.timestamp.millis();
    assert!((sent - 5_000..=now_ms() + 5_000).contains(&time), "{time}");
}

/// Runs ten orders, one of which is poison, to the end of all.
async fn check_one_poison_among_ten(cluster: Cluster) {
    let world = world(cluster, &[]).await;
    let sent = now_ms();
    send(&world, &ten()).await;
    let orders = world.map(settings(&world, &[]), &world.ladder.main);
    let dlq = world.map_dlq();
    let moved = async || is(&committed(&world).await, &Some(10));
    until(PATIENCE, "the offset moves past the poison", moved).await;
    when_idle(&orders).await;
    when_idle(&dlq).await;

    let dead = world.cluster.records(&world.ladder.dlq).await;
    assert_eq!(dead.len(), 1);
    check_dead_letter(&dead[0], &world.ladder.main, sent);
    assert_eq!(deliveries(&orders, POISON_AT), 3);
    assert_eq!(summed(&world, "handled"), 9, "each of the others once");
    assert_eq!(summed(&world, "dead_lettered"), 1);
    let failed = logged(&world, "reason", "failed");
    let told: Vec<_> = failed
        .iter()
        .map(|line| {
            (
                line["failures"].as_u64().unwrap(),
                line["kafka.offset"].as_i64().unwrap(),
                line["level"].as_str().unwrap(),
                line["error.code"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = |failures| (failures, POISON_AT, "WARN", "payload.malformed");
    assert_eq!(told, [expected(1), expected(2)], "each told once");
    assert!(
        logged(&world, "level", "ERROR").is_empty(),
        "nobody has to act on it"
    );

    let incidents = world.store.incidents().await;
    assert_eq!(incidents.len(), 1);
    let incident = &incidents[0];
    let (main, dead) = (world.ladder.main.as_str(), world.ladder.dlq.as_str());
    for (field, value) in [
        ("dlq_topic", json!(dead)),
        ("dlq_offset", json!(0)),
        ("key", json!("k-3")),
        ("original_topic", json!(main)),
        ("original_offset", json!("3")),
        ("previous_topic", json!(main)),
        ("retry_count", json!("0")),
        ("error_class", json!("permanent")),
        ("error_code", json!("payload.malformed")),
        ("dlq_reason", json!("json")),
        ("payload_bytes", json!(POISON.len())),
    ] {
        assert_eq!(incident[field], value, "{field}");
    }
    assert_eq!(world.lines.alerts("dlq").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_poison_among_ten_orders_is_dead_lettered_at_its_third_failure() {
    check_one_poison_among_ten(Cluster::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_poison_among_ten_orders_is_dead_lettered_at_its_third_failure_on_kafka() {
    if let Some(cluster) = Cluster::kafka().await {
        check_one_poison_among_ten(cluster).await;
    }
}

/// A mapping that ignores the answer: the function fails instead, the whole batch comes again, and nothing is done twice.
#[tokio::test(flavor = "multi_thread")]
async fn with_raise_the_whole_batch_comes_again_and_each_order_is_handled_once() {
    let world = world(Cluster::embedded(), &[]).await;
    send(&world, &ten()).await;
    let settings = settings(&world, &[("BATCH_FAILURES", "raise")]);
    let orders = world.map_with(settings, &world.ladder.main, Answers::Ignored);
    when_idle(&orders).await;
    assert_eq!(committed(&world).await, Some(10));
    assert_eq!(deliveries(&orders, POISON_AT), 3);
    assert_eq!(summed(&world, "handled"), 9);
    assert_eq!(world.cluster.records(&world.ladder.dlq).await.len(), 1);
}

/// Row 48: the dead-letter topic has no leader. The offset stays, nothing is lost, and when it is back there is one dead letter.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_dead_letter_topic_has_no_leader_the_offset_stays() {
    let world = world(Cluster::embedded(), &[]).await;
    let leader = |leader: Option<i32>| {
        let dlq = world.ladder.dlq.to_string();
        let set = move |mock: &local::broker::Cluster| mock.partition_leader(&dlq, 0, leader);
        world.cluster.with(set).unwrap();
    };
    leader(None);
    send(&world, &ten()).await;
    let answers = Answers::Reported(Redelivery::Resume);
    let orders = world.map_with(settings(&world, &[]), &world.ladder.main, answers);
    let faults = async || match logged(&world, "reason", "fault").len() {
        0..2 => Err("too few faults".to_owned()),
        _ => Ok(()),
    };
    until(PATIENCE, "it is tried and fails again", faults).await;
    assert_eq!(committed(&world).await, Some(POISON_AT));
    let failed = logged(&world, "reason", "failed");
    assert_eq!(failed.len(), 2, "the count does not grow past: {failed:#?}");
    let held = summed(&world, "held_ms");
    assert!(held >= 900, "redelivery does not spin: {held} ms");

    leader(Some(1));
    when_idle(&orders).await;
    assert_eq!(committed(&world).await, Some(10));
    assert_eq!(world.cluster.records(&world.ladder.dlq).await.len(), 1);
    assert_eq!(summed(&world, "handled"), 9);
    assert_eq!(logged(&world, "reason", "failed").len(), 2);
}

/// Row 48: a dead letter that is too large for its topic lies in the store, whole, and the offset moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_order_too_large_for_its_topic_is_spilled_on_kafka() {
    let Some(cluster) = Cluster::kafka().await else {
        return;
    };
    let world = world(cluster, &[("max.message.bytes", "4000")]).await;
    let large = ("k".to_owned(), vec![b'x'; 8_000]);
    send(&world, &[large, ("k".to_owned(), order(1))]).await;
    let orders = world.map(settings(&world, &[]), &world.ladder.main);
    when_idle(&orders).await;
    assert_eq!(committed(&world).await, Some(2));
    assert!(world.cluster.records(&world.ladder.dlq).await.is_empty());
    assert_eq!(world.store.keys("spill/").await.len(), 1);
    assert_eq!(world.store.incidents().await.len(), 1);
    assert_eq!(world.lines.alerts("orders").len(), 1);
    assert_eq!(summed(&world, "handled"), 1);
}

/// Row 41: an order that ends its process, beside one that only fails.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_aborts_its_process_every_time_is_dead_lettered_as_crashed() {
    let world = world(Cluster::embedded(), &[]).await;
    let mut orders = ten();
    orders[7].1 = br#"{"metadata":{"mode":"abort"}}"#.to_vec();
    send(&world, &orders).await;
    let mut settings = settings(&world, &[]);
    settings.program = binaries::poisoned_orders().into();
    let mapped = world.map(settings, &world.ladder.main);
    let moved = async || is(&committed(&world).await, &Some(10));
    until(PATIENCE, "the offset moves past both", moved).await;
    let dead = world.cluster.records(&world.ladder.dlq).await;
    let mut told: Vec<_> = dead
        .iter()
        .map(|dead| ["original.offset", "dlq-reason"].map(|name| dead.headers.text(name).unwrap()))
        .collect();
    told.sort_unstable();
    assert_eq!(told, [["3", "json"], ["7", "crashed"]]);
    let invocations = mapped.invocations();
    assert!(invocations <= 10, "{invocations}");
}

/// The template's own pipeline, as its users run it.
#[tokio::test(flavor = "multi_thread")]
async fn the_template_runs_the_orders_pipeline_when_it_is_asked_to() {
    let ladder = Ladder::with_delays(&["30s", "5m", "1h"]);
    let world = World::new(Cluster::embedded(), ladder, "http://127.0.0.1:1").await;
    let main = format!("{}.orders", world.ladder.main);
    let [orders, dead]: [Topic; 2] =
        [&main, &format!("{main}.dlq")].map(|name| name.parse().unwrap());
    world.cluster.create(&orders, 1, &[]).await;
    world.cluster.create(&dead, 1, &[]).await;
    let seeds: Vec<Vec<u8>> = ten().into_iter().map(|(_, value)| value).collect();
    let seeds: Vec<Seed<'_>> = seeds
        .iter()
        .map(|value| Seed {
            value: Some(value),
            ..Seed::default()
        })
        .collect();
    world.cluster.produce(&orders, &seeds).await;
    let topics = [
        format!("OrdersTopic={orders}"),
        format!("OrdersDlqTopic={dead}"),
    ];
    let mut more = vec!["--until-idle", "3s", "--parameter", "WithOrders=true"];
    more.extend(topics.iter().flat_map(|topic| ["--parameter", topic]));
    let ended = Emulator::start(&world, &more).ended(PATIENCE * 2).await;
    let ended = ended.well();
    let group = format!("orders.{orders}");
    let committed = world.cluster.committed(&group, &orders, 1).await;
    assert_eq!(committed, [(0, Some(10))], "{}", ended.notes);
    let dead = world.cluster.records(&dead).await;
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].headers.text("original.offset"), Some("3"));
    let incidents = world.store.incidents().await;
    assert_eq!(incidents.len(), 1);
    assert_eq!(incidents[0]["previous_topic"], json!(main));
}

/// One function of one sandbox that is invoked by hand.
fn by_hand(world: &World) -> Arc<Function> {
    world.function(settings(world, &[]))
}

async fn invoked(function: &Function, records: &[Sent]) -> Vec<String> {
    use local::invoke::Invoke;
    handed_back(&answered(function.invoke(event(records)).await))
}

/// Row 75: the first invocation hands back the poison and what is behind it, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn beside_a_poison_orders_of_other_keys_go_on_at_once() {
    let world = world(Cluster::embedded(), &[]).await;
    let function = by_hand(&world);
    let records: Vec<Sent> = (0..)
        .zip(ten())
        .map(|(offset, (key, value))| Sent::new(&world.ladder.main, offset, &key, value))
        .collect();
    let poison_and_behind = [POISON_AT, BEHIND_IT].map(|offset| format!("0/{offset}"));
    for _ in 0..2 {
        assert_eq!(invoked(&function, &records).await, poison_and_behind);
        assert_eq!(summed(&world, "handled"), 8);
    }
    assert!(invoked(&function, &records).await.is_empty());
    assert_eq!(summed(&world, "handled"), 9);
    assert_eq!(summed(&world, "held_ms"), 0, "a failure holds no answer");
}

/// What no try can change, or cannot be counted, is dead-lettered in its first invocation; another topic's records stay.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_version_goes_at_once_and_a_tombstone_counts_and_a_strangers_order_stays() {
    let world = world(Cluster::embedded(), &[]).await;
    let function = by_hand(&world);
    let main = &world.ladder.main;
    let version = br#"{"schema_version":2}"#.to_vec();
    let tombstone = Sent {
        value: None,
        ..Sent::new(main, 1, "b", Vec::new())
    };
    let stranger: Topic = format!("{main}.other").parse().unwrap();
    let records = [
        Sent::new(main, 0, "a", version),
        tombstone,
        Sent::new(&stranger, 5, "c", POISON.to_vec()),
    ];
    let mut expected = [vec!["0/1", "0/5"], vec!["0/1", "0/5"], vec!["0/5"]].into_iter();
    for expected in expected.by_ref() {
        assert_eq!(invoked(&function, &records).await, expected);
    }
    let dead = world.cluster.records(&world.ladder.dlq).await;
    let reasons: Vec<_> = dead
        .iter()
        .map(|dead| (dead.headers.text("dlq-reason").unwrap(), &dead.value))
        .collect();
    assert_eq!(
        reasons,
        [
            ("schema-version", &records[0].value.clone().map(Into::into)),
            ("validation", &None)
        ]
    );
    let told = logged(&world, "level", "ERROR");
    assert!(
        told.iter().all(|line| {
            let message = line["message"].as_str().unwrap();
            message.contains("no stage") && message.contains(stranger.as_str())
        }),
        "{told:#?}"
    );
    assert_eq!(told.len(), 3);
}
