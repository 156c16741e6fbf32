//! Whether the brokers can be reached, let us in, and have the topics that a function needs.

use std::iter::{once, repeat};
use std::time::Duration;

use lambda::check::{Found, Reached, Thing, Unreached, Why};
use lambda::{Checks, Clock, SystemClock};
use pipeline::Topic;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::{Metadata, MetadataTopic};
use tokio::time::Instant;

use crate::auth::{Auth, Credentials};
use crate::client::{Closing, Context};
use crate::connection::Connection;
use crate::obstacle::Obstacle;

/// How long one question waits before what the client has to say is looked at.
const SLICE: Duration = Duration::from_millis(500);

/// How much of the limit is kept back, so that the thread which asks ends first.
const SPARE: Duration = Duration::from_millis(250);

/// How many events of a client are looked at between two questions.
const EVENTS: usize = 100;

/// How long something took and what came of it.
type Line = (Duration, Result<Found, Unreached>);

/// Asks the brokers for metadata, and gives up in time. It blocks.
struct Asking {
    consumer: Closing<BaseConsumer<Context>>,
    context: Context,
    connection: String,
    until: Instant,
}

impl Connection {
    /// Adds the brokers, and then each of these topics. Nothing is produced or read, and no group is joined.
    ///
    /// To be told of a topic needs the right to describe it, and says nothing of the right to write to it.
    pub fn check(&self, checks: Checks, topics: Vec<Topic>) -> Checks {
        let connection = self.clone();
        checks.with_lines(move |limit| reach(connection.clone(), topics.clone(), limit))
    }
}

/// Tells of the login's secret where there is one, of the brokers, and of each topic, in this order, within a limit.
async fn reach(connection: Connection, topics: Vec<Topic>, limit: Duration) -> Vec<Reached> {
    let began = Instant::now();
    let mut told = Vec::new();
    let credentials = match &connection.auth {
        Auth::Scram(scram) => {
            let mut login = None;
            let read = async {
                login = Some(scram.reach().await?);
                Ok(Found::default())
            };
            let target = scram.arn().to_owned();
            told.push(Reached::within(limit, Thing::Secret, target, read).await);
            let text = "not connected to, since the login cannot be read";
            login.ok_or_else(|| Unreached::new(Why::Unauthorized, text))
        }
        Auth::None | Auth::Tls(_) | Auth::Iam(_) => held(&connection, limit).await,
    };
    let left = limit.saturating_sub(began.elapsed());
    let lines = match credentials {
        Ok(credentials) => ask(&connection, &credentials, &topics, left).await,
        Err(unreached) => Err(unreached),
    };
    let lines = lines.unwrap_or_else(|unreached| {
        let others = topics.iter().map(|_| (Duration::ZERO, not_asked()));
        once((began.elapsed(), Err(unreached)))
            .chain(others)
            .collect()
    });
    let brokers = once((Thing::Kafka, connection.brokers.as_str()));
    let topics = repeat(Thing::Topic).zip(topics.iter().map(Topic::as_str));
    let lines = brokers.chain(topics).zip(lines);
    told.extend(
        lines.map(|((thing, target), (took, came))| Reached::new(thing, target, took, came)),
    );
    told
}

/// Returns what the function itself makes itself known with.
async fn held(connection: &Connection, limit: Duration) -> Result<Credentials, Unreached> {
    // The SDK's futures are nested deeply; boxed, they count as one level.
    let credentials = Box::pin(connection.credentials(SystemClock.now()));
    match tokio::time::timeout(limit, credentials).await {
        Ok(read) => read.map_err(|fault| Unreached::new(Why::Unauthorized, &fault.to_string())),
        Err(_) => Err(late(connection, limit)),
    }
}

fn late(connection: &Connection, limit: Duration) -> Unreached {
    let text = format!("no answer within {limit:?} ({connection})");
    Unreached::new(Why::Timeout, &text)
}

async fn ask(
    connection: &Connection,
    credentials: &Credentials,
    topics: &[Topic],
    limit: Duration,
) -> Result<Vec<Line>, Unreached> {
    let wrong = |error: &dyn std::error::Error| Unreached::new(Why::Wrong, &error.to_string());
    let until = Instant::now().checked_add(limit.saturating_sub(SPARE));
    let context = connection.context();
    let mut config = connection.client_config(credentials);
    config
        .set("allow.auto.create.topics", "false")
        .set("socket.connection.setup.timeout.ms", "4000")
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "500");
    let consumer = config
        .create_with_context(context.clone())
        .map_err(|error| wrong(&error))?;
    let asking = Asking {
        consumer: Closing::new(consumer),
        context,
        connection: connection.to_string(),
        until: until.unwrap_or_else(Instant::now),
    };
    let topics = topics.to_vec();
    let lines = tokio::task::spawn_blocking(move || asking.lines(&topics));
    let lines = tokio::time::timeout(limit, lines)
        .await
        .map_err(|_| late(connection, limit))?;
    lines.map_err(|error| wrong(&error))
}

fn not_asked() -> Result<Found, Unreached> {
    let text = "not asked for, since the brokers cannot be reached";
    Err(Unreached::new(Why::Unreachable, text))
}

impl Asking {
    /// Returns the line of the brokers, and then one for each topic.
    fn lines(&self, topics: &[Topic]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut reached = true;
        let began = Instant::now();
        if let Some(topic) = topics.first() {
            let asked = self.ask(topic);
            reached = asked.is_ok();
            let brokers =
                asked.map(|metadata| Found::default().with("brokers", count(metadata.brokers())));
            lines.push((began.elapsed(), brokers));
        }
        for topic in topics {
            let began = Instant::now();
            let came = if reached {
                self.ask(topic).and_then(|metadata| {
                    let found = metadata.topics().first();
                    self.topic(topic, found)
                })
            } else {
                not_asked()
            };
            lines.push((began.elapsed(), came));
        }
        lines
    }

    /// Asks until there is an answer, the brokers do not let us in, or the time is over.
    fn ask(&self, topic: &Topic) -> Result<Metadata, Unreached> {
        let mut heard = None;
        loop {
            self.listen(&mut heard);
            let left = self.until.saturating_duration_since(Instant::now());
            let error = match self
                .consumer
                .fetch_metadata(Some(topic.as_str()), left.min(SLICE))
            {
                Ok(metadata) => {
                    self.context.trouble.clear();
                    return Ok(metadata);
                }
                Err(error) => error,
            };
            self.listen(&mut heard);
            if let Some(obstacle) = self.context.trouble.obstacle() {
                return Err(self.unreached(why_of(obstacle), &error));
            }
            let is_over = Instant::now() >= self.until;
            match heard {
                Some(why @ (Why::Unauthorized | Why::Untrusted)) => {
                    return Err(self.unreached(why, &error));
                }
                Some(why) if is_over => return Err(self.unreached(why, &error)),
                None if is_over => return Err(self.unreached(Why::Timeout, &error)),
                Some(_) | None => {}
            }
        }
    }

    /// Looks at what the client has to say; the graver of two reasons stays.
    fn listen(&self, heard: &mut Option<Why>) {
        for _ in 0..EVENTS {
            let Some(Err(error)) = self.consumer.poll(Duration::ZERO) else {
                continue;
            };
            let why = error.rdkafka_error_code().and_then(why);
            let why = why.map(|why| self.believed(why));
            if why.is_some() && matches!(heard, None | Some(Why::Unreachable)) {
                *heard = why;
            }
        }
    }

    /// Returns what is to be believed of a reason: librdkafka calls us unauthorized too when a broker goes away while we make
    /// ourselves known.
    fn believed(&self, why: Why) -> Why {
        if why == Why::Unauthorized && !self.context.trouble.is_explained() {
            Why::Unreachable
        } else {
            why
        }
    }

    fn unreached(&self, why: Why, error: &KafkaError) -> Unreached {
        let (trouble, connection) = (&self.context.trouble, &self.connection);
        Unreached::new(why, &format!("{error}{trouble} ({connection})"))
    }

    fn topic(&self, topic: &Topic, found: Option<&MetadataTopic>) -> Result<Found, Unreached> {
        let connection = &self.connection;
        let error = found
            .and_then(MetadataTopic::error)
            .map(RDKafkaErrorCode::from);
        let partitions = found.map(MetadataTopic::partitions).unwrap_or_default();
        let (why, text) = match error {
            Some(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => {
                (Why::Missing, format!("topic {topic} does not exist"))
            }
            Some(RDKafkaErrorCode::TopicAuthorizationFailed) => (
                Why::Unauthorized,
                format!("topic {topic} may not be described by us"),
            ),
            Some(error) => (Why::Wrong, format!("topic {topic}: {error}")),
            None if partitions.is_empty() => {
                (Why::Missing, format!("topic {topic} does not exist"))
            }
            None => {
                let leaderless = partitions.iter().filter(|partition| partition.leader() < 0);
                let (leaderless, all) = (leaderless.count(), partitions.len());
                if leaderless == 0 {
                    return Ok(Found::default().with("partitions", count(partitions)));
                }
                let text =
                    format!("topic {topic}: {leaderless} of {all} partitions have no leader");
                (Why::Wrong, text)
            }
        };
        Err(Unreached::new(why, &format!("{text} ({connection})")))
    }
}

/// Tells what kind of obstacle it is.
const fn why_of(obstacle: Obstacle) -> Why {
    match obstacle {
        Obstacle::Certificate | Obstacle::PlainListener | Obstacle::TlsListener => Why::Untrusted,
        Obstacle::Mechanism
        | Obstacle::Credentials
        | Obstacle::NoToken
        | Obstacle::TopicPermission
        | Obstacle::ClusterPermission => Why::Unauthorized,
    }
}

/// Tells what an event of a client says of the way to the brokers.
fn why(code: RDKafkaErrorCode) -> Option<Why> {
    use RDKafkaErrorCode::{
        AllBrokersDown, Authentication, BrokerTransportFailure, Resolve, SSL,
        SaslAuthenticationFailed,
    };
    if matches!(code, Authentication | SaslAuthenticationFailed) {
        Some(Why::Unauthorized)
    } else if code == SSL {
        Some(Why::Untrusted)
    } else if matches!(code, Resolve | BrokerTransportFailure | AllBrokersDown) {
        Some(Why::Unreachable)
    } else {
        None
    }
}

fn count<T>(list: &[T]) -> u64 {
    u64::try_from(list.len()).unwrap_or(u64::MAX)
}
