//! The Apache Kafka that the rows run on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use lambda::{Clock, SystemClock};
use local::kafka_server::{Artefacts, KafkaServer, KafkaSettings};
use pipeline::Topic;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use crate::row::Made;

const LIMIT: Duration = Duration::from_secs(20);

/// For each partition, an offset.
pub(crate) type Offsets = BTreeMap<i32, i64>;

/// A broker, and what talks to it for the tests.
pub(crate) struct Broker {
    pub(crate) address: String,
    admin: AdminClient<DefaultClientContext>,
    producer: FutureProducer,
    _own: Option<KafkaServer>,
}

impl Broker {
    /// Takes the broker that `KAFKA_TEST_BROKERS` names, else starts one; `None` where neither can be had, which is an error in CI.
    #[expect(
        clippy::disallowed_methods,
        reason = "tests ask their environment where Kafka is and whether they run in CI"
    )]
    pub(crate) async fn find() -> Option<Self> {
        if let Ok(address) = std::env::var("KAFKA_TEST_BROKERS") {
            return Some(Self::at(address, None));
        }
        let started = async {
            let artefacts = Artefacts::provide(|line| println!("{line}")).await?;
            KafkaServer::start(artefacts, KafkaSettings::default()).await
        };
        match started.await {
            Ok(server) => Some(Self::at(server.bootstrap_servers(), Some(server))),
            Err(error) => {
                assert!(
                    std::env::var("CI").is_err(),
                    "CI tests with Kafka: {error:#}"
                );
                println!("not run: {error:#}");
                None
            }
        }
    }

    fn at(address: String, own: Option<KafkaServer>) -> Self {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &address)
            .set("message.max.bytes", "20000000")
            // A record that is sent again must not come behind the next one.
            .set("enable.idempotence", "true")
            .set("linger.ms", "0");
        Self {
            admin: config.create().unwrap(),
            producer: config.create().unwrap(),
            address,
            _own: own,
        }
    }

    /// Creates a topic of its own for a test.
    pub(crate) async fn topic(&self, partitions: i32) -> Topic {
        let topic: Topic = format!("conformance.{}", uuid::Uuid::new_v4())
            .parse()
            .unwrap();
        assert!(self.create(&topic, partitions).await);
        topic
    }

    async fn create(&self, topic: &Topic, partitions: i32) -> bool {
        let plan = NewTopic::new(topic.as_str(), partitions, TopicReplication::Fixed(1))
            .set("max.message.bytes", "20000000");
        let created = self.admin.create_topics([&plan], &AdminOptions::new());
        created.await.unwrap().remove(0).is_ok()
    }

    /// Deletes a topic, creates it again at once with one partition, and produces records as `produce` does.
    pub(crate) async fn recreate(&self, topic: &Topic, records: &[Made]) -> Offsets {
        self.delete(topic).await;
        while !self.create(topic, 1).await {}
        // A producer of the old topic would go on with its sequence.
        Self::at(self.address.clone(), None)
            .produce(topic, records)
            .await
    }

    pub(crate) async fn delete(&self, topic: &Topic) {
        let deleted = self
            .admin
            .delete_topics(&[topic.as_str()], &AdminOptions::new());
        deleted.await.unwrap();
    }

    /// Deletes the records of the first partition that lie before an offset.
    pub(crate) async fn cut(&self, topic: &Topic, before: i64) {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic.as_str(), 0, Offset::Offset(before))
            .unwrap();
        let cut = self.admin.delete_records(&list, &AdminOptions::new());
        cut.await.unwrap();
    }

    /// Produces records in order and returns the end of each partition that has got some.
    pub(crate) async fn produce(&self, topic: &Topic, records: &[Made]) -> Offsets {
        let now = SystemClock.now().millis();
        let mut ends = Offsets::new();
        // All at once, so that they come together; the producer keeps their order.
        let each = records.iter();
        let each = each.flat_map(|made| std::iter::repeat_n(made, made.records));
        let sent = each.map(async |made| {
            let payload = vec![b'x'; made.bytes];
            let record = FutureRecord::<(), _>::to(topic.as_str())
                .partition(made.partition)
                .timestamp(now - made.age * 1_000)
                .payload(&payload);
            let sent = self.producer.send(record, LIMIT).await;
            (made.partition, sent.unwrap().offset)
        });
        for (partition, offset) in join_all(sent).await {
            ends.insert(partition, offset + 1);
        }
        ends
    }

    fn consumer(&self, group: &str) -> BaseConsumer {
        ClientConfig::new()
            .set("bootstrap.servers", &self.address)
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .create()
            .unwrap()
    }

    /// Returns what a group has committed; blocks.
    pub(crate) fn committed(&self, group: &str, topic: &Topic, partitions: i32) -> Offsets {
        let mut list = TopicPartitionList::new();
        list.add_partition_range(topic.as_str(), 0, partitions - 1);
        let found = self.consumer(group).committed_offsets(list, LIMIT).unwrap();
        let offsets = found.elements();
        let offsets = offsets.iter().filter_map(|element| match element.offset() {
            Offset::Offset(offset) => Some((element.partition(), offset)),
            Offset::Beginning
            | Offset::End
            | Offset::Stored
            | Offset::Invalid
            | Offset::OffsetTail(_) => None,
        });
        offsets.collect()
    }

    /// Commits offsets for a group that nobody is in; blocks.
    pub(crate) fn commit(&self, group: &str, topic: &Topic, offsets: &Offsets) {
        let mut list = TopicPartitionList::new();
        for (partition, offset) in offsets {
            list.add_partition_offset(topic.as_str(), *partition, Offset::Offset(*offset))
                .unwrap();
        }
        self.consumer(group)
            .commit(&list, CommitMode::Sync)
            .unwrap();
    }
}
