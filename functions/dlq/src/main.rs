//! The `dlq` function.

use std::process::ExitCode;

use dlq::{DlqStep, Settings};
use lambda::{BatchLoop, SettingsReader, Stop, SystemClock};

#[tokio::main]
async fn main() -> ExitCode {
    let env = lambda::settings::environment();
    lambda::log::init(env("RUST_LOG").as_deref());
    let mut reader = SettingsReader::new(&env);
    let settings = Settings::read(&mut reader);
    let settings = match reader.finish(settings) {
        Ok(settings) => settings,
        Err(wrong) => {
            tracing::error!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    let (stop, failures) = (Stop::default(), settings.batch_failures);
    let dead_letters = DlqStep::new(settings, Box::new(std::io::stdout()), SystemClock);
    let batches = BatchLoop::new(dead_letters, SystemClock, failures, stop.clone());
    match lambda::serve_batches(&batches, stop).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the runtime ended: {error}");
            ExitCode::FAILURE
        }
    }
}
