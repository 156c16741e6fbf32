//! What producer and reader share of a librdkafka client: its log, its last trouble, and its end.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lambda::{Clock, SystemClock};
use rdkafka::ClientContext;
use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tokio::sync::watch;

use crate::auth::{Auth, Iam, Mode};
use crate::obstacle::Obstacle;

/// What went wrong last between a client and its brokers: what a mere timeout does not say.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    mode: Mode,
    last: Arc<Mutex<Last>>,
    /// Whether what the client makes itself known with is refused.
    refused: watch::Sender<bool>,
}

/// The last words, if any, and what they say of the way in.
type Last = Option<(String, Option<Obstacle>)>;

impl Trouble {
    fn new(mode: Mode) -> Self {
        Self {
            mode,
            last: Arc::default(),
            refused: watch::Sender::new(false),
        }
    }

    fn note(&self, text: &str) {
        let obstacle = Obstacle::in_words(text);
        let mut last = self.lock();
        // A broker that refuses us is often followed by another that cannot be reached, which says less.
        let says_more = last.as_ref().is_some_and(|(_, said)| said.is_some());
        if obstacle.is_some() || !says_more {
            *last = Some((text.to_owned(), obstacle));
        }
        drop(last);
        if obstacle.is_some_and(Obstacle::is_refusal_of_credentials) {
            self.refused.send_replace(true);
        }
    }

    /// Forgets it: the brokers have answered since.
    pub(crate) fn clear(&self) {
        *self.lock() = None;
        self.refused.send_replace(false);
    }

    /// Tells whether something stands in the way that waiting does not take away.
    pub(crate) fn is_lasting(&self) -> bool {
        self.obstacle().is_some()
    }

    /// Returns what stands in the way that waiting does not take away.
    pub(crate) fn obstacle(&self) -> Option<Obstacle> {
        let obstacle = self.lock().as_ref().and_then(|(_, obstacle)| *obstacle);
        obstacle.filter(|obstacle| obstacle.is_certain())
    }

    /// Tells whether it is known what stands in the way, be it a guess.
    pub(crate) fn is_explained(&self) -> bool {
        self.lock().as_ref().is_some_and(|(_, said)| said.is_some())
    }

    /// Tells whether what the client makes itself known with is refused.
    pub(crate) fn is_refused(&self) -> bool {
        *self.refused.borrow()
    }

    /// Waits until what the client makes itself known with is refused.
    pub(crate) async fn refused(&self) {
        let mut refused = self.refused.subscribe();
        // An error would mean that the sender is gone, and it is ours.
        drop(refused.wait_for(|refused| *refused).await);
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Trouble {
    /// Writes `; <trouble>` and what to look at, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.lock() {
            Some((text, Some(obstacle))) => {
                write!(f, "; {text}: {}", obstacle.advice(self.mode))
            }
            Some((text, None)) => write!(f, "; {text}"),
            None => Ok(()),
        }
    }
}

/// Receives what a client has to say, and hands out tokens to it.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) trouble: Trouble,
    tokens: Option<Arc<Iam>>,
}

impl Context {
    pub(crate) fn new(auth: &Auth) -> Self {
        let tokens = match auth {
            Auth::Iam(iam) => Some(Arc::clone(iam)),
            Auth::None | Auth::Tls(_) | Auth::Scram(_) => None,
        };
        Self {
            trouble: Trouble::new(auth.mode()),
            tokens,
        }
    }
}

impl ClientContext for Context {
    /// Has librdkafka ask for tokens; it does so only where there are any.
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    /// Hands out the token that was made beforehand: this runs wherever the client is polled, and must neither wait nor panic.
    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        let tokens = self.tokens.as_ref();
        let token = tokens.and_then(|tokens| tokens.token(SystemClock.now()));
        let token = token.ok_or("the last token has expired, and no other was made yet")?;
        Ok(OAuthToken {
            token: token.text().to_owned(),
            principal_name: String::new(),
            lifetime_ms: token.until().millis(),
        })
    }

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
