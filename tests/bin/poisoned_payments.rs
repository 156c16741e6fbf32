//! The payments function with a handler that obeys its payments to the death: what a bug in a handler does to the process around it.

mod poisoned;

use std::process::ExitCode;

use lambda::{Attempts, BatchLoop, Metrics, StageStep, Stop, SystemClock};
use payments::Settings;

use self::poisoned::Poisoned;

#[tokio::main]
async fn main() -> ExitCode {
    lambda::start(
        Settings::read,
        async |settings: Settings, switch: Stop, metrics: Metrics| {
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
            let batches = batches.with_metrics(metrics);
            lambda::serve_batches(&batches, switch).await
        },
    )
    .await
}
