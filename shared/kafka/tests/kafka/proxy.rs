//! A TCP proxy before the broker: it sees what goes over the wire, and goes silent or closes when told to.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::wire::{Produced, produced};

pub(crate) struct Proxy {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    broker: String,
    advertised: Vec<u8>,
    instead: Vec<u8>,
    links: Mutex<Vec<Arc<Link>>>,
    produced: Mutex<Vec<Produced>>,
    mute: AtomicBool,
}

/// One connection through the proxy.
struct Link {
    client: TcpStream,
    broker: TcpStream,
    silent: AtomicBool,
}

impl Proxy {
    /// Listens before a broker that advertises itself by the address it is reached at.
    pub(crate) fn before(broker: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (host, broker_port) = broker.rsplit_once(':').unwrap();
        let named =
            |host: &str, port: u16| [host.as_bytes(), &u32::from(port).to_be_bytes()].concat();
        let shared = Arc::new(Shared {
            broker: broker.to_owned(),
            advertised: named(host, broker_port.parse().unwrap()),
            instead: named(host, port),
            links: Mutex::default(),
            produced: Mutex::default(),
            mute: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                of_thread.link(client.unwrap());
            }
        });
        Self {
            address: format!("{host}:{port}"),
            shared,
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Closes every connection there is.
    pub(crate) fn close(&self) {
        for link in self.shared.links.lock().unwrap().drain(..) {
            link.client.shutdown(Shutdown::Both).ok();
            link.broker.shutdown(Shutdown::Both).ok();
        }
    }

    /// Swallows whatever comes over the connections there are, without closing them; new ones work.
    pub(crate) fn swallow(&self) {
        for link in self.shared.links.lock().unwrap().iter() {
            link.silent.store(true, Ordering::SeqCst);
        }
    }

    /// Keeps every answer to itself from now on, while requests go through.
    pub(crate) fn mute(&self) {
        self.shared.mute.store(true, Ordering::SeqCst);
    }

    /// Returns the batches of all produce requests so far.
    pub(crate) fn produced(&self) -> Vec<Produced> {
        self.shared.produced.lock().unwrap().clone()
    }
}

impl Shared {
    fn link(self: &Arc<Self>, client: TcpStream) {
        let Ok(broker) = TcpStream::connect(&self.broker) else {
            return;
        };
        let link = Arc::new(Link {
            client,
            broker,
            silent: AtomicBool::new(false),
        });
        self.links.lock().unwrap().push(Arc::clone(&link));
        let (shared, requests) = (Arc::clone(self), Arc::clone(&link));
        thread::spawn(move || shared.requests(&requests));
        let shared = Arc::clone(self);
        thread::spawn(move || shared.answers(&link));
    }

    fn requests(&self, link: &Link) {
        while let Ok(frame) = frame(&link.client) {
            if link.silent.load(Ordering::SeqCst) {
                continue;
            }
            self.produced.lock().unwrap().extend(produced(&frame));
            if (&link.broker).write_all(&frame).is_err() {
                break;
            }
        }
        link.broker.shutdown(Shutdown::Both).ok();
    }

    fn answers(&self, link: &Link) {
        while let Ok(mut frame) = frame(&link.broker) {
            if link.silent.load(Ordering::SeqCst) || self.mute.load(Ordering::SeqCst) {
                continue;
            }
            // Metadata names the broker by its own address: the client is to come back to us.
            let length = self.advertised.len();
            let found = frame
                .windows(length)
                .position(|bytes| bytes == self.advertised);
            if let Some(place) = found.and_then(|at| frame.get_mut(at..)?.get_mut(..length)) {
                place.copy_from_slice(&self.instead);
            }
            if (&link.client).write_all(&frame).is_err() {
                break;
            }
        }
        link.client.shutdown(Shutdown::Both).ok();
    }
}

/// Reads a request or an answer, with its length before it.
fn frame(mut from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    from.read_exact(&mut frame)?;
    let length = u32::from_be_bytes(frame.as_slice().try_into().unwrap());
    from.take(length.into()).read_to_end(&mut frame)?;
    Ok(frame)
}
