//! The brokers that a test runs on, and reading and writing there as producers and operators do.

use std::time::Duration;

use kafka::{Brokers, ChunkLimit, Connection, Read, Reader};
use local::broker::{Cluster as Mock, EmbeddedBroker};
use local::kafka_server::{Artefacts, KafkaServer, KafkaSettings};
use pipeline::{Coordinates, Offset, Partition, Record, Topic};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, TopicPartitionList};

use super::payment::payment;

/// Brokers that end with the test.
#[derive(Debug)]
pub(crate) struct Cluster {
    address: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Embedded(EmbeddedBroker),
    Kafka { _own: Option<Box<KafkaServer>> },
}

/// A record to be produced; the partition follows from the key unless it is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seed<'a> {
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) headers: &'a [(&'a str, Option<&'a [u8]>)],
    pub(crate) timestamp: Option<i64>,
    pub(crate) partition: Option<i32>,
}

impl Cluster {
    /// Starts an embedded broker.
    pub(crate) fn embedded() -> Self {
        let broker = EmbeddedBroker::start(1).unwrap();
        Self {
            address: broker.bootstrap_servers().to_owned(),
            kind: Kind::Embedded(broker),
        }
    }

    /// Takes the Apache Kafka that `KAFKA_TEST_BROKERS` names, else starts one.
    ///
    /// Returns `None` and says so when there is neither Java nor a broker; in CI that fails.
    pub(crate) async fn kafka() -> Option<Self> {
        if let Some(address) = std::env::var_os("KAFKA_TEST_BROKERS") {
            return Some(Self {
                address: address.into_string().unwrap(),
                kind: Kind::Kafka { _own: None },
            });
        }
        Self::own_kafka().await
    }

    /// Takes an Apache Kafka that someone else keeps running.
    pub(crate) const fn at(address: String) -> Self {
        Self {
            address,
            kind: Kind::Kafka { _own: None },
        }
    }

    /// Starts an Apache Kafka for this test alone, where topics may have the names that they have in production.
    ///
    /// Returns `None` and says so when there is no Java; in CI that fails.
    pub(crate) async fn own_kafka() -> Option<Self> {
        let started = async {
            let artefacts = Artefacts::provide(|what| eprintln!("{what}")).await?;
            KafkaServer::start(artefacts, KafkaSettings::default()).await
        };
        match started.await {
            Ok(server) => Some(Self {
                address: server.bootstrap_servers(),
                kind: Kind::Kafka {
                    _own: Some(Box::new(server)),
                },
            }),
            Err(error) => {
                super::not_run("Apache Kafka (Java, and once Maven)", &error);
                None
            }
        }
    }

    /// Returns `host:port,…` for clients.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::without_auth(self.address.parse::<Brokers>().unwrap())
    }

    /// Does something to the embedded broker.
    pub(crate) fn with<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Mock) -> T + Send + 'static,
    ) -> T {
        match &self.kind {
            Kind::Embedded(broker) => broker.with(run).unwrap(),
            Kind::Kafka { .. } => panic!("only the embedded broker can be told to"),
        }
    }

    /// Creates a topic; the broker's own settings hold unless others are given.
    pub(crate) async fn create(&self, topic: &Topic, partitions: i32, settings: &[(&str, &str)]) {
        match &self.kind {
            Kind::Embedded(broker) => {
                assert!(settings.is_empty(), "the embedded broker knows none");
                broker.create_topics([topic], partitions).unwrap();
            }
            Kind::Kafka { .. } => {
                let topic = NewTopic::new(topic.as_str(), partitions, TopicReplication::Fixed(1));
                let topic = settings
                    .iter()
                    .fold(topic, |topic, (name, value)| topic.set(name, value));
                let admin: AdminClient<DefaultClientContext> = self.client().create().unwrap();
                let limit = Some(Duration::from_secs(30));
                let options = AdminOptions::new().operation_timeout(limit);
                let made = admin.create_topics(&[topic], &options).await.unwrap();
                assert!(made.iter().all(Result::is_ok), "{made:?}");
            }
        }
    }

    /// Produces records to a topic, those of a partition in their order, and returns where they are.
    pub(crate) async fn produce(&self, topic: &Topic, seeds: &[Seed<'_>]) -> Vec<Coordinates> {
        let producer: FutureProducer = self
            .client()
            .set("partitioner", "murmur2_random")
            .set("message.max.bytes", "16777216")
            .create()
            .unwrap();
        let sent: Vec<_> = seeds
            .iter()
            .map(|seed| {
                producer
                    .send_result(seed.record(topic))
                    .map_err(|(e, _)| e)
                    .unwrap()
            })
            .collect();
        let mut places = Vec::new();
        for place in sent {
            let place = place.await.unwrap().map_err(|(error, _)| error).unwrap();
            places.push(Coordinates {
                topic: topic.clone(),
                partition: Partition::new(place.partition).unwrap(),
                offset: Offset::new(place.offset).unwrap(),
            });
        }
        places
    }

    /// Produces payments to a topic, each under its id as its key; the mode may depend on their number.
    pub(crate) async fn pay(
        &self,
        topic: &Topic,
        ids: &[String],
        mode: impl Fn(usize) -> &'static str,
    ) {
        self.pay_with(topic, ids, mode, &[]).await;
    }

    /// Produces payments with these headers.
    pub(crate) async fn pay_with(
        &self,
        topic: &Topic,
        ids: &[String],
        mode: impl Fn(usize) -> &'static str,
        headers: &[(&str, Option<&[u8]>)],
    ) {
        let values: Vec<Vec<u8>> = ids
            .iter()
            .enumerate()
            .map(|(nth, id)| payment(id, mode(nth)))
            .collect();
        let seeds: Vec<Seed<'_>> = ids
            .iter()
            .zip(&values)
            .map(|(id, value)| Seed {
                key: Some(id.as_bytes()),
                value: Some(value),
                headers,
                ..Seed::default()
            })
            .collect();
        self.produce(topic, &seeds).await;
    }

    /// Reads everything that a topic holds now, each partition's records in order.
    pub(crate) async fn records(&self, topic: &Topic) -> Vec<Record> {
        let mut reader = Reader::open(&self.connection(), topic).await.unwrap();
        let everything = ChunkLimit {
            records: usize::MAX,
            bytes: usize::MAX,
        };
        let chunk = reader
            .next_chunk(everything, std::future::pending())
            .await
            .unwrap();
        assert!(reader.is_at_end());
        let records = chunk.records.into_iter().map(|read| match read {
            Read::Record(record) => record,
            Read::Unreadable(unreadable) => panic!("{unreadable:?}"),
        });
        records.collect()
    }

    /// Returns the offset that a group has committed for each partition of a topic, if it has.
    pub(crate) async fn committed(
        &self,
        group: &str,
        topic: &Topic,
        partitions: i32,
    ) -> Vec<(i32, Option<i64>)> {
        let consumer: BaseConsumer = self.client().set("group.id", group).create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_range(topic.as_str(), 0, partitions - 1);
        let asked = tokio::task::spawn_blocking(move || {
            consumer.committed_offsets(list, Duration::from_secs(10))
        });
        let committed = asked.await.unwrap().unwrap();
        let elements = committed.elements();
        elements
            .iter()
            .map(|element| {
                (
                    element.partition(),
                    element.offset().to_raw().filter(|offset| *offset >= 0),
                )
            })
            .collect()
    }

    /// Reads the records of a topic that have this key.
    pub(crate) async fn records_of(&self, topic: &Topic, key: &[u8]) -> Vec<Record> {
        let mut records = self.records(topic).await;
        records.retain(|record| record.key.as_deref() == Some(key));
        records
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.address);
        config
    }
}

impl<'a> Seed<'a> {
    fn record(&self, topic: &'a Topic) -> FutureRecord<'a, [u8], [u8]> {
        let headers = self
            .headers
            .iter()
            .fold(OwnedHeaders::new(), |headers, (key, value)| {
                headers.insert(Header { key, value: *value })
            });
        FutureRecord {
            topic: topic.as_str(),
            partition: self.partition,
            payload: self.value,
            key: self.key,
            timestamp: self.timestamp,
            headers: Some(headers),
        }
    }
}
