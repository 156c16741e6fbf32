//! The main topic and its broker in memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lambda::{Broker, Clock, ProduceError};
use pipeline::{Coordinates, Outgoing, Timestamp};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::MovedClock;

/// What the broker does with a record.
pub(crate) type Rule = Box<dyn Fn(&Outgoing) -> Reply + Send + Sync>;

pub(crate) enum Reply {
    Ok,
    Refused,
    Fault,
    /// No reply until the broker's client gives up.
    Silence,
}

/// The main topic and its broker.
pub(crate) struct Main {
    pub(crate) produced: Mutex<Vec<(Timestamp, Outgoing)>>,
    pub(crate) rule: Mutex<Rule>,
    pub(crate) takes: Mutex<Duration>,
    pub(crate) most_at_once: AtomicUsize,
    at_once: AtomicUsize,
    given_up: Notify,
    clock: MovedClock,
}

pub(crate) struct SharedMain(pub(super) Arc<Main>);

impl Main {
    /// Starts empty, and takes every record.
    pub(super) fn new(clock: MovedClock) -> Self {
        Self {
            produced: Mutex::default(),
            rule: Mutex::new(Box::new(|_| Reply::Ok)),
            takes: Mutex::new(Duration::from_millis(5)),
            most_at_once: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            given_up: Notify::new(),
            clock,
        }
    }
}

impl Broker for SharedMain {
    async fn produce(&self, outgoing: &Outgoing) -> Result<Coordinates, ProduceError> {
        let main = &self.0;
        let reply = (main.rule.lock().unwrap())(outgoing);
        // The place in the partition is taken when the record is sent, not when it is acknowledged.
        if matches!(reply, Reply::Ok) {
            main.produced
                .lock()
                .unwrap()
                .push((main.clock.now(), outgoing.clone()));
        }
        let at_once = main.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        main.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let takes = *main.takes.lock().unwrap();
        sleep(takes).await;
        if matches!(reply, Reply::Silence) {
            main.given_up.notified().await;
        }
        main.at_once.fetch_sub(1, Ordering::SeqCst);
        match reply {
            Reply::Ok => Ok("main/0/0".parse().unwrap()),
            Reply::Refused => Err(ProduceError::Refused("too large".to_owned())),
            Reply::Fault => Err(ProduceError::Fault("no leader (brokers b:9092)".to_owned())),
            Reply::Silence => Err(ProduceError::Fault("given up (brokers b:9092)".to_owned())),
        }
    }

    fn give_up(&self) {
        self.0.given_up.notify_waiters();
    }
}
