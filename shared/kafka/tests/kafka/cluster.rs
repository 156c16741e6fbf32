//! A mock cluster of one broker, a clock that tests move, and what tests read back.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use kafka::{Brokers, Chunk, ChunkLimit, Connection, Read, Reader};
use lambda::{Clock, SystemClock};
use pipeline::{Headers, Outgoing, Record, Timestamp, Topic};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

pub(crate) struct Cluster {
    pub(crate) mock: MockCluster<'static, DefaultProducerContext>,
}

impl Cluster {
    /// Starts a broker that has these topics, each with so many partitions.
    pub(crate) fn with(topics: &[(&str, i32)]) -> Self {
        let mock = MockCluster::new(1).unwrap();
        for (topic, partitions) in topics {
            mock.create_topic(topic, *partitions, 1).unwrap();
        }
        Self { mock }
    }

    pub(crate) fn address(&self) -> String {
        self.mock.bootstrap_servers()
    }

    pub(crate) fn connection(&self) -> Connection {
        connection(&self.address())
    }

    /// Reads everything that a topic holds now, each partition's records in order.
    pub(crate) async fn records(&self, topic: &str) -> Vec<Record> {
        let mut reader = Reader::open(&self.connection(), &name(topic))
            .await
            .unwrap();
        let mut records = Vec::new();
        for read in rest(&mut reader).await.records {
            match read {
                Read::Record(record) => records.push(record),
                Read::Unreadable(unreadable) => panic!("{unreadable:?}"),
            }
        }
        records
    }
}

pub(crate) fn connection(brokers: &str) -> Connection {
    Connection::without_auth(brokers.parse::<Brokers>().unwrap())
}

pub(crate) fn name(topic: &str) -> Topic {
    topic.parse().unwrap()
}

pub(crate) const EVERYTHING: ChunkLimit = ChunkLimit {
    records: usize::MAX,
    bytes: usize::MAX,
};

/// Reads on to the end.
pub(crate) async fn rest(reader: &mut Reader) -> Chunk {
    let chunk = reader
        .next_chunk(EVERYTHING, std::future::pending())
        .await
        .unwrap();
    assert!(reader.is_at_end());
    chunk
}

pub(crate) fn outgoing(topic: &str, key: Option<&[u8]>, value: Option<&[u8]>) -> Outgoing {
    Outgoing {
        topic: name(topic),
        key: key.map(Bytes::copy_from_slice),
        value: value.map(Bytes::copy_from_slice),
        headers: Headers::default(),
    }
}

/// A clock that stands still until it is moved.
#[derive(Clone, Debug)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(SystemClock.now().millis())))
    }

    pub(crate) fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, _: Timestamp) {
        std::future::pending::<()>().await;
    }
}
