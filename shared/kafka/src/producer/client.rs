//! One librdkafka producer, from its first record to its end.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use pipeline::{Outgoing, Timestamp};
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::future_producer::{Delivery, DeliveryFuture, OwnedDeliveryResult};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _, PurgeConfig};
use tokio::sync::watch;

use super::slot::Batching;
use super::undelivered::{Undelivered, is_remembered};
use crate::auth::{Auth, Credentials};
use crate::client::{Closing, Context, Trouble};
use crate::connection::Connection;
use crate::headers;

/// How long an answer may take in all: librdkafka's own 5 s, and what it may need on top when its threads are held up.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long a call waits for librdkafka to say that its record was given up.
const PURGE_PATIENCE: Duration = Duration::from_millis(250);

/// How long to wait before a full queue is tried again.
const ROOM_INTERVAL: Duration = Duration::from_millis(20);

/// A librdkafka producer that can be retired: from then on it takes nothing and sends nothing.
pub(crate) struct Client {
    producer: Closing<FutureProducer<Context>>,
    auth: Auth,
    credentials: Credentials,
    trouble: Trouble,
    /// Held to read while a record is queued and to write when the client is retired, so that nothing is queued after the purge.
    gate: RwLock<()>,
    retired: watch::Sender<bool>,
    outdated: AtomicBool,
    /// Whether there are other credentials than those that it was made with, which the brokers refuse.
    superseded: AtomicBool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("retired", &*self.retired.borrow())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Makes the client; it connects in the background.
    pub(crate) fn new(
        connection: &Connection,
        credentials: Credentials,
        batching: Batching,
    ) -> Result<Self, KafkaError> {
        let context = connection.context();
        let trouble = context.trouble.clone();
        let config = config(connection.client_config(&credentials), batching);
        Ok(Self {
            producer: Closing::new(config.create_with_context(context)?),
            auth: connection.auth.clone(),
            credentials,
            trouble,
            gate: RwLock::new(()),
            retired: watch::Sender::new(false),
            outdated: AtomicBool::new(false),
            superseded: AtomicBool::new(false),
        })
    }

    /// Tells why the client can deliver nothing any more, if so.
    pub(crate) fn useless(&self) -> Option<&'static str> {
        if *self.retired.borrow() {
            Some("given up")
        } else if self.producer.client().fatal_error().is_some() {
            Some("fatal error")
        } else if self.outdated.load(Ordering::Relaxed) {
            Some("remembers an old error")
        } else {
            None
        }
    }

    /// Tells whether a client made with these credentials would be another one.
    pub(crate) fn was_made_without(&self, credentials: &Credentials) -> bool {
        self.credentials.differ_from(credentials)
    }

    /// Queues a record and waits for what becomes of it.
    pub(crate) async fn deliver(
        &self,
        outgoing: &Outgoing,
        now: Timestamp,
    ) -> Result<Delivery, Undelivered> {
        let delivered = self.try_to_deliver(outgoing, now).await;
        match delivered {
            Err(Undelivered::Fault(_)) if self.superseded.load(Ordering::SeqCst) => {
                Err(Undelivered::Superseded)
            }
            Ok(_) | Err(_) => delivered,
        }
    }

    async fn try_to_deliver(
        &self,
        outgoing: &Outgoing,
        now: Timestamp,
    ) -> Result<Delivery, Undelivered> {
        let delivered = tokio::time::timeout(PATIENCE, async {
            let delivery = self.queue(outgoing, now).await?;
            let mut retired = self.retired.subscribe();
            let given_up = async {
                // An error would mean that the sender is gone, and it is ours.
                drop(retired.wait_for(|retired| *retired).await);
                tokio::time::sleep(PURGE_PATIENCE).await;
            };
            tokio::select! {
                delivered = delivery => self.conclude(delivered),
                () = given_up => Err(Undelivered::fault("given up")),
                () = self.other_credentials() => {
                    self.superseded.store(true, Ordering::SeqCst);
                    self.retire();
                    Err(Undelivered::Superseded)
                }
            }
        })
        .await;
        delivered.unwrap_or_else(|_| {
            // The record must not go out after its call has ended.
            self.retire();
            Err(Undelivered::Fault(format!(
                "no answer from the client in {PATIENCE:?}{}",
                self.trouble
            )))
        })
    }

    /// Waits until the brokers refuse our credentials and others are found; without others it is left to librdkafka to try again.
    async fn other_credentials(&self) {
        self.trouble.refused().await;
        match Box::pin(self.auth.have_changed(&self.credentials)).await {
            Ok(true) => return,
            Ok(false) => {}
            Err(fault) => tracing::debug!("the refused credentials cannot be read again: {fault}"),
        }
        std::future::pending::<()>().await;
    }

    /// Puts a record into the queue and waits for room if need be.
    async fn queue(
        &self,
        outgoing: &Outgoing,
        now: Timestamp,
    ) -> Result<DeliveryFuture, Undelivered> {
        loop {
            match self.try_queue(outgoing, now) {
                Ok(delivery) => return Ok(delivery),
                Err(KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull)) => {
                    tokio::time::sleep(ROOM_INTERVAL).await;
                }
                Err(error) => {
                    self.remember(&error);
                    return Err(Undelivered::from_queueing(&error));
                }
            }
        }
    }

    fn try_queue(&self, outgoing: &Outgoing, now: Timestamp) -> Result<DeliveryFuture, KafkaError> {
        let record = FutureRecord::<[u8], [u8]> {
            topic: outgoing.topic.as_str(),
            partition: None,
            payload: outgoing.value.as_deref(),
            key: outgoing.key.as_deref(),
            timestamp: Some(now.millis()),
            headers: headers::to_native(&outgoing.headers),
        };
        let _open = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        if *self.retired.borrow() {
            return Err(KafkaError::Canceled);
        }
        self.producer
            .send_result(record)
            .map_err(|(error, _)| error)
    }

    /// Notes an error that this client would go on to report.
    fn remember(&self, error: &KafkaError) {
        if is_remembered(error) {
            self.outdated.store(true, Ordering::Relaxed);
        }
    }

    fn conclude<E>(
        &self,
        delivered: Result<OwnedDeliveryResult, E>,
    ) -> Result<Delivery, Undelivered> {
        let error = match delivered {
            Ok(Ok(delivery)) => {
                self.trouble.clear();
                return Ok(delivery);
            }
            Ok(Err((error, _))) => error,
            Err(_) => KafkaError::Canceled,
        };
        self.remember(&error);
        if self.trouble.is_refused() {
            // The next client asks for credentials again.
            self.outdated.store(true, Ordering::Relaxed);
        }
        let undelivered = Undelivered::from_delivery(&error, self.auth.mode());
        let Undelivered::Fault(why) = undelivered else {
            return Err(undelivered);
        };
        Err(match self.producer.client().fatal_error() {
            Some((code, reason)) => Undelivered::Fault(format!("{why}; fatal: {code:?}: {reason}")),
            None => Undelivered::Fault(format!("{why}{}", self.trouble)),
        })
    }

    /// Gives up what is queued or in flight: those calls end soon, and nothing is sent any more.
    pub(crate) fn retire(&self) {
        let _closed = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        if !self.retired.send_replace(true) {
            let all = PurgeConfig::default().queue().inflight();
            self.producer.purge(all.non_blocking());
        }
    }
}

/// The settings of librdkafka, each with its reason.
fn config(mut config: ClientConfig, batching: Batching) -> ClientConfig {
    config
        // A record is produced when every replica that is in sync has it, and retries inside the client add no duplicates.
        .set("acks", "all")
        .set("enable.idempotence", "true")
        // The Java client's choice, so that records of a key meet in one partition whoever produced them.
        .set("partitioner", "murmur2_random")
        .set("compression.type", "none")
        // What the 5 s that a produce may take are made of: a request without an answer is given up after 3.2 to 4.2 s with its
        // connection, since librdkafka looks for such ones once a second, which leaves time for one more on a new connection.
        .set("message.timeout.ms", "5000")
        .set("request.timeout.ms", "3200")
        .set("socket.timeout.ms", "3200")
        .set("socket.connection.setup.timeout.ms", "4000")
        .set("api.version.request.timeout.ms", "4000")
        // A broker that comes back is found within half a second.
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "500")
        .set("retry.backoff.ms", "50")
        .set("retry.backoff.max.ms", "500")
        .set("socket.keepalive.enable", "true")
        // A topic that is missing is reported after 2 s; it is never made by producing to it, as it would have the wrong limits.
        .set("topic.metadata.propagation.max.ms", "2000")
        .set("allow.auto.create.topics", "false")
        // Above what any broker takes from us: an event of Lambda has 6 MB at most. So it is the broker that refuses, by the limits of its topic.
        .set("message.max.bytes", "16777216")
        // A batch of the largest event and what it grows by fits in; a replay waits for room instead of filling the memory.
        .set("queue.buffering.max.kbytes", "65536")
        .set("linger.ms", "2");
    match batching {
        // Retry and dead-letter topics take 64 KiB more than the main topic: a batch of small records always fits.
        Batching::Together => config.set("batch.size", "60000"),
        Batching::Alone => config.set("batch.num.messages", "1"),
    };
    config
}
