//! A payment provider that does as a test says, and forgets every idempotency key at once: what is posted twice is charged twice.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use local::http::HttpServer;
use serde_json::{Value, json};

/// The provider; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Gateway {
    server: HttpServer,
    books: Arc<Books>,
}

/// What it does with a call for a charge.
#[derive(Clone, Debug)]
pub(crate) enum Ruling {
    /// Charges at once and answers after a while.
    Charge(Duration),
    /// Answers with this status and text.
    Refuse(u16, String),
    /// Never answers, and charges nothing.
    Ignore,
}

/// A call for a charge.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) mode: String,
}

type Rule = Box<dyn Fn(&Asked) -> Ruling + Send + Sync>;

struct Books {
    rule: Mutex<Rule>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    charges: BTreeMap<String, usize>,
    posts: BTreeMap<String, usize>,
    questions: BTreeMap<String, usize>,
    in_flight: usize,
    most_in_flight: usize,
}

struct InFlight<'a>(&'a Books);

impl std::fmt::Debug for Books {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Books").finish_non_exhaustive()
    }
}

impl Gateway {
    /// Starts a provider that goes by a rule.
    pub(crate) async fn start(rule: impl Fn(&Asked) -> Ruling + Send + Sync + 'static) -> Self {
        let books = Arc::new(Books {
            rule: Mutex::new(Box::new(rule)),
            entries: Mutex::default(),
        });
        let routes = Router::new()
            .route("/v1/charges", post(charge))
            .route("/v1/charges/{payment_id}", get(status))
            .with_state(Arc::clone(&books));
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = HttpServer::start(listen, routes).await.unwrap();
        Self { server, books }
    }

    /// Starts a provider that charges at once and answers after a while.
    pub(crate) async fn answering_in(latency: Duration) -> Self {
        Self::start(move |_| Ruling::Charge(latency)).await
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Goes by another rule from now on.
    pub(crate) fn go_by(&self, rule: impl Fn(&Asked) -> Ruling + Send + Sync + 'static) {
        *self.books.rule.lock().unwrap() = Box::new(rule);
    }

    /// Returns how often each payment was charged.
    pub(crate) fn charges(&self) -> BTreeMap<String, usize> {
        self.books.entries().charges.clone()
    }

    /// Returns how often a charge was asked for, for each payment.
    pub(crate) fn posts(&self) -> BTreeMap<String, usize> {
        self.books.entries().posts.clone()
    }

    /// Returns how often it was asked about each payment.
    pub(crate) fn questions(&self) -> BTreeMap<String, usize> {
        self.books.entries().questions.clone()
    }

    /// Returns how many calls for a charge are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.books.entries().in_flight
    }

    /// Returns how many calls for a charge were under way at most.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.books.entries().most_in_flight
    }
}

impl Books {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap()
    }

    /// Notes a call and returns what came of it.
    fn take(&self, body: &[u8]) -> (InFlight<'_>, Asked, Ruling) {
        let body: Value = serde_json::from_slice(body).unwrap();
        let text = |at: &str| body.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let asked = Asked {
            id: text("/payment_id").to_owned(),
            mode: text("/metadata/mode").to_owned(),
        };
        let ruling = (*self.rule.lock().unwrap())(&asked);
        self.entries().note(&asked, &ruling);
        (InFlight(self), asked, ruling)
    }
}

impl Entries {
    /// Notes a question and tells whether the payment is charged.
    fn question(&mut self, id: &str) -> bool {
        *self.questions.entry(id.to_owned()).or_default() += 1;
        self.charges.contains_key(id)
    }

    fn note(&mut self, asked: &Asked, ruling: &Ruling) {
        *self.posts.entry(asked.id.clone()).or_default() += 1;
        self.in_flight += 1;
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        if let Ruling::Charge(_) = ruling {
            *self.charges.entry(asked.id.clone()).or_default() += 1;
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.entries().in_flight -= 1;
    }
}

async fn charge(State(books): State<Arc<Books>>, body: Bytes) -> Response<Body> {
    let (_in_flight, asked, ruling) = books.take(&body);
    match ruling {
        Ruling::Charge(latency) => {
            tokio::time::sleep(latency).await;
            let charge = json!({"payment_id": asked.id, "status": "succeeded"});
            answer(201, charge.to_string())
        }
        Ruling::Refuse(status, text) => answer(status, text),
        Ruling::Ignore => std::future::pending().await,
    }
}

async fn status(State(books): State<Arc<Books>>, Path(id): Path<String>) -> Response<Body> {
    if books.entries().question(&id) {
        answer(200, json!({"status": "succeeded"}).to_string())
    } else {
        answer(404, json!({"error": "no such charge"}).to_string())
    }
}

fn answer(status: u16, body: String) -> Response<Body> {
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer
}
