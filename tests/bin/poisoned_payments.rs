//! The payments function with a handler that obeys its payments to the death: what a bug in a handler does to the process around it.
//!
//! `metadata.mode` is what it obeys: `abort` ends the process, `loop` never gives the thread back, `hang` never answers, `panic` panics.
//! Everything else is charged as ever.

use std::process::ExitCode;

use lambda::{Attempt, Attempts, BatchLoop, Handler, NoTimeLeft, StageStep, Stop, SystemClock};
use payments::Settings;
use pipeline::{Record, Verdict};

/// The handler of payments behind one that may not come back.
struct Poisoned<H>(H);

impl<H: Handler> Handler for Poisoned<H> {
    #[expect(clippy::panic, reason = "that is what a payment may ask for here")]
    async fn handle(&self, record: &Record, attempt: &Attempt) -> Result<Verdict, NoTimeLeft> {
        match mode(record).as_deref() {
            Some("abort") => std::process::abort(),
            Some("loop") => loop {
                std::hint::spin_loop();
            },
            Some("hang") => std::future::pending().await,
            Some("panic") => panic!("the payment asked for it"),
            Some(_) | None => self.0.handle(record, attempt).await,
        }
    }

    fn call_limit_ms(&self) -> i64 {
        self.0.call_limit_ms()
    }
}

fn mode(record: &Record) -> Option<String> {
    let payment: serde_json::Value = serde_json::from_slice(record.value.as_deref()?).ok()?;
    payment
        .pointer("/metadata/mode")?
        .as_str()
        .map(str::to_owned)
}

#[tokio::main]
async fn main() -> ExitCode {
    lambda::start(Settings::read, async |settings: Settings, switch: Stop| {
        let failures = settings.batch_failures;
        let StageStep {
            stages,
            attempts,
            forwarding,
        } = payments::step(settings, Box::new(std::io::stdout()), SystemClock);
        let step = StageStep {
            stages,
            attempts: Attempts {
                handler: Poisoned(attempts.handler),
                markers: attempts.markers,
                gate: attempts.gate,
                clock: attempts.clock,
            },
            forwarding,
        };
        let batches = BatchLoop::new(step, SystemClock, failures, switch.clone());
        lambda::serve_batches(&batches, switch).await
    })
    .await
}
