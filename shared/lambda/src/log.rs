//! Logs: one JSON object a line on standard error.

use std::io;
use std::panic::PanicHookInfo;

use tracing::Span;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::{EnvFilter, Layer, Registry, layer::SubscriberExt};

/// Our own lines from `info` on, and of what we are built on only what is wrong.
///
/// What signs for AWS tells of session tokens at `trace`.
/// The runtime would tell once more, as an error, of each invocation that fails, and of a panic with its message.
const DEFAULT_LEVELS: &str = "info,rdkafka=warn,librdkafka=warn,hyper=warn,hyper_util=warn,reqwest=warn,rustls=warn,aws_config=warn,\
     aws_credential_types=warn,aws_runtime=warn,aws_sdk_s3=warn,aws_sdk_secretsmanager=warn,aws_sdk_sts=warn,\
     aws_sigv4=warn,aws_smithy_runtime=warn,aws_smithy_runtime_api=warn,aws_smithy_http_client=warn,lambda_runtime=warn,lambda_runtime::layers::panic=off,tower=warn";

/// Starts to log; `levels` is the value of `RUST_LOG`. What it says is added to the defaults, and takes their place where it names the same.
///
/// A panic becomes a log line too, without its message: that may hold what a record holds, and is told, masked, where the panic
/// is caught. Called again it changes nothing.
pub fn init(levels: Option<&str>) {
    let (filter, wrong) = match filter(levels) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(DEFAULT_LEVELS), Some(error)),
    };
    let subscriber = Registry::default().with(json_lines(filter, io::stderr));
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        return;
    }
    std::panic::set_hook(Box::new(log_panic));
    if let Some(error) = wrong {
        tracing::warn!("RUST_LOG is wrong, so the default levels hold: {error}");
    }
}

/// Returns the span of one invocation: every line within it holds Lambda's request id.
pub fn invocation(request_id: &str) -> Span {
    tracing::error_span!("invocation", request_id)
}

fn filter(levels: Option<&str>) -> Result<EnvFilter, ParseError> {
    match levels {
        Some(levels) if !levels.trim().is_empty() => {
            EnvFilter::builder().parse(format!("{DEFAULT_LEVELS},{levels}"))
        }
        Some(_) | None => Ok(EnvFilter::new(DEFAULT_LEVELS)),
    }
}

fn json_lines<W>(filter: EnvFilter, writer: W) -> impl Layer<Registry>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(writer)
        .with_filter(filter)
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    tracing::error!(place, "a part of the program panicked");
}

#[cfg(test)]
mod tests;
