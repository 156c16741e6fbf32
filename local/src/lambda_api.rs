//! Lambda's Runtime API, served for one function process.
//!
//! Source: AWS Lambda developer guide, "Using the Lambda runtime API for custom runtimes".

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use crate::http::HttpServer;

/// The most that a function may answer, in bytes: Lambda's 6 MB for a synchronous invocation.
pub const MAX_ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// The Runtime API of one process; dropping it ends the server.
#[derive(Debug)]
pub struct RuntimeApi {
    server: HttpServer,
    desk: Arc<Desk>,
}

/// What the process is given with one invocation.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The request id, which the answer must name.
    pub id: String,
    /// The event.
    pub event: Bytes,
    /// When its time is up, in milliseconds since the epoch.
    pub deadline_ms: i64,
    /// The function's ARN.
    pub function_arn: String,
    /// The X-Ray trace header.
    pub trace_id: String,
}

/// What the process had to say to an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It answered.
    Answer(Bytes),
    /// It answered, or reported an error, with more than Lambda takes.
    TooLarge,
    /// It reported an error.
    Error {
        /// Its `errorType`.
        error_type: String,
        /// Its `errorMessage`.
        message: String,
    },
}

/// Says that the process reported that it cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error_type}: {message}")]
pub struct InitError {
    /// Its `errorType`.
    pub error_type: String,
    /// Its `errorMessage`.
    pub message: String,
}

/// Where invocations are handed over and answers come in.
#[derive(Debug, Default)]
struct Desk {
    slots: Mutex<Slots>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Slots {
    waiting: Option<oneshot::Sender<Invocation>>,
    running: Option<Running>,
    init_error: Option<InitError>,
}

#[derive(Debug)]
struct Running {
    id: String,
    reply: oneshot::Sender<Reply>,
}

impl RuntimeApi {
    /// Starts the API on a free port of this machine.
    pub async fn start() -> anyhow::Result<Self> {
        let desk = Arc::new(Desk::default());
        let routes = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route(
                "/2018-06-01/runtime/invocation/{id}/response",
                post(response),
            )
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .fallback(async || refused(StatusCode::NOT_FOUND, "InvalidPath"))
            .method_not_allowed_fallback(async || {
                refused(StatusCode::METHOD_NOT_ALLOWED, "InvalidMethod")
            })
            .with_state(Arc::clone(&desk));
        let server = HttpServer::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), routes).await?;
        Ok(Self { server, desk })
    }

    /// Returns what `AWS_LAMBDA_RUNTIME_API` must say: host and port.
    pub fn address(&self) -> String {
        self.server.address().to_string()
    }

    /// Waits until the process asks for its first invocation, or says that it cannot start.
    pub async fn ready(&self) -> Result<(), InitError> {
        self.desk
            .when(|slots| match &slots.init_error {
                Some(error) => Some(Err(error.clone())),
                None => slots.is_asking().then_some(Ok(())),
            })
            .await
    }

    /// Hands one invocation to the process, as soon as it asks, and waits for what it says.
    ///
    /// Waits without end when the process says nothing. One invocation at a time.
    pub async fn invoke(&self, invocation: Invocation) -> Reply {
        let (reply, replied) = oneshot::channel();
        let mut handing_over = Some((invocation, reply));
        self.desk
            .when(|slots| {
                let (invocation, reply) = handing_over.take()?;
                handing_over = slots.hand_over(invocation, reply).err();
                handing_over.is_none().then_some(())
            })
            .await;
        match replied.await {
            Ok(reply) => reply,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Slots {
    /// Tells whether the process waits for an invocation, and is still there to take it.
    fn is_asking(&self) -> bool {
        self.waiting
            .as_ref()
            .is_some_and(|waiting| !waiting.is_closed())
    }

    /// Hands an invocation to the process, or gives it back when the process does not ask.
    fn hand_over(
        &mut self,
        invocation: Invocation,
        reply: oneshot::Sender<Reply>,
    ) -> Result<(), (Invocation, oneshot::Sender<Reply>)> {
        let Some(waiting) = self.waiting.take() else {
            return Err((invocation, reply));
        };
        let id = invocation.id.clone();
        match waiting.send(invocation) {
            Ok(()) => {
                self.running = Some(Running { id, reply });
                Ok(())
            }
            // It asked and hung up; it may ask again.
            Err(invocation) => Err((invocation, reply)),
        }
    }
}

impl Desk {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds what it looks for.
    async fn when<T>(&self, mut look: impl FnMut(&mut Slots) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            if let Some(found) = look(&mut self.slots()) {
                return found;
            }
            changed.await;
        }
    }

    /// Passes what the process said on to whoever waits for the invocation of this id.
    fn reply(&self, id: &str, reply: Reply) -> Response<Body> {
        let running = self.slots().running.take_if(|running| running.id == id);
        match running {
            Some(running) => {
                let is_too_large = reply == Reply::TooLarge;
                // Nobody waits any more when the time is up: the process is being killed.
                running.reply.send(reply).ok();
                if is_too_large {
                    too_large()
                } else {
                    accepted()
                }
            }
            None => refused(StatusCode::BAD_REQUEST, "InvalidRequestID"),
        }
    }
}

async fn next(State(desk): State<Arc<Desk>>) -> Response<Body> {
    let handed_over = {
        let mut slots = desk.slots();
        if slots.running.is_some() {
            return refused(StatusCode::FORBIDDEN, "InvalidStateTransition");
        }
        let (waiting, handed_over) = oneshot::channel();
        slots.waiting = Some(waiting);
        handed_over
    };
    desk.changed.notify_waiters();
    let Ok(invocation) = handed_over.await else {
        return refused(StatusCode::FORBIDDEN, "InvalidStateTransition");
    };
    Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", invocation.id)
        .header("lambda-runtime-deadline-ms", invocation.deadline_ms)
        .header(
            "lambda-runtime-invoked-function-arn",
            invocation.function_arn,
        )
        .header("lambda-runtime-trace-id", invocation.trace_id)
        .body(Body::from(invocation.event))
        .unwrap_or_else(|_| refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError"))
}

async fn response(
    State(desk): State<Arc<Desk>>,
    Path(id): Path<String>,
    body: Body,
) -> Response<Body> {
    match read(body).await {
        Ok(answer) => desk.reply(&id, Reply::Answer(answer)),
        Err(Unread::TooLarge) => desk.reply(&id, Reply::TooLarge),
        Err(Unread::Truncated) => truncated(),
    }
}

async fn error(
    State(desk): State<Arc<Desk>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let body = match read(body).await {
        Ok(body) => body,
        Err(Unread::TooLarge) => return desk.reply(&id, Reply::TooLarge),
        Err(Unread::Truncated) => return truncated(),
    };
    let InitError {
        error_type,
        message,
    } = read_error(&headers, &body);
    desk.reply(
        &id,
        Reply::Error {
            error_type,
            message,
        },
    )
}

async fn init_error(
    State(desk): State<Arc<Desk>>,
    headers: HeaderMap,
    body: Body,
) -> Response<Body> {
    let (body, answer) = match read(body).await {
        Ok(body) => (body, accepted()),
        Err(Unread::TooLarge) => (Bytes::from_static(b"its report is too large"), too_large()),
        Err(Unread::Truncated) => return truncated(),
    };
    desk.slots().init_error = Some(read_error(&headers, &body));
    desk.changed.notify_waiters();
    answer
}

/// Why a body could not be read.
#[derive(Debug)]
enum Unread {
    TooLarge,
    Truncated,
}

/// Reads a body of at most [`MAX_ANSWER_BYTES`].
async fn read(body: Body) -> Result<Bytes, Unread> {
    axum::body::to_bytes(body, MAX_ANSWER_BYTES)
        .await
        .map_err(|error| {
            if is_length_limit(&error) {
                Unread::TooLarge
            } else {
                Unread::Truncated
            }
        })
}

/// Reads an error report: `errorType` from the body, else from the header; a body that is no report is the message.
fn read_error(headers: &HeaderMap, body: &[u8]) -> InitError {
    let report: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let field = |name: &str| {
        report
            .get(name)
            .and_then(|value| value.as_str())
            .map(str::to_owned)
    };
    let header = headers
        .get("lambda-runtime-function-error-type")
        .and_then(|value| value.to_str().ok());
    InitError {
        error_type: field("errorType")
            .or_else(|| header.map(str::to_owned))
            .unwrap_or_else(|| "Unhandled".to_owned()),
        message: field("errorMessage")
            .unwrap_or_else(|| String::from_utf8_lossy(body).into_owned()),
    }
}

fn is_length_limit(error: &axum::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn accepted() -> Response<Body> {
    document(StatusCode::ACCEPTED, &json!({"status": "OK"}))
}

fn too_large() -> Response<Body> {
    refused(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge")
}

fn truncated() -> Response<Body> {
    refused(StatusCode::BAD_REQUEST, "TruncatedHTTPRequest")
}

fn refused(status: StatusCode, error_type: &str) -> Response<Body> {
    let text = status.canonical_reason().unwrap_or_default();
    document(
        status,
        &json!({"errorMessage": text, "errorType": error_type}),
    )
}

fn document(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
