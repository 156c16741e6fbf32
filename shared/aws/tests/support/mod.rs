//! S3's protocol in this process, with faults on demand in front of it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws::{Bucket, Endpoint, Keys, Limits, Sdk};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const BUCKET: &str = "incidents";

/// What happens to a request instead of its being answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is refused with a status and S3's code; the store does not see it.
    Answer(u16, &'static str),
    /// The store does it, and the connection breaks before the answer.
    LostAnswer,
    /// The store does it, and the answer never comes.
    NoAnswer,
    /// The connection breaks before the store sees it.
    Reset,
}

/// An S3 server of one bucket; it ends when it is dropped.
pub(crate) struct S3 {
    pub(crate) url: String,
    faults: Arc<Faults>,
    folder: tempfile::TempDir,
    _tasks: JoinSet<Infallible>,
}

#[derive(Default)]
struct Faults {
    next: Mutex<VecDeque<(Method, Fault)>>,
    always: Mutex<Option<(Method, Fault)>>,
    seen: Mutex<Vec<(Method, String)>>,
}

impl S3 {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single("test-id", "test-secret"));
        let store = builder.build();
        let faults = Arc::new(Faults::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, store, Arc::clone(&faults)));
        Self {
            url,
            faults,
            folder,
            _tasks: tasks,
        }
    }

    /// Returns the bucket through a client of its own, as another process would have it.
    pub(crate) fn bucket(&self) -> Bucket {
        self.bucket_of(BUCKET)
    }

    pub(crate) fn bucket_of(&self, name: &str) -> Bucket {
        bucket(&self.url, name)
    }

    /// Lets the next requests of a method fail so, one fault each.
    pub(crate) fn next(&self, method: &Method, faults: &[Fault]) {
        let faults = faults.iter().map(|fault| (method.clone(), *fault));
        self.faults.next.lock().unwrap().extend(faults);
    }

    /// Lets all requests of a method fail so, until told otherwise.
    pub(crate) fn always(&self, fault: Option<(Method, Fault)>) {
        *self.faults.always.lock().unwrap() = fault;
    }

    /// Returns how many requests of a method came.
    pub(crate) fn seen(&self, method: &Method) -> usize {
        let seen = self.faults.seen.lock().unwrap();
        seen.iter().filter(|(seen, _)| seen == method).count()
    }

    /// Returns the folder in which the bucket's objects lie.
    pub(crate) fn folder(&self) -> std::path::PathBuf {
        self.folder.path().join(BUCKET)
    }
}

/// Reaches a bucket within short limits, so that a test of a slow server is quick.
pub(crate) fn bucket(url: &str, name: &str) -> Bucket {
    let endpoint: Endpoint = url.parse().unwrap();
    let keys = Keys {
        id: "test-id".to_owned(),
        secret: "test-secret".to_owned(),
    };
    let limits = Limits {
        connect: Duration::from_millis(500),
        attempt: Duration::from_secs(1),
        operation: Duration::from_secs(4),
    };
    let sdk = Sdk::new(Some(endpoint)).or_keys(keys).within(limits);
    Bucket::new(name.parse().unwrap(), sdk)
}

async fn accept(listener: TcpListener, store: S3Service, faults: Arc<Faults>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (store, faults) = (store.clone(), Arc::clone(&faults));
        let service =
            service_fn(move |request| answer(store.clone(), Arc::clone(&faults), request));
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// An error makes the server break the connection.
async fn answer(
    store: S3Service,
    faults: Arc<Faults>,
    request: Request<Incoming>,
) -> Result<Response<s3s::Body>, &'static str> {
    let fault = faults.take(request.method(), request.uri().path());
    match fault {
        None => Ok(done(&store, request).await),
        Some(Fault::Answer(status, code)) => {
            drop(request.into_body().collect().await);
            let body = format!("<Error><Code>{code}</Code><Message>as told</Message></Error>");
            let mut answer = Response::new(s3s::Body::from(body));
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            Ok(answer)
        }
        Some(Fault::LostAnswer) => {
            drop(done(&store, request).await);
            Err("the answer is lost")
        }
        Some(Fault::NoAnswer) => {
            drop(done(&store, request).await);
            std::future::pending().await
        }
        Some(Fault::Reset) => Err("the connection broke"),
    }
}

async fn done(store: &S3Service, request: Request<Incoming>) -> Response<s3s::Body> {
    store.call(request.map(s3s::Body::from)).await.unwrap()
}

impl Faults {
    fn take(&self, method: &Method, path: &str) -> Option<Fault> {
        self.seen
            .lock()
            .unwrap()
            .push((method.clone(), path.to_owned()));
        let mut next = self.next.lock().unwrap();
        if next.front().is_some_and(|(of, _)| of == method) {
            return next.pop_front().map(|(_, fault)| fault);
        }
        let always = self.always.lock().unwrap().clone();
        always
            .filter(|(of, _)| of == method)
            .map(|(_, fault)| fault)
    }
}
