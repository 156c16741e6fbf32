//! Attempts at records: the handler is run beside others or alone, in time, and what runs is noted.

use std::panic::AssertUnwindSafe;

use futures_util::future::FutureExt;
use pipeline::{ErrorCode, Failure, Record, Timestamp, Verdict};

use crate::clock::Clock;
use crate::gate::Gate;
use crate::handler::{Attempt, Handler, NoTimeLeft};
use crate::markers::{Alone, Markers, Running, Standing};
use crate::panic::panic_message;
use crate::turn::Turn;

/// Runs a handler on records, and finds out which of them end the process.
#[derive(Debug)]
pub struct Attempts<H, C> {
    /// What handles a record.
    pub handler: H,
    /// Notes on what runs, which outlive the process.
    pub markers: Markers,
    /// How many records run at once.
    pub gate: Gate,
    /// The clock.
    pub clock: C,
}

/// What kind of topic a record was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// The topic that producers write to.
    Main,
    /// A retry topic, on which it was due at this time.
    Retry(Timestamp),
}

impl<H: Handler, C: Clock> Attempts<H, C> {
    /// Is told that an invocation starts.
    pub(crate) fn start(&self, now: Timestamp) {
        self.markers.start_invocation(now);
    }

    /// Runs the handler, unless the record is condemned or no time is left; a panic is a verdict too.
    pub(crate) async fn make(
        &self,
        record: &Record,
        read_from: ReadFrom,
        turn: &Turn,
    ) -> Result<Verdict, NoTimeLeft> {
        let standing =
            self.markers
                .standing(&record.coordinates, record.timestamp, self.clock.now());
        let (alone, pass) = match standing {
            Standing::Clear | Standing::Touched => (Alone::No, self.gate.beside_others().await),
            Standing::Suspect => (Alone::Yes, self.gate.alone().await),
            Standing::Condemned => {
                // Behind every suspect: one that ends the process after this dead letter would have it written twice.
                tokio::task::yield_now().await;
                drop(self.gate.alone().await);
                if turn.is_closing() {
                    return Err(NoTimeLeft);
                }
                let message =
                    "it ended the process three times while it ran alone, and was not run again";
                return Ok(permanent(ErrorCode::HandlerCrashed, message));
            }
        };
        let last_call = turn.deadline().last_call(self.handler.call_limit_ms());
        if turn.is_closing() || self.clock.now() > last_call {
            return Err(NoTimeLeft);
        }
        let attempt = Attempt {
            on_retry_stage: matches!(read_from, ReadFrom::Retry(_)),
            suspect: standing != Standing::Clear,
            last_call,
        };
        turn.late(
            match read_from {
                ReadFrom::Main => record.timestamp,
                ReadFrom::Retry(due) => due,
            },
            self.clock.now(),
        );
        let noted = Noted::begin(&self.markers, &self.clock, record, alone);
        // Boxed, so that a handler's depth does not add to the depth of the loop's own types.
        let handling = Box::pin(self.handler.handle(record, &attempt));
        let handled = AssertUnwindSafe(handling).catch_unwind().await;
        drop(pass);
        match handled {
            Ok(Ok(verdict)) => {
                noted.end();
                Ok(verdict)
            }
            Ok(Err(NoTimeLeft)) => {
                noted.let_go();
                Err(NoTimeLeft)
            }
            Err(panic) => {
                noted.end();
                Ok(permanent(ErrorCode::HandlerPanic, panic_message(&*panic)))
            }
        }
    }
}

fn permanent(code: ErrorCode, message: &str) -> Verdict {
    Verdict::Permanent(Failure::new(code, message))
}

/// A note that a record runs; dropped without an end, its handler did not come back in time.
struct Noted<'a, C: Clock> {
    markers: &'a Markers,
    clock: &'a C,
    running: Option<Running>,
}

impl<'a, C: Clock> Noted<'a, C> {
    fn begin(markers: &'a Markers, clock: &'a C, record: &Record, alone: Alone) -> Self {
        let running = markers.begin(&record.coordinates, record.timestamp, alone, clock.now());
        Self {
            markers,
            clock,
            running: Some(running),
        }
    }

    fn end(mut self) {
        if let Some(running) = self.running.take() {
            self.markers.end(running);
        }
    }

    /// The handler came back without a verdict: that says nothing of the record.
    fn let_go(mut self) {
        if let Some(running) = self.running.take() {
            self.markers.let_go(running);
        }
    }
}

impl<C: Clock> Drop for Noted<'_, C> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.markers.hung(running, self.clock.now());
        }
    }
}
