//! Trace context: what a producer wrote into its headers is there after every retry, in the dead letter, and after a replay.

use local::invoke::Invoke;
use pipeline::{Record, Topic};
use serde_json::json;

use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_id, payment};
use crate::harness::world::{World, answered};

/// W3C trace context and baggage, B3's one header, and AWS X-Ray's.
const TRACE: [(&str, &str); 5] = [
    (
        "traceparent",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
    ("tracestate", "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"),
    ("baggage", "user=%C3%A4;p=1"),
    (
        "b3",
        "80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1-05e3ac9a4f6e3b90",
    ),
    (
        "X-Amzn-Trace-Id",
        "Root=1-5759e988-bd862e3fe1be46a994272793",
    ),
];

/// Returns the one record of a topic, whose first headers must be those of the trace, byte for byte.
async fn traced(world: &World, topic: &Topic) -> Record {
    let records = world.cluster.records(topic).await;
    let [record] = records.as_slice() else {
        panic!("{topic}: {records:?}")
    };
    let first = record.headers.iter().take(TRACE.len());
    let first: Vec<(&str, &[u8])> = first
        .map(|header| (header.name.as_str(), header.value.as_deref().unwrap()))
        .collect();
    let sent = TRACE.map(|(name, value)| (name, value.as_bytes()));
    assert_eq!(first, sent, "{topic}");
    record.clone()
}

/// Writes a record of a topic into an event as the mapping would.
fn delivered(record: &Record) -> Sent {
    let at = &record.coordinates;
    let headers = record.headers.iter().map(|header| {
        let value = header.value.as_deref().unwrap_or_default();
        (header.name.clone(), value.to_vec())
    });
    Sent {
        topic: at.topic.clone(),
        partition: at.partition.get(),
        offset: at.offset.get(),
        timestamp: record.timestamp.millis(),
        key: record.key.as_deref().map(<[u8]>::to_vec),
        value: record.value.as_deref().map(<[u8]>::to_vec),
        headers: headers.collect(),
    }
}

async fn trace_context_is_carried_on(cluster: Cluster) {
    let gateway = Gateway::start(|_| Ruling::Refuse(503, "down".to_owned())).await;
    let ladder = Ladder::with_delays(&["1s"]);
    let world = World::new(cluster, ladder, &gateway.url()).await;
    let payments = world.payments(&[]);
    let run = async |sent: Sent| {
        let answer = answered(payments.invoke(event(&[sent])).await);
        assert_eq!(handed_back(&answer), Vec::<String>::new());
    };
    let id = fresh_id("traced");
    let headers = TRACE.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    run(Sent {
        headers: headers.to_vec(),
        ..Sent::new(&world.ladder.main, 0, &id, payment(&id, "ok"))
    })
    .await;
    let retried = traced(&world, world.ladder.retry(0)).await;
    run(delivered(&retried)).await;
    traced(&world, &world.ladder.dlq).await;
    let replayed = world.replay(&json!({"all": true})).await;
    assert_eq!(replayed["published"], 1, "{replayed}");
    traced(&world, &world.ladder.main).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trace_context_passes_through_retries_dead_letter_and_replay_on_embedded_services() {
    trace_context_is_carried_on(Cluster::embedded()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trace_context_passes_through_retries_dead_letter_and_replay_on_apache_kafka() {
    if let Some(cluster) = Cluster::kafka().await {
        trace_context_is_carried_on(cluster).await;
    }
}
