//! Orders as shops send them, one of which is none, and the pipeline that takes them.

use local::function::FunctionSettings;
use serde_json::json;

use super::binaries;
use super::cluster::{Cluster, Seed};
use super::ladder::Ladder;
use super::world::World;

/// The order that no handler can read.
pub(crate) const POISON: &[u8] = b"this is no order";

/// At which offset it lies, among ten; the order at offset 6 has the same key.
pub(crate) const POISON_AT: i64 = 3;
pub(crate) const BEHIND_IT: i64 = 6;

/// Makes the topics of an orders pipeline, with one partition each so that all orders come in one batch.
///
/// A ladder without retry topics has the two of them: its main topic is that of the orders.
pub(crate) async fn world(cluster: Cluster, dlq: &[(&str, &str)]) -> World {
    let ladder = Ladder::with_delays(&[]);
    cluster.create(&ladder.main, 1, &[]).await;
    cluster.create(&ladder.dlq, 1, dlq).await;
    World::bare(cluster, ladder, "http://127.0.0.1:1").await
}

pub(crate) fn settings(world: &World, more: &[(&str, &str)]) -> FunctionSettings {
    let topics = [
        ("ORDERS_TOPIC", world.ladder.main.as_str()),
        ("ORDERS_DLQ_TOPIC", world.ladder.dlq.as_str()),
    ];
    let more = [&topics, more].concat();
    let settings = world.settings("orders", binaries::orders(), &more);
    settings.with_concurrency(std::num::NonZeroUsize::MIN)
}

pub(crate) fn order(nth: i64) -> Vec<u8> {
    let order = json!({"order_id": format!("o-{nth}"), "lines": [{"sku": "tea", "count": nth}]});
    order.to_string().into_bytes()
}

/// Returns the key and value of each of ten orders.
pub(crate) fn ten() -> Vec<(String, Vec<u8>)> {
    let orders = (0..10).map(|nth| {
        let key = if nth == BEHIND_IT { POISON_AT } else { nth };
        let value = if nth == POISON_AT {
            POISON.to_vec()
        } else {
            order(nth)
        };
        (format!("k-{key}"), value)
    });
    orders.collect()
}

pub(crate) async fn send(world: &World, orders: &[(String, Vec<u8>)]) {
    let seeds: Vec<Seed<'_>> = orders
        .iter()
        .map(|(key, value)| Seed {
            key: Some(key.as_bytes()),
            value: Some(value),
            headers: &[("traceparent", Some(b"00-ab")), ("retry.count", Some(b"7"))],
            ..Seed::default()
        })
        .collect();
    world.cluster.produce(&world.ladder.main, &seeds).await;
}
