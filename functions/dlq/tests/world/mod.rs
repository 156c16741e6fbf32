//! The dlq function in this process: a real S3 server, a real webhook, and a clock that is moved.

#[path = "../../../../shared/aws/tests/support/mod.rs"]
pub(crate) mod s3;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use aws::Bucket;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dlq::{DlqStep, Webhook};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use lambda::gate::Gate;
use lambda::{BatchFailures, BatchLoop, Clock, Stop};
use pipeline::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use s3::S3;

/// One process of the function.
pub(crate) struct World {
    pub(crate) batches: BatchLoop<DlqStep<Bucket, TestClock>, TestClock>,
    pub(crate) out: Out,
    metrics: Metrics,
}

impl World {
    pub(crate) fn new(s3: &S3, webhook: Option<Webhook>) -> Self {
        Self::answering(s3, webhook, BatchFailures::Report)
    }

    pub(crate) fn answering(s3: &S3, webhook: Option<Webhook>, failures: BatchFailures) -> Self {
        let out = Out {
            folder: s3.folder(),
            written: Arc::default(),
        };
        let clock = TestClock::default();
        let gate = Gate::new(NonZeroU16::new(32).unwrap());
        let step = DlqStep::with(
            s3.bucket(),
            webhook,
            gate,
            Box::new(out.clone()),
            clock.clone(),
        );
        let metrics = Metrics::default();
        let lines = lambda::Metrics::new("dlq".parse().unwrap(), Box::new(metrics.clone()));
        let batches = BatchLoop::new(step, clock, failures, Stop::default());
        Self {
            batches: batches.with_metrics(lines),
            out,
            metrics,
        }
    }

    /// Takes what the metrics counted since it was last asked, in the order of these names; what is not told is 0.
    pub(crate) fn counted<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        let lines = self.metrics();
        let count = |name| lines.iter().filter_map(|line| line[name].as_u64()).sum();
        names.map(count)
    }

    /// Takes the lines of metrics since it was last asked.
    pub(crate) fn metrics(&self) -> Vec<Value> {
        let text = String::from_utf8(std::mem::take(&mut *self.metrics.0.lock().unwrap())).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Runs one invocation of 60 s and returns the answer as JSON, or the error's name.
    pub(crate) async fn invoke(&self, records: &[Value]) -> Value {
        let event = event(records).to_string();
        match self.batches.run(&event, 60_000).await {
            Ok(answer) => serde_json::to_value(answer).unwrap(),
            Err(error) => json!(error.error_type()),
        }
    }
}

/// Returns an event of one partition, whatever the records are.
fn event(records: &[Value]) -> Value {
    json!({"eventSource": "aws:kafka", "records": {"brew.payments.dlq-1": records}})
}

/// Returns a dead letter as Lambda sends it.
pub(crate) fn dead_letter(offset: i64, class: &str, code: &str) -> Value {
    let header = |name: &str, value: &str| json!({name: value.as_bytes()});
    json!({
        "topic": "brew.payments.dlq", "partition": 1, "offset": offset,
        "timestamp": 1_755_933_141_805_i64, "timestampType": "CREATE_TIME",
        "key": STANDARD.encode(format!("k-{offset}")), "value": "eyJwYXltZW50X2lkIjoiay03In0=",
        "headers": [
            header("error.class", class), header("error.code", code), header("error.message", "it failed"),
            header("retry.count", "3"), header("previous.topic", "brew.payments.retry.1h"),
            header("original.topic", "brew.payments.v1"), header("original.partition", "0"), header("original.offset", "14"),
        ],
    })
}

pub(crate) fn timeouts(offsets: std::ops::Range<i64>) -> Vec<Value> {
    offsets
        .map(|offset| dead_letter(offset, "transient", "provider.timeout"))
        .collect()
}

/// Returns an answer that hands these offsets back.
pub(crate) fn handing_back(offsets: &[i64]) -> Value {
    let item =
        |offset| json!({"itemIdentifier": {"partition": "brew.payments.dlq-1", "offset": offset}});
    json!({"batchItemFailures": offsets.iter().map(item).collect::<Vec<Value>>()})
}

/// Returns the keys of all objects under a prefix, in order.
pub(crate) async fn keys(s3: &S3, prefix: &str) -> Vec<String> {
    let listed = s3.bucket().list(prefix).await.unwrap();
    listed.into_iter().map(|object| object.key).collect()
}

/// Standard error, as far as metrics go.
#[derive(Clone, Default)]
struct Metrics(Arc<Mutex<Vec<u8>>>);

impl Write for Metrics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output: what was written, and how many objects there were when it was.
#[derive(Clone)]
pub(crate) struct Out {
    folder: PathBuf,
    written: Arc<Mutex<Vec<(String, usize)>>>,
}

impl Out {
    pub(crate) fn alerts(&self) -> Vec<String> {
        self.written
            .lock()
            .unwrap()
            .iter()
            .map(|(text, _)| text.clone())
            .collect()
    }

    pub(crate) fn objects_at_each(&self) -> Vec<usize> {
        self.written
            .lock()
            .unwrap()
            .iter()
            .map(|(_, objects)| *objects)
            .collect()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let objects = files(&self.folder.join("incidents"));
        self.written.lock().unwrap().push((text, objects));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { files(&path) } else { 1 })
        .sum()
}

/// A clock that stands still, and jumps where someone waits for a time that is near; what is far away never comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_755_933_200_000).plus_millis(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, time: Timestamp) {
        let left = time.millis_since(self.now());
        if left > 31_000 {
            std::future::pending::<()>().await;
        }
        self.0.fetch_add(left.max(0), Ordering::SeqCst);
    }
}

/// A webhook: what was posted to it, and how it answers the next posts; `None` is never.
pub(crate) struct Hook {
    pub(crate) url: String,
    pub(crate) posts: Arc<Mutex<Vec<Value>>>,
    _tasks: JoinSet<Infallible>,
}

impl Hook {
    pub(crate) async fn start(answers: &[Option<u16>]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let posts = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::new(Mutex::new(answers.iter().copied().collect::<VecDeque<_>>()));
        let mut tasks = JoinSet::new();
        let seen = Arc::clone(&posts);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (posts, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (posts, answers) = (Arc::clone(&posts), Arc::clone(&answers));
                    async move {
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        posts
                            .lock()
                            .unwrap()
                            .push(serde_json::from_slice(&body).unwrap());
                        let answer = answers.lock().unwrap().pop_front().unwrap_or(Some(200));
                        let Some(status) = answer else {
                            return std::future::pending().await;
                        };
                        let mut answer = Response::new(Full::<Bytes>::default());
                        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
                        Ok::<_, Infallible>(answer)
                    }
                });
                connections
                    .spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self {
            url,
            posts,
            _tasks: tasks,
        }
    }

    pub(crate) fn webhook(&self) -> Webhook {
        Webhook::fixed(self.url.parse().unwrap())
    }

    /// Returns class, code and count of each post.
    pub(crate) fn told(&self) -> Vec<(String, String, u64)> {
        let text = |post: &Value, field: &str| post[field].as_str().unwrap().to_owned();
        let told = |post: &Value| {
            (
                text(post, "error_class"),
                text(post, "error_code"),
                post["count"].as_u64().unwrap(),
            )
        };
        self.posts.lock().unwrap().iter().map(told).collect()
    }
}
