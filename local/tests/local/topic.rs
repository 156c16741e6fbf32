//! A topic on an embedded broker, and records in it.

use std::time::Duration;

use local::broker::EmbeddedBroker;
use local::mapping::{Batching, MappingSettings, group_of};
use pipeline::Topic;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{OwnedHeaders, ToBytes};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

use crate::scripted::sandboxes;

/// A broker with one topic of its own.
pub(crate) struct OneTopic {
    pub(crate) broker: EmbeddedBroker,
    pub(crate) topic: Topic,
}

pub(crate) fn one_topic(partitions: i32) -> OneTopic {
    let broker = EmbeddedBroker::start(1).unwrap();
    let topic: Topic = "some.topic-3".parse().unwrap();
    broker.create_topics([&topic], partitions).unwrap();
    OneTopic { broker, topic }
}

impl OneTopic {
    /// Describes a mapping of the topic that sends batches of at most so many records, 100 ms after the first.
    pub(crate) fn mapping(&self, size: usize) -> MappingSettings {
        MappingSettings {
            batching: Batching {
                size: sandboxes(size),
                window: Duration::from_millis(100),
            },
            ..MappingSettings::new("scripted", self.topic.clone(), self.brokers())
        }
    }

    pub(crate) fn brokers(&self) -> &str {
        self.broker.bootstrap_servers()
    }

    /// Produces so many records with small values to a partition.
    pub(crate) async fn fill(&self, partition: i32, records: usize) {
        for number in 0..records {
            let value = number.to_string();
            let record = FutureRecord::<(), _>::to(self.topic.as_str()).payload(&value);
            produce(self.brokers(), record.partition(partition)).await;
        }
    }

    pub(crate) async fn produce(&self, value: &[u8], headers: OwnedHeaders) {
        let record = FutureRecord::<(), _>::to(self.topic.as_str())
            .payload(value)
            .headers(headers);
        produce(self.brokers(), record.partition(0)).await;
    }

    /// Returns the offset that the mapping's group has committed for a partition.
    pub(crate) fn committed(&self, partition: i32) -> Option<i64> {
        committed(self.brokers(), &self.topic, partition)
    }
}

pub(crate) fn committed(brokers: &str, topic: &Topic, partition: i32) -> Option<i64> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", brokers)
        .set("group.id", group_of("scripted", topic))
        .create()
        .unwrap();
    let mut list = TopicPartitionList::new();
    list.add_partition(topic.as_str(), partition);
    let committed = consumer
        .committed_offsets(list, Duration::from_secs(10))
        .unwrap();
    let Offset::Offset(offset) = committed.elements()[0].offset() else {
        return None;
    };
    Some(offset)
}

pub(crate) async fn produce(
    brokers: &str,
    record: FutureRecord<'_, impl ToBytes + ?Sized, impl ToBytes + ?Sized>,
) {
    thread_local! {
        static PRODUCERS: std::cell::RefCell<Vec<(String, FutureProducer)>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let producer = PRODUCERS.with_borrow_mut(|producers| {
        if let Some((_, producer)) = producers.iter().find(|(at, _)| at == brokers) {
            return producer.clone();
        }
        let producer: FutureProducer = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("message.max.bytes", "20000000")
            .set("linger.ms", "0")
            .create()
            .unwrap();
        producers.push((brokers.to_owned(), producer.clone()));
        producer
    });
    producer
        .send(record, Duration::from_secs(10))
        .await
        .map_err(|(error, _)| error)
        .unwrap();
}
