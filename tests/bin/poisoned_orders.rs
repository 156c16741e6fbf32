//! The orders function with a handler that obeys its orders to the death: what a bug in a handler does to the process around it.

mod poisoned;

use std::process::ExitCode;

use lambda::{BatchLoop, Metrics, Stop, SystemClock};
use orders::{Orders, Settings};

use self::poisoned::Poisoned;

#[tokio::main]
async fn main() -> ExitCode {
    lambda::start(
        Settings::read,
        async |settings: Settings, switch: Stop, metrics: Metrics| {
            let failures = settings.batch_failures;
            let alerts = Box::new(std::io::stdout());
            let step = orders::step(Poisoned(Orders), settings, alerts, SystemClock);
            let batches = BatchLoop::new(step, SystemClock, failures, switch.clone());
            let batches = batches.with_metrics(metrics);
            lambda::serve_batches(&batches, switch).await
        },
    )
    .await
}
