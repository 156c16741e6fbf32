//! Records as a producer of the pipeline would write them.

use anyhow::Context;
use bytes::Bytes;
use futures_util::future::try_join_all;
use kafka::{Connection, Producer};
use lambda::Broker;
use pipeline::{Coordinates, Headers, Outgoing, Topic};

/// Produces records, each a key and a value, and returns where they are; those of one partition lie there in this order.
pub(super) async fn produce<'a>(
    connection: Connection,
    topic: &Topic,
    records: impl IntoIterator<Item = (&'a str, Bytes)>,
) -> anyhow::Result<Vec<Coordinates>> {
    let producer = Producer::new(connection);
    let on_their_way = records.into_iter().map(|(key, value)| {
        let outgoing = Outgoing {
            topic: topic.clone(),
            key: Some(key.to_owned().into()),
            value: Some(value),
            headers: Headers::default(),
        };
        let producer = &producer;
        async move { producer.produce(&outgoing).await }
    });
    try_join_all(on_their_way)
        .await
        .with_context(|| format!("the records for {topic} cannot be produced"))
}
