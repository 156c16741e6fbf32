//! What a function's process writes, line by line.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::mpsc::UnboundedSender;

/// The longest line that is passed on whole; what is longer comes in pieces, as from CloudWatch Logs.
const LONGEST: u64 = 256 * 1024;

/// A line that a function's process wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The function's name.
    pub function: Arc<str>,
    /// Which of its sandboxes it was, from 0.
    pub sandbox: usize,
    /// Where it was written to.
    pub stream: Stream,
    /// The line without its end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// One of the two streams of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output: alerts.
    Out,
    /// Standard error: logs, one JSON object a line.
    Err,
}

/// Where lines of one stream of one sandbox go.
#[derive(Clone, Debug)]
pub(super) struct Spout {
    pub(super) function: Arc<str>,
    pub(super) sandbox: usize,
    pub(super) stream: Stream,
    pub(super) lines: UnboundedSender<Line>,
}

impl Spout {
    pub(super) fn new(function: &str, lines: UnboundedSender<Line>) -> Self {
        Self {
            function: function.into(),
            sandbox: 0,
            stream: Stream::Err,
            lines,
        }
    }

    /// Returns the spout of one of the sandboxes.
    pub(super) fn of(&self, sandbox: usize) -> Self {
        Self {
            sandbox,
            ..self.clone()
        }
    }

    /// Passes lines on until the stream ends.
    pub(super) async fn pour(self, from: impl AsyncRead + Unpin) {
        let mut reader = BufReader::new(from);
        let mut bytes = Vec::new();
        loop {
            let mut piece = (&mut reader).take(LONGEST);
            if !matches!(piece.read_until(b'\n', &mut bytes).await, Ok(read) if read > 0) {
                break;
            }
            let text = String::from_utf8_lossy(&bytes);
            self.say(text.trim_end_matches(['\r', '\n']).to_owned());
            bytes.clear();
        }
    }

    /// Passes one line on.
    pub(super) fn say(&self, text: String) {
        let line = Line {
            function: Arc::clone(&self.function),
            sandbox: self.sandbox,
            stream: self.stream,
            text,
        };
        if self.lines.send(line).is_err() {
            // Nobody listens; go on reading, so that the process does not block.
            tracing::trace!("a line went unread");
        }
    }
}
