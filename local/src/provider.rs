//! The payment provider's simulator: its protocol over real HTTP, and books that show a double charge.
//!
//! | call | answer |
//! |---|---|
//! | `POST /v1/charges` | by `metadata.mode`, see [`Mode`]; a known key gets its first charge's answer again, a key in flight 409, another body for it 422 |
//! | `GET /v1/charges/{payment_id}` | `succeeded`, `failed` (declined), `pending` (being worked on), or 404 |
//! | `POST /admin/down` | from now on every call under `/v1` gets 503 |
//! | `POST /admin/up` | ends that; `transient` payments, which get 503 until the first time, are charged from now on |
//! | `GET /ledger` | how often each charged payment was charged |

mod answer;
mod charge;
mod ledger;
mod mode;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::answer::Answer;
use self::ledger::{Flight, Ledger, Ruling, Switch};
use crate::http::HttpServer;

pub use self::mode::{Mode, NoMode};

/// The simulator; dropping it ends it, and calls that hang are cut off.
#[derive(Debug)]
pub struct Provider {
    server: HttpServer,
    books: Arc<Books>,
}

/// How the simulator starts.
#[derive(Clone, Copy, Debug)]
pub struct ProviderSettings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// How long it works on a charge before it answers.
    pub latency: Duration,
    /// How long it knows an idempotency key, from the key's first charge.
    pub key_lifetime: Duration,
    /// Whether it starts up or down.
    pub state: ProviderState,
}

/// Whether the provider answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderState {
    /// It works; `transient` payments get 503 until it is switched up.
    #[default]
    Working,
    /// Every call gets 503 until it is switched up.
    Down,
}

#[derive(Debug)]
struct Books {
    ledger: Mutex<Ledger>,
    latency: Duration,
}

/// A key in flight; it lands when the call ends, also when its caller hung up.
struct InFlight<'a> {
    books: &'a Books,
    flight: Flight,
}

impl Default for ProviderSettings {
    /// A free port of this machine, no latency, and keys that live a day.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            latency: Duration::ZERO,
            key_lifetime: Duration::from_hours(24),
            state: ProviderState::Working,
        }
    }
}

impl Provider {
    /// Starts the simulator.
    pub async fn start(settings: ProviderSettings) -> anyhow::Result<Self> {
        let switch = match settings.state {
            ProviderState::Working => Switch::Flaky,
            ProviderState::Down => Switch::Down,
        };
        let books = Arc::new(Books {
            ledger: Mutex::new(Ledger::new(settings.key_lifetime, switch)),
            latency: settings.latency,
        });
        let routes = Router::new()
            .route("/v1/charges", post(charge))
            .route("/v1/charges/{payment_id}", get(status))
            .route("/admin/down", post(down))
            .route("/admin/up", post(up))
            .route("/ledger", get(charges))
            .with_state(Arc::clone(&books));
        let server = HttpServer::start(settings.listen, routes).await?;
        Ok(Self { server, books })
    }

    /// Returns the URL for `GATEWAY_URL`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns how often each payment that was charged at all was charged.
    pub fn charges(&self) -> BTreeMap<String, u32> {
        self.books.ledger().charges()
    }

    /// Returns how often a charge was asked for, for each payment, whatever was answered.
    pub fn calls(&self) -> BTreeMap<String, u32> {
        self.books.ledger().calls()
    }

    /// Switches the provider down: every call gets 503.
    pub fn down(&self) {
        self.books.ledger().set(Switch::Down);
    }

    /// Switches the provider up, for `transient` payments too.
    pub fn up(&self) {
        self.books.ledger().set(Switch::Up);
    }
}

impl Books {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.books.ledger().land(&self.flight);
    }
}

async fn charge(
    State(books): State<Arc<Books>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let key = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok());
    let ruling = books.ledger().charge(key, &body, Instant::now());
    let books = &*books;
    let answer = match ruling {
        Ruling::Refuse(answer) => answer,
        Ruling::Repeat(answer) => {
            tokio::time::sleep(books.latency).await;
            answer
        }
        Ruling::Answer(flight, answer) => {
            let _in_flight = InFlight { books, flight };
            tokio::time::sleep(books.latency).await;
            answer
        }
        Ruling::Hang(flight) => {
            let _in_flight = InFlight { books, flight };
            std::future::pending().await
        }
    };
    answer.into_response()
}

async fn status(State(books): State<Arc<Books>>, Path(payment_id): Path<String>) -> Response<Body> {
    let answer: Answer = books.ledger().status(&payment_id);
    answer.into_response()
}

async fn down(State(books): State<Arc<Books>>) -> Json<Value> {
    books.ledger().set(Switch::Down);
    Json(json!({"state": "down"}))
}

async fn up(State(books): State<Arc<Books>>) -> Json<Value> {
    books.ledger().set(Switch::Up);
    Json(json!({"state": "up"}))
}

async fn charges(State(books): State<Arc<Books>>) -> Json<BTreeMap<String, u32>> {
    Json(books.ledger().charges())
}
