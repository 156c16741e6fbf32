//! Records at the limits of what the brokers take.

use std::time::Duration;

use pipeline::{Record, Topic};

use crate::harness::cluster::{Cluster, Seed};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::fresh_id;
use crate::harness::world::World;
use crate::harness::{binaries, is, until};

const PATIENCE: Duration = Duration::from_secs(90);

/// Our headers together, at most: row 1.
const MOST_HEADER_BYTES: usize = 4 * 1024;

/// A provider's error page: 300 KiB with secrets at its start and umlauts wherever it may be cut.
fn error_page() -> String {
    let secrets = "card 4111 1111 1111 1111 Authorization: Bearer abcdefghijklmnop012345 ";
    format!("{secrets}{}", "ü".repeat(150 * 1024))
}

/// Returns a payment of about so many bytes.
fn payment_of(id: &str, bytes: usize) -> Vec<u8> {
    let payment = serde_json::json!({
        "schema_version": 1, "payment_id": id, "order_id": "o", "amount": 1, "currency": "RUB",
        "padding": "x".repeat(bytes),
    });
    payment.to_string().into_bytes()
}

/// Makes a world on Apache Kafka whose topics take so many bytes a record: main, the retry topics, and the dead-letter topic.
async fn world(gateway: &Gateway, delays: &[&'static str], limits: [&str; 3]) -> Option<World> {
    let cluster = Cluster::kafka().await?;
    let ladder = Ladder::with_delays(delays);
    let [main, retry, dlq] = limits;
    let create = async |topic: &Topic, limit: &str| {
        let limit = [("max.message.bytes", limit)];
        cluster.create(topic, 1, &limit).await;
    };
    create(&ladder.main, main).await;
    for (topic, _) in &ladder.retries {
        create(topic, retry).await;
    }
    create(&ladder.dlq, dlq).await;
    Some(World::bare(cluster, ladder, &gateway.url()).await)
}

async fn refusing() -> Gateway {
    Gateway::start(|_| Ruling::Refuse(503, error_page())).await
}

async fn only(world: &World, topic: &Topic) -> Record {
    let mut records = world.cluster.records(topic).await;
    assert_eq!(records.len(), 1, "{topic}");
    records.remove(0)
}

/// Row 1: every hop is produced, and our headers do not grow. Row 19: what is told of the error is masked and short.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_of_900_kib_with_an_error_of_300_kib_climbs_the_whole_ladder() {
    let gateway = refusing().await;
    let limits = ["1048576", "1114112", "1114112"];
    let Some(world) = world(&gateway, &["1s", "1s", "1s"], limits).await else {
        return;
    };
    let id = fresh_id("large");
    let value = payment_of(&id, 900 * 1024);
    let seed = Seed {
        key: Some(id.as_bytes()),
        value: Some(&value),
        headers: &[("traceparent", Some(b"00-1"))],
        ..Seed::default()
    };
    world.cluster.produce(&world.ladder.main, &[seed]).await;
    let _stages = world.map_stages(&[]);
    let dead = async || is(&world.cluster.records(&world.ladder.dlq).await.len(), &1);
    until(PATIENCE, "it is in the DLQ", dead).await;
    for topic in &world.ladder.topics()[1..] {
        let record = only(&world, topic).await;
        assert_eq!(record.value.as_deref(), Some(value.as_slice()), "{topic}");
        let bytes: usize = record
            .headers
            .iter()
            .map(|header| header.name.len() + header.value.as_ref().map_or(0, bytes::Bytes::len))
            .sum();
        assert!(
            bytes <= MOST_HEADER_BYTES,
            "{topic}: {bytes} bytes of headers"
        );
        let message = record.headers.only_text("error.message").unwrap();
        assert!(message.len() <= 1_024, "{}", message.len());
        for secret in ["4111", "abcdefghijklmnop"] {
            assert!(!message.contains(secret), "{message}");
        }
    }
}

/// Row 48: the retry topic does not take it, the dead-letter topic does.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_too_large_for_its_retry_topic_is_dead_lettered_as_oversized() {
    let gateway = refusing().await;
    let limits = ["1048576", "100000", "1114112"];
    let Some(world) = world(&gateway, &["1s"], limits).await else {
        return;
    };
    let [large, small] = ["large", "small"].map(fresh_id);
    seed(&world, &large, 200 * 1024).await;
    seed(&world, &small, 10).await;
    let stages = world.map_stages(&[]);
    let dead = async || is(&world.cluster.records(&world.ladder.dlq).await.len(), &2);
    until(PATIENCE, "both are in the DLQ", dead).await;
    let dead = world
        .cluster
        .records_of(&world.ladder.dlq, large.as_bytes())
        .await;
    let text = |name| dead[0].headers.only_text(name);
    assert_eq!(text("dlq-reason"), Some("oversized"));
    assert_eq!(text("error.code"), Some("broker.rejected"));
    assert_eq!(text("error.class"), Some("permanent"));
    assert_eq!(text("retry.count"), Some("0"));
    let dead = world
        .cluster
        .records_of(&world.ladder.dlq, small.as_bytes())
        .await;
    assert_eq!(dead[0].headers.only_text("dlq-reason"), Some("exhausted"));
    let idle = stages[0].mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
}

/// Row 48: no topic takes it; it lies in the store whole, somebody is alerted, and the offset moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_too_large_for_every_topic_is_spilled_with_an_incident_and_an_alert() {
    let gateway = refusing().await;
    let limits = ["1048576", "100000", "100000"];
    let Some(world) = world(&gateway, &["1h"], limits).await else {
        return;
    };
    let [large, small] = ["large", "small"].map(fresh_id);
    seed(&world, &large, 200 * 1024).await;
    seed(&world, &small, 10).await;
    let payments = world.map(
        world.settings("payments", binaries::payments(), &[]),
        &world.ladder.main,
    );
    let idle = payments.mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
    assert_eq!(world.cluster.records(&world.ladder.dlq).await.len(), 0);
    let forwarded = only(&world, world.ladder.retry(0)).await;
    assert_eq!(forwarded.key.as_deref(), Some(small.as_bytes()));

    let spilled = world.store.objects("spill/").await;
    let [(key, spill)] = spilled.as_slice() else {
        panic!("{} spilled", spilled.len())
    };
    assert!(
        key.starts_with(&format!(
            "spill/{}-0-00000000000000000000-",
            world.ladder.main
        )),
        "{key}"
    );
    let value = spill.to_string();
    let whole = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        payment_of(&large, 200 * 1024),
    );
    assert!(value.contains(&whole), "the value is not whole");
    let incidents = world.store.incidents().await;
    let [incident] = incidents.as_slice() else {
        panic!("{incidents:?}")
    };
    assert_eq!(incident["spill"], key.as_str());
    assert_eq!(incident["error_code"], "broker.rejected");
    assert_eq!(incident.get("dlq_topic"), None);
    assert_eq!(world.lines.alerts("payments").len(), 1);
}

async fn seed(world: &World, id: &str, bytes: usize) {
    let seed = Seed {
        key: Some(id.as_bytes()),
        value: Some(&payment_of(id, bytes)),
        ..Seed::default()
    };
    world.cluster.produce(&world.ladder.main, &[seed]).await;
}
