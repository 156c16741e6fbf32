//! Partitions whose last offsets hold no record to read, and whose first ones are gone.

use std::time::Duration;

use local::mapping::Progress;
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use crate::broker::{Broker, Offsets};
use crate::row::made;
use crate::running::{Running, settings};
use crate::scripted::scripted;

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_ends_with_a_transaction_that_was_aborted_is_idle_once_it_is_read() {
    let Some(broker) = Broker::find().await else {
        return;
    };
    let topic = broker.topic(1).await;
    let ends = broker.produce(&topic, &[made(0, 3)]).await;
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", &broker.address)
        .set("transactional.id", topic.as_str())
        .create()
        .unwrap();
    producer.init_transactions(LIMIT).unwrap();
    producer.begin_transaction().unwrap();
    let record = FutureRecord::<(), _>::to(topic.as_str())
        .partition(0)
        .payload("never");
    producer.send(record, LIMIT).await.unwrap();
    producer.abort_transaction(LIMIT).unwrap();
    let scripted = scripted(&["answer {}"]);
    let settings = settings(&broker, &topic, 10);
    let group = settings.group.clone();
    // The second begins behind the last record.
    for _ in 0..2 {
        let mut running = Running::start(settings.clone(), &scripted.function);
        running.until_it_reads(1).await;
        running.drain().await;
        assert_eq!(scripted.deliveries(), [[(0, vec![0, 1, 2])]]);
        assert_eq!(broker.committed(&group, &topic, 1), ends);
    }
    broker.delete(&topic).await;
}

/// Checks that a group which has committed that much of ten records, of which the first six are gone, goes on at the seventh.
async fn check(committed: i64) {
    let Some(broker) = Broker::find().await else {
        return;
    };
    let topic = broker.topic(1).await;
    let ends = broker.produce(&topic, &[made(0, 10)]).await;
    let settings = settings(&broker, &topic, 10);
    let group = settings.group.clone();
    broker.commit(&group, &topic, &Offsets::from([(0, committed)]));
    broker.cut(&topic, 6).await;
    let scripted = scripted(&["answer {}"]);
    let mut running = Running::start(settings, &scripted.function);
    let gone = running
        .until(|step| matches!(step, Progress::Gone { .. }))
        .await;
    let Progress::Gone {
        committed: told,
        oldest,
        ..
    } = gone
    else {
        unreachable!()
    };
    assert_eq!((told.get(), oldest.get()), (committed, 6));
    running.drain().await;
    assert_eq!(scripted.deliveries(), [[(0, vec![6, 7, 8, 9])]]);
    assert_eq!(broker.committed(&group, &topic, 1), ends);
    broker.delete(&topic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_offset_is_gone_says_so_and_goes_on_at_the_oldest_record() {
    // Before the first record that is left, and behind the last.
    check(2).await;
    check(30).await;
}
