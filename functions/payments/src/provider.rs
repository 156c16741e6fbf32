//! A provider for tests: a real server on a real socket, which answers byte by byte what a test wants.
//!
//! It runs on threads of its own, so that neither the runtime's time nor its tasks are touched.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The request line without its end.
    pub(crate) line: String,
    /// The header lines, names in lower case.
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
    /// Which request of its connection it is, from 0.
    pub(crate) nth: usize,
}

impl Request {
    pub(crate) fn is_post(&self) -> bool {
        self.line.starts_with("POST ")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// What the provider does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Writes this and waits for the next request.
    Keep(Vec<u8>),
    /// Writes this after a while and waits for the next request.
    Slowly(Duration, Vec<u8>),
    /// Writes this and hangs up.
    Close(Vec<u8>),
    /// Writes this and says nothing more.
    Hang(Vec<u8>),
    /// Writes this and resets the connection: what the client has sent is not all read.
    Reset(Vec<u8>),
    /// Writes the first once and the second without end.
    Endless(Vec<u8>, Vec<u8>),
}

/// Returns an answer with a body of known length.
pub(crate) fn answer(status: u16, body: &str) -> Reply {
    Reply::Keep(bytes_of(status, body))
}

pub(crate) fn bytes_of(status: u16, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A running provider; its threads end with the process of the tests.
#[derive(Debug)]
pub(crate) struct Provider {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
}

impl Provider {
    /// Starts a provider that answers by this rule.
    pub(crate) fn start(rule: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let provider = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let (requests, connections) = (provider.requests.clone(), provider.connections.clone());
        let rule = Arc::new(rule);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = connections.fetch_add(1, Ordering::SeqCst);
                let (requests, rule) = (requests.clone(), rule.clone());
                thread::spawn(move || serve(stream.unwrap(), connection, &requests, &*rule));
            }
        });
        provider
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the methods of all requests in order, as in `GET POST GET`.
    pub(crate) fn methods(&self) -> String {
        let requests = self.requests();
        let methods: Vec<&str> = requests
            .iter()
            .map(|request| request.line.split(' ').next().unwrap())
            .collect();
        methods.join(" ")
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    requests: &Mutex<Vec<Request>>,
    rule: &(dyn Fn(&Request) -> Reply + Send + Sync),
) {
    for nth in 0.. {
        let Some(request) = read(&mut stream, connection, nth) else {
            return;
        };
        requests.lock().unwrap().push(request.clone());
        match rule(&request) {
            Reply::Keep(bytes) => write(&mut stream, &bytes),
            Reply::Slowly(pause, bytes) => {
                thread::sleep(pause);
                write(&mut stream, &bytes);
            }
            Reply::Close(bytes) => return write(&mut stream, &bytes),
            Reply::Hang(bytes) => {
                write(&mut stream, &bytes);
                // Until the client gives up.
                drop(stream.read(&mut [0]));
                return;
            }
            Reply::Reset(bytes) => {
                write(&mut stream, &bytes);
                // The client has to read what was written before the reset throws it away.
                thread::sleep(Duration::from_millis(50));
                return reset(stream);
            }
            Reply::Endless(first, again) => {
                write(&mut stream, &first);
                while stream.write_all(&again).is_ok() {}
                return;
            }
        }
    }
}

/// Closes the connection with a reset; the standard library alone cannot.
fn reset(stream: TcpStream) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    stream.set_nonblocking(true).unwrap();
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    stream.set_zero_linger().unwrap();
}

fn write(stream: &mut TcpStream, bytes: &[u8]) {
    drop(stream.write_all(bytes));
}

fn read(stream: &mut TcpStream, connection: usize, nth: usize) -> Option<Request> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().split("\r\n").map(str::to_owned);
    let mut request = Request {
        line: lines.next()?,
        headers: lines.collect(),
        body: String::new(),
        connection,
        nth,
    };
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}
