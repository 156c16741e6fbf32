//! A webhook whose address is a secret: it is read at first need, and again when it is refused.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::significant_drop_tightening,
    reason = "what fails here is to fail the test"
)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use aws::{Keys, Sdk, Secret};
use dlq::Webhook;
use dlq::webhook::WebhookFault;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pipeline::alert::Post;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const ARN: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:hook-AbCdEf";

/// What is asked of the server, which is Secrets Manager at `/` and a webhook everywhere else: `/ok` is the one that takes posts.
#[derive(Default)]
struct Server {
    secrets: Mutex<Vec<&'static str>>,
    seen: Mutex<Vec<String>>,
}

/// Checks how a post ends when the secret holds these paths, one after the other, and what it asks for.
async fn check(paths: &[&'static str], expected: Result<(), WebhookFault>, asked: &[&str]) {
    let server = Arc::new(Server::default());
    server.secrets.lock().unwrap().extend(paths.iter().rev());
    let mut tasks = JoinSet::new();
    let address = start(Arc::clone(&server), &mut tasks).await;
    let keys = Keys {
        id: "test-id".to_owned(),
        secret: "test-secret".to_owned(),
    };
    let endpoint = format!("http://{address}").parse().unwrap();
    let sdk = Sdk::new(Some(endpoint)).or_keys(keys);
    let webhook = Webhook::secret(Secret::new(ARN.parse().unwrap(), "url", sdk));
    let post = Post {
        text: "text".to_owned(),
        error_class: "transient",
        error_code: "provider.timeout",
        count: 1,
    };
    assert_eq!(webhook.post(&post).await, expected, "{paths:?}");
    assert_eq!(*server.seen.lock().unwrap(), asked, "{paths:?}");
    assert!(
        !format!("{webhook:?}").contains(&address.to_string()),
        "{webhook:?}"
    );
}

async fn start(server: Arc<Server>, tasks: &mut JoinSet<Infallible>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let server = Arc::clone(&server);
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = server.answer(request.uri().path(), address);
                async move { Ok::<_, Infallible>(answer) }
            });
            connections
                .spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

impl Server {
    fn answer(&self, path: &str, address: SocketAddr) -> Response<Full<Bytes>> {
        self.seen.lock().unwrap().push(path.to_owned());
        let (status, body) = match path {
            "/" => {
                let path = self.secrets.lock().unwrap().pop().unwrap();
                let secret = format!("{{\"url\":\"http://{address}{path}\"}}");
                (
                    StatusCode::OK,
                    serde_json::json!({ "SecretString": secret }).to_string(),
                )
            }
            "/ok" => (StatusCode::NO_CONTENT, String::new()),
            _ => (StatusCode::NOT_FOUND, String::new()),
        };
        let mut answer = Response::new(Full::from(body));
        *answer.status_mut() = status;
        answer
    }
}

#[tokio::test]
async fn the_address_is_read_at_first_need_and_again_when_it_is_refused() {
    let refused = || Err(WebhookFault::Refused(StatusCode::NOT_FOUND));
    check(&["/ok"], Ok(()), &["/", "/ok"]).await;
    check(&["/old", "/ok"], Ok(()), &["/", "/old", "/", "/ok"]).await;
    check(&["/old", "/old"], refused(), &["/", "/old", "/"]).await;
    check(
        &["/old", "/older"],
        refused(),
        &["/", "/old", "/", "/older"],
    )
    .await;
}

#[tokio::test]
async fn a_secret_that_is_no_address_is_a_fault_that_does_not_tell_it() {
    let server = Arc::new(Server::default());
    server.secrets.lock().unwrap().push(" s3cr3t");
    let mut tasks = JoinSet::new();
    let address = start(Arc::clone(&server), &mut tasks).await;
    let keys = Keys {
        id: "test-id".to_owned(),
        secret: "test-secret".to_owned(),
    };
    let sdk = Sdk::new(Some(format!("http://{address}").parse().unwrap())).or_keys(keys);
    let webhook = Webhook::secret(Secret::new(ARN.parse().unwrap(), "token", sdk));
    let post = Post {
        text: String::new(),
        error_class: "unknown",
        error_code: "unknown",
        count: 1,
    };
    let fault = webhook.post(&post).await.unwrap_err().to_string();
    assert!(fault.contains(ARN) && !fault.contains("s3cr3t"), "{fault}");
}
