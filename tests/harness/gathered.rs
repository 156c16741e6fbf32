//! What comes in over a channel, kept for as long as a test asks.

use std::sync::{Mutex, PoisonError};

use local::function::{Line, Stream};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A channel with everything that came through it.
#[derive(Debug)]
pub(crate) struct Gathered<T> {
    sender: UnboundedSender<T>,
    received: Mutex<Received<T>>,
}

#[derive(Debug)]
struct Received<T> {
    receiver: UnboundedReceiver<T>,
    before: Vec<T>,
}

impl<T: Clone> Received<T> {
    fn all(&mut self) -> Vec<T> {
        while let Ok(next) = self.receiver.try_recv() {
            self.before.push(next);
        }
        self.before.clone()
    }
}

impl<T: Clone> Gathered<T> {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self {
            sender,
            received: Mutex::new(Received {
                receiver,
                before: Vec::new(),
            }),
        }
    }

    pub(crate) fn sender(&self) -> UnboundedSender<T> {
        self.sender.clone()
    }

    /// Returns everything so far.
    pub(crate) fn all(&self) -> Vec<T> {
        self.received
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .all()
    }
}

impl Gathered<Line> {
    /// Returns the log lines of a function, each as its JSON.
    pub(crate) fn logs(&self, function: &str) -> Vec<Value> {
        let lines = self.all().into_iter();
        lines
            .filter(|line| &*line.function == function && line.stream == Stream::Err)
            .filter_map(|line| serde_json::from_str(&line.text).ok())
            .collect()
    }

    /// Returns the first lines of all alerts of a function.
    pub(crate) fn alerts(&self, function: &str) -> Vec<String> {
        let lines = self.all().into_iter();
        lines
            .filter(|line| &*line.function == function && line.stream == Stream::Out)
            .filter(|line| line.text.starts_with("[ALERT]"))
            .map(|line| line.text)
            .collect()
    }
}
