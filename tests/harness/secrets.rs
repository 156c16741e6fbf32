//! Secrets Manager with one secret, which a test changes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use local::http::HttpServer;
use serde_json::{Value, json};

/// The ARN of the secret.
pub(crate) const ARN: &str =
    "arn:aws:secretsmanager:us-east-1:000000000000:secret:AmazonMSK_brew-AbCdEf";

/// The server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Secrets {
    server: HttpServer,
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug, Default)]
struct Shelf {
    secret: Option<String>,
    readings: usize,
}

impl Secrets {
    /// Starts a server that refuses to give its secret away.
    pub(crate) async fn start() -> Self {
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        let routes = Router::new()
            .route("/", post(give))
            .with_state(Arc::clone(&shelf));
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = HttpServer::start(anywhere, routes).await.unwrap();
        Self { server, shelf }
    }

    /// Starts a server that gives a user's name and password away.
    pub(crate) async fn with(user: &str, password: &str) -> Self {
        let secrets = Self::start().await;
        secrets.change(user, password);
        secrets
    }

    /// Puts another user and password into the secret.
    pub(crate) fn change(&self, user: &str, password: &str) {
        self.put(&json!({"username": user, "password": password}).to_string());
    }

    /// Puts any text into the secret.
    pub(crate) fn put(&self, text: &str) {
        self.shelf.lock().unwrap().secret = Some(text.to_owned());
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Returns how often it was asked.
    pub(crate) fn readings(&self) -> usize {
        self.shelf.lock().unwrap().readings
    }
}

async fn give(State(shelf): State<Arc<Mutex<Shelf>>>) -> (StatusCode, Json<Value>) {
    let secret = shelf.lock().unwrap().read();
    let denied = || json!({"__type": "AccessDeniedException", "Message": "not for you"});
    secret.map_or_else(
        || (StatusCode::BAD_REQUEST, Json(denied())),
        |secret| (StatusCode::OK, Json(json!({"SecretString": secret}))),
    )
}

impl Shelf {
    fn read(&mut self) -> Option<String> {
        self.readings += 1;
        self.secret.clone()
    }
}
