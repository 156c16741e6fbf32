//! How a function's process starts.

use std::io::stderr;
use std::process::ExitCode;

use crate::clock::{Clock, SystemClock};
use crate::log;
use crate::metrics::{FunctionName, Metrics};
use crate::settings::{self, SettingsReader};
use crate::stop::Stop;

/// Starts to log, reads the settings from the process's environment, and serves until the process is told to stop; metrics are
/// written where the logs are.
///
/// Wrong settings are told in one line, all of them, which is a metric too; and the process ends without taking an invocation.
pub async fn start<T>(
    read: impl FnOnce(&mut SettingsReader<'_>) -> Option<T>,
    serve: impl AsyncFnOnce(T, Stop, Metrics) -> Result<(), lambda_runtime::Error>,
) -> ExitCode {
    let env = settings::environment();
    log::init(env("RUST_LOG").as_deref());
    let mut reader = SettingsReader::new(&env);
    let function = FunctionName::read(&mut reader);
    let settings = read(&mut reader).zip(function.clone());
    let metrics = |function| Metrics::new(function, Box::new(stderr()));
    let served = match (reader.finish(settings), function) {
        (Ok((settings, function)), _) => serve(settings, Stop::default(), metrics(function)).await,
        (Err(wrong), Some(function)) => {
            metrics(function).write_failed_start(&wrong.to_string(), SystemClock.now());
            return ExitCode::FAILURE;
        }
        (Err(wrong), None) => {
            tracing::error!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the runtime ended: {error}");
            ExitCode::FAILURE
        }
    }
}
