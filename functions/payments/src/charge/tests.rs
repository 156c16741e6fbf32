mod answers;
mod asking;
mod breaker;
mod measured;
mod once;
mod token;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use pipeline::headers::names;
use pipeline::{Coordinates, Headers, Offset, Partition, Span, Timestamp};

use super::*;
use crate::asking::AskFirst;
use crate::circuit::Circuit;
use crate::provider::{Provider, Reply, Request, answer};
use crate::token::FixedToken;

const NOW: i64 = 1_755_933_141_855;

/// A clock that stands still until a test moves it.
#[derive(Clone, Debug)]
struct TestClock(Arc<AtomicI64>);

impl TestClock {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(NOW)))
    }

    fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, time: Timestamp) {
        while time > self.now() {
            tokio::task::yield_now().await;
        }
    }
}

const MAIN: Attempt = Attempt {
    on_retry_stage: false,
    suspect: false,
    last_call: Timestamp::from_millis(i64::MAX),
};

const RETRY: Attempt = Attempt {
    on_retry_stage: true,
    ..MAIN
};

/// Everything a test may want to choose.
struct Parts<T> {
    limit: &'static str,
    token: T,
    circuit: Option<Circuit>,
    clock: TestClock,
}

impl Default for Parts<FixedToken> {
    fn default() -> Self {
        Self {
            limit: "5s",
            token: FixedToken(None),
            circuit: None,
            clock: TestClock::new(),
        }
    }
}

impl<T: TokenSource> Parts<T> {
    fn charge(self, provider: &Provider) -> Charge<T, TestClock> {
        Charge::new(
            Gateway::new(provider.url().parse().unwrap(), self.limit.parse().unwrap()),
            self.token,
            Asking {
                first: AskFirst::Unsure,
                key_lifetime: "23h".parse::<Span>().unwrap(),
            },
            self.circuit.map(CircuitBreaker::new),
            self.clock,
        )
    }
}

fn payment(id: &str) -> Vec<u8> {
    format!(
        r#"{{"schema_version":1,"payment_id":"{id}","order_id":"o-7","amount":1250,"currency":"RUB"}}"#
    )
    .into_bytes()
}

fn record(value: Option<Vec<u8>>) -> Record {
    Record {
        coordinates: Coordinates {
            topic: "brew.payments.v1".parse().unwrap(),
            partition: Partition::new(0).unwrap(),
            offset: Offset::new(0).unwrap(),
        },
        timestamp: Timestamp::from_millis(NOW),
        key: Some(Bytes::from_static(b"k-7")),
        value: value.map(Bytes::from),
        headers: Headers::default(),
    }
}

/// A rule with one reply to a charge and one to a question.
fn rule(post: Reply, get: Reply) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    move |request| {
        if request.is_post() {
            post.clone()
        } else {
            get.clone()
        }
    }
}

/// Returns a verdict as one word: `done`, the code of the failure, or `no time`.
fn word(verdict: &Result<Verdict, NoTimeLeft>) -> &'static str {
    match verdict {
        Err(NoTimeLeft) => "no time",
        Ok(Verdict::Done) => "done",
        Ok(Verdict::Transient(failure) | Verdict::Permanent(failure)) => failure.code.as_str(),
    }
}

fn failure_of(verdict: Result<Verdict, NoTimeLeft>) -> Failure {
    match verdict {
        Ok(Verdict::Transient(failure) | Verdict::Permanent(failure)) => failure,
        other => panic!("{other:?} is no failure"),
    }
}
