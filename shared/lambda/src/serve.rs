//! The way between Lambda's Runtime API and a function: payload text in, answer or named error out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::Instrument;

use crate::batch::{BatchLoop, Step};
use crate::clock::Clock;
use crate::invocation::InvocationError;
use crate::log;
use crate::stop::Stop;

/// How long after the last invocation a stopped process lingers, so that its answer is on the wire.
const LINGER: Duration = Duration::from_millis(250);

/// Serves a batch function until the process is told to stop: one invocation at a time.
pub async fn serve_batches<S: Step, C: Clock>(
    batches: &BatchLoop<S, C>,
    stop: Stop,
) -> Result<(), lambda_runtime::Error> {
    serve(stop, async |payload: &str, context: &Context| {
        batches
            .run(payload, context.deadline)
            .await
            .map_err(|error| named(&error))
    })
    .await
}

/// Serves a function until the process is told to stop: its payload as JSON text, Lambda's context, and an answer or a named error.
///
/// `SIGTERM` and `SIGINT` throw the switch: a running invocation answers first, handing back what it has not started.
pub async fn serve<A: Serialize>(
    stop: Stop,
    handle: impl AsyncFn(&str, &Context) -> Result<A, Diagnostic>,
) -> Result<(), lambda_runtime::Error> {
    let running = AtomicUsize::new(0);
    let (handle, running_now) = (&handle, &running);
    let invocations = lambda_runtime::run(service_fn(
        async move |event: LambdaEvent<Box<RawValue>>| {
            running_now.fetch_add(1, Ordering::SeqCst);
            let span = log::invocation(&event.context.request_id);
            let answer = handle(event.payload.get(), &event.context)
                .instrument(span)
                .await;
            running_now.fetch_sub(1, Ordering::SeqCst);
            answer
        },
    ));
    tokio::select! {
        ended = invocations => ended,
        () = stopped(&stop, &running) => Ok(()),
    }
}

/// Waits for a signal to stop, throws the switch, and waits until nothing runs.
async fn stopped(stop: &Stop, running: &AtomicUsize) {
    signalled().await;
    stop.stop();
    loop {
        let busy = running.load(Ordering::SeqCst) > 0;
        tokio::time::sleep(LINGER).await;
        if !busy && running.load(Ordering::SeqCst) == 0 {
            return;
        }
    }
}

async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

fn named(error: &InvocationError) -> Diagnostic {
    tracing::warn!(
        error.r#type = error.error_type(),
        "invocation failed: {error}"
    );
    Diagnostic {
        error_type: error.error_type().to_owned(),
        error_message: error.to_string(),
    }
}
