//! What producer and reader share of a librdkafka client: its log, its last trouble, and its end.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// The last thing that went wrong between a client and its brokers: what a mere timeout does not say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    fn note(&self, text: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
    }

    /// Forgets it: the brokers have answered since.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl fmt::Display for Trouble {
    /// Writes `; <trouble>`, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*trouble {
            Some(text) => write!(f, "; {text}"),
            None => Ok(()),
        }
    }
}

/// Receives what a client has to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub(crate) trouble: Trouble,
}

impl ClientContext for Context {
    /// Passes librdkafka's log on at debug: what matters of it comes back as an error, which is logged where it is handled.
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        if facility == "FAIL" {
            // "[thrd:b1:9092/bootstrap]: b1:9092/bootstrap: Connect to … failed": the thread says nothing new.
            self.trouble
                .note(message.split_once("]: ").map_or(message, |(_, text)| text));
        }
        tracing::debug!(target: "librdkafka", ?level, facility, "{message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", %error, "{reason}");
        // It only sums up the troubles of the single brokers.
        if error.rdkafka_error_code() != Some(RDKafkaErrorCode::AllBrokersDown) {
            self.trouble.note(reason);
        }
    }
}

impl ConsumerContext for Context {}

/// A client that is closed on a thread of its own.
///
/// Closing waits for librdkafka's threads, one of which may be looking up a host for many seconds; that must not hold up the
/// invocation. The thread only takes the client down: by then nothing is left in it that could be sent.
pub(crate) struct Closing<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> Closing<T> {
    pub(crate) const fn new(client: T) -> Self {
        Self(Some(client))
    }
}

impl<T: Send + 'static> Deref for Closing<T> {
    type Target = T;

    #[expect(clippy::expect_used, reason = "it is filled from new to drop")]
    fn deref(&self) -> &T {
        self.0.as_ref().expect("a client until it is dropped")
    }
}

impl<T: Send + 'static> Drop for Closing<T> {
    fn drop(&mut self) {
        let client = self.0.take();
        let thread = std::thread::Builder::new().name("kafka closing".to_owned());
        if let Err(error) = thread.spawn(move || drop(client)) {
            // The client went with the closure and is closed by now, here.
            tracing::debug!(%error, "no thread to close a Kafka client on");
        }
    }
}
