//! A broker, a bucket, dead letters, and command lines run against them.

use std::io::{Cursor, Write};
use std::time::Duration;

use aws::{Bucket, Keys, Sdk};
use bytes::Bytes;
use kafka::{Brokers, ChunkLimit, Connection, Producer, Read, Reader};
use lambda::{Broker, Objects};
use local::broker::EmbeddedBroker;
use local::cli::{self, Person, Printer, Shell};
use local::s3::{ACCESS_KEY, S3Server, SECRET_KEY};
use pipeline::{Coordinates, Headers, Incident, Masker, Outgoing, Record, Timestamp, Topic};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) const BUCKET: &str = "brew-incidents";
pub(crate) const MAIN: &str = "brew.payments.v1";
pub(crate) const DLQ: &str = "brew.payments.dlq";
pub(crate) const LADDER: [&str; 5] = [
    MAIN,
    "brew.payments.retry.30s",
    "brew.payments.retry.5m",
    "brew.payments.retry.1h",
    DLQ,
];

/// Nothing listens there.
pub(crate) const AWAY: &str = "127.0.0.1:1";

pub(crate) struct Bench {
    pub(crate) brokers: String,
    pub(crate) store: S3Server,
    pub(crate) embedded: Option<EmbeddedBroker>,
}

/// What a command line did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: u8,
    pub(crate) out: String,
    pub(crate) notes: String,
}

impl Bench {
    /// Starts both, with these topics of two partitions each.
    pub(crate) async fn with(topics: &[&str]) -> Self {
        let broker = EmbeddedBroker::start(1).unwrap();
        let topics: Vec<Topic> = topics.iter().map(|name| topic(name)).collect();
        broker.create_topics(&topics, 2).unwrap();
        Self {
            brokers: broker.bootstrap_servers().to_owned(),
            store: S3Server::start(BUCKET).await.unwrap(),
            embedded: Some(broker),
        }
    }

    /// Takes brokers that run already.
    pub(crate) async fn on(brokers: String) -> Self {
        Self {
            brokers,
            store: S3Server::start(BUCKET).await.unwrap(),
            embedded: None,
        }
    }

    /// Runs a command line against both, with nobody at a terminal.
    pub(crate) async fn run(&self, line: &[&str]) -> Ran {
        run(&self.env(), None, line).await
    }

    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("KAFKA_BROKERS", self.brokers.clone()),
            ("AWS_ENDPOINT_URL_S3", self.store.url()),
            ("INCIDENT_BUCKET", BUCKET.to_owned()),
        ]
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::without_auth(self.brokers.parse::<Brokers>().unwrap())
    }

    pub(crate) fn bucket(&self) -> Bucket {
        let endpoint = self.store.url().parse().unwrap();
        let keys = Keys {
            id: ACCESS_KEY.to_owned(),
            secret: SECRET_KEY.to_owned(),
        };
        Bucket::new(
            BUCKET.parse().unwrap(),
            Sdk::new(Some(endpoint)).or_keys(keys),
        )
    }

    /// Produces dead letters, each with its key, class and code.
    pub(crate) async fn dead_letters(&self, letters: &[(&str, &str, &str)]) {
        self.dead_letters_in(DLQ, letters).await;
    }

    /// Produces dead letters to a topic of them.
    pub(crate) async fn dead_letters_in(&self, dlq: &str, letters: &[(&str, &str, &str)]) {
        let producer = Producer::new(self.connection());
        for (key, class, code) in letters {
            let outgoing = Outgoing {
                topic: topic(dlq),
                key: Some(Bytes::copy_from_slice(key.as_bytes())),
                value: Some(Bytes::from_static(b"{}")),
                headers: headers(class, code),
            };
            producer.produce(&outgoing).await.unwrap();
        }
    }

    /// Keeps an incident of a dead letter at an offset, dead at a time.
    pub(crate) async fn incident(
        &self,
        offset: i64,
        time: &str,
        class: &str,
        code: &str,
    ) -> String {
        let record = Record {
            coordinates: format!("{DLQ}/0/{offset}").parse::<Coordinates>().unwrap(),
            timestamp: Timestamp::from_rfc3339(time).unwrap(),
            key: Some(Bytes::from(format!("k-{offset}"))),
            value: Some(Bytes::from_static(b"{}")),
            headers: headers(class, code),
        };
        let incident = Incident::of(&record, &Masker::default());
        let key = incident.key().to_owned();
        self.bucket().put_new(&key, incident.json()).await.unwrap();
        key
    }

    /// Reads all that a topic holds.
    pub(crate) async fn records(&self, name: &str) -> Vec<Record> {
        let mut reader = Reader::open(&self.connection(), &topic(name))
            .await
            .unwrap();
        let everything = ChunkLimit {
            records: usize::MAX,
            bytes: usize::MAX,
        };
        let read = reader.next_chunk(everything, std::future::pending()).await;
        let records = read.unwrap().records.into_iter();
        records
            .map(|read| match read {
                Read::Record(record) => record,
                Read::Unreadable(unreadable) => panic!("{unreadable:?}"),
            })
            .collect()
    }
}

impl Ran {
    /// Checks the exit status and what was said on standard error.
    #[track_caller]
    pub(crate) fn check(&self, status: u8, notes: &[&str]) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        for note in notes {
            assert!(self.notes.contains(note), "{note:?} is not in {self:?}");
        }
        self
    }

    /// Returns the one document that standard output holds.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap()
    }
}

pub(crate) fn topic(name: &str) -> Topic {
    name.parse().unwrap()
}

fn headers(class: &str, code: &str) -> Headers {
    let mut headers = Headers::default();
    for (name, value) in [
        ("error.class", class),
        ("error.code", code),
        ("error.message", "told \u{1b}[2J so"),
        ("retry.count", "3"),
        ("original.topic", MAIN),
        ("original.partition", "0"),
        ("original.offset", "14"),
        ("original.timestamp", "1755933141805"),
        ("dlq-reason", "exhausted"),
    ] {
        headers.set(name, value);
    }
    headers
}

/// Runs a command line in an environment; `input` is what a person at the terminal types.
pub(crate) async fn run(env: &[(&str, String)], input: Option<&str>, line: &[&str]) -> Ran {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let status = run_to(env, input, line, &mut out, &mut notes).await;
    Ran {
        status,
        out: String::from_utf8(out).unwrap(),
        notes: String::from_utf8(notes).unwrap(),
    }
}

pub(crate) async fn run_to(
    env: &[(&str, String)],
    input: Option<&str>,
    line: &[&str],
    out: &mut dyn Write,
    notes: &mut dyn Write,
) -> u8 {
    let env = |name: &str| {
        let found = env.iter().find(|(set, _)| *set == name);
        found.map(|(_, value)| value.clone())
    };
    let mut typed = Cursor::new(input.unwrap_or_default().to_owned());
    let mut shell = Shell {
        env: &env,
        person: match input {
            Some(_) => Person::Present(&mut typed),
            None => Person::Absent,
        },
        out: Printer::new(out),
        notes: Printer::new(notes),
    };
    let words = ["local"].into_iter().chain(line.iter().copied());
    cli::run(words.map(Into::into), &mut shell).await
}

/// Runs a command line against brokers that are away, and checks that it says so in time.
pub(crate) async fn check_brokers_away(line: &[&str]) -> Ran {
    let store = S3Server::start(BUCKET).await.unwrap();
    let env = [
        ("KAFKA_BROKERS", AWAY.to_owned()),
        ("AWS_ENDPOINT_URL_S3", store.url()),
        ("INCIDENT_BUCKET", BUCKET.to_owned()),
    ];
    let began = Instant::now();
    let ran = run(&env, None, line).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{ran:?}");
    ran.check(1, &[AWAY]);
    ran
}

/// Runs a command line with a bucket that nobody serves, and checks that it says so in time.
pub(crate) async fn check_store_away(bench: &Bench, line: &[&str]) -> Ran {
    let mut env = bench.env();
    for (name, value) in &mut env {
        if *name == "AWS_ENDPOINT_URL_S3" {
            *value = format!("http://{AWAY}");
        }
    }
    let began = Instant::now();
    let ran = run(&env, None, line).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{ran:?}");
    ran.check(1, &[AWAY, BUCKET]);
    ran
}
