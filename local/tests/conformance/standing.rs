//! Where a mapping says that it stands.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use local::invoke::{Fault, Invoke, Outcome};
use local::mapping::MostDelivered;
use pipeline::{Offset, Partition};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::broker::Broker;
use crate::row::made;
use crate::running::{Running, settings};

/// A function that ends each invocation as it is told, once it is told.
struct Told(Mutex<UnboundedReceiver<Outcome>>);

impl Invoke for Told {
    async fn invoke(&self, _: Bytes) -> Outcome {
        self.0.lock().await.recv().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapping_tells_what_is_left_what_runs_what_waits_and_which_record_comes_again_and_again()
{
    let Some(broker) = Broker::find().await else {
        return;
    };
    let topic = broker.topic(2).await;
    broker.produce(&topic, &[made(1, 7)]).await;
    let (tell, told) = unbounded_channel();
    let function = Arc::new(Told(Mutex::new(told)));
    let began = Instant::now();
    let running = Running::start(settings(&broker, &topic, 3), &function);
    let head = |offset, deliveries| {
        Some(MostDelivered {
            partition: Partition::new(1).unwrap(),
            offset: Offset::new(offset).unwrap(),
            deliveries,
        })
    };

    let standing = running
        .until_it_stands(|now| now.in_flight.is_some() && now.lag == Some(7))
        .await;
    let numbers: Vec<i32> = standing.partitions.iter().map(|at| at.get()).collect();
    assert_eq!(numbers, [0, 1]);
    let in_flight = standing.in_flight.unwrap();
    assert_eq!((in_flight.invocations, in_flight.records), (1, 3));
    assert!(in_flight.since > began && in_flight.since < Instant::now());
    assert_eq!(standing.most_delivered, head(0, 1));
    assert_eq!((standing.handed_back, standing.idle), (None, false));

    let crash = || Outcome::Failed(Fault::Crashed("signal 9".to_owned()));
    for delivery in 2..=5 {
        tell.send(crash()).unwrap();
        let wanted = head(0, delivery);
        let again = |now: &local::mapping::Standing| {
            now.in_flight.is_some() && now.most_delivered == wanted
        };
        running.until_it_stands(again).await;
    }
    // The lag grows although nothing more is read of a partition that does not move.
    broker.produce(&topic, &[made(1, 50)]).await;
    running.until_it_stands(|now| now.lag == Some(57)).await;
    tell.send(crash()).unwrap();
    let standing = running
        .until_it_stands(|now| now.handed_back.is_some())
        .await;
    let handed_back = standing.handed_back.unwrap();
    assert_eq!(handed_back.records, 3);
    let wait = handed_back.until.saturating_duration_since(Instant::now());
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    assert_eq!((standing.in_flight, standing.idle), (None, false));

    // At most one record a batch.
    for _ in 0..57 {
        tell.send(Outcome::Answered(Bytes::from_static(b"{}")))
            .unwrap();
    }
    let standing = running
        .until_it_stands(|now| now.lag == Some(0) && now.idle)
        .await;
    let nothing = (
        standing.in_flight,
        standing.handed_back,
        standing.most_delivered,
    );
    assert_eq!(nothing, (None, None, None));
    running.drain().await;
    broker.delete(&topic).await;
}
