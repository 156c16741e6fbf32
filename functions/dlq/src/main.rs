//! The `dlq` function.

use std::io::stdout;
use std::process::ExitCode;

use dlq::{DlqStep, Settings};
use lambda::{BatchLoop, Metrics, Stop, SystemClock, serve_batches};

#[tokio::main]
async fn main() -> ExitCode {
    lambda::start(
        Settings::read,
        async |settings: Settings, stop: Stop, metrics: Metrics| {
            let failures = settings.batch_failures;
            let checks = dlq::checks(&settings);
            let step = DlqStep::new(settings, Box::new(stdout()), SystemClock);
            let batches = BatchLoop::new(step, SystemClock, failures, stop.clone());
            let batches = batches.with_metrics(metrics).with_checks(checks);
            serve_batches(&batches, stop).await
        },
    )
    .await
}
