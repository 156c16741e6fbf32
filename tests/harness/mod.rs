//! What tests drive the real binaries with.

pub(crate) mod bare;
pub(crate) mod binaries;
pub(crate) mod checked;
pub(crate) mod cluster;
pub(crate) mod emulator;
pub(crate) mod event;
pub(crate) mod gateway;
pub(crate) mod gathered;
pub(crate) mod ladder;
pub(crate) mod orders;
pub(crate) mod payment;
pub(crate) mod secrets;
pub(crate) mod secured;
pub(crate) mod severed;
pub(crate) mod store;
pub(crate) mod world;

use std::time::Duration;

use lambda::{Clock, SystemClock};
use tokio::time::Instant;

/// Waits until something has come true, and fails when it has not within the limit.
#[track_caller]
pub(crate) fn until<'a, F: Future<Output = Result<(), String>> + 'a>(
    limit: Duration,
    what: &'a str,
    mut look: impl FnMut() -> F + 'a,
) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let deadline = Instant::now() + limit;
        loop {
            let Err(still) = look().await else { return };
            assert!(
                Instant::now() < deadline,
                "{caller}: not within {limit:?}: {what}; {still}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Turns a comparison into what [`until`] looks at.
pub(crate) fn is<T: PartialEq + std::fmt::Debug>(found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("found {found:?} instead of {wanted:?}"))
    }
}

/// Returns the time in milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    SystemClock.now().millis()
}

/// Says that a test is not run for want of something; CI must have it.
pub(crate) fn not_run(wanting: &str, why: &dyn std::fmt::Display) {
    assert!(
        std::env::var_os("CI").is_none(),
        "CI must have {wanting}: {why:#}"
    );
    eprintln!("NOT RUN: this test needs {wanting}: {why:#}");
}
