//! A handler that obeys its records to the death.

use lambda::{Attempt, Handler, Measured, NoTimeLeft};
use pipeline::{Record, Verdict};

/// A handler behind one that may not come back.
///
/// `metadata.mode` is what it obeys: `abort` ends the process, `loop` never gives the thread back, `hang` never answers, `panic` panics.
/// Everything else is handled as ever.
pub(crate) struct Poisoned<H>(pub(crate) H);

impl<H: Handler> Handler for Poisoned<H> {
    #[expect(clippy::panic, reason = "that is what a record may ask for here")]
    async fn handle(&self, record: &Record, attempt: &Attempt) -> Result<Verdict, NoTimeLeft> {
        match mode(record).as_deref() {
            Some("abort") => std::process::abort(),
            Some("loop") => loop {
                std::hint::spin_loop();
            },
            Some("hang") => std::future::pending().await,
            Some("panic") => panic!("the record asked for it"),
            Some(_) | None => self.0.handle(record, attempt).await,
        }
    }

    fn call_limit_ms(&self) -> i64 {
        self.0.call_limit_ms()
    }

    fn measured(&self) -> Measured {
        self.0.measured()
    }
}

fn mode(record: &Record) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(record.value.as_deref()?).ok()?;
    value.pointer("/metadata/mode")?.as_str().map(str::to_owned)
}
