use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::world::*;

/// Whatever call of the store fails, before or after it did what it should: nothing is lost, nothing unknown, at most a chunk doubled.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_at_any_call_loses_nothing_and_doubles_nothing() {
    for kept in [
        Kept::Fault,
        Kept::Lost,
        Kept::Slowly(Duration::from_mins(2)),
    ] {
        for faulty in 0..16 {
            let world = world(2, 20);
            world.dlq.lock().unwrap().chunk = 10;
            let count = AtomicUsize::new(0);
            world.state.set_rule(move |_, _| {
                if count.fetch_add(1, Ordering::SeqCst) == faulty {
                    kept
                } else {
                    Kept::Well
                }
            });
            let payload = json!({ "all": true, "rate_per_second": 0 });
            let first = world.try_run(&payload, Duration::from_mins(1)).await;
            let published = world.returned().len();
            let payload = match first {
                Ok(answer) => {
                    assert_eq!(answer.published, u64::try_from(published).unwrap());
                    match answer.resume {
                        Some(token) => json!({ "resume": token }),
                        None => continue,
                    }
                }
                Err(error) => {
                    assert_eq!(error.error_type(), "StoreFault", "{faulty}: {error}");
                    assert_eq!(published, 0, "{faulty}");
                    payload
                }
            };
            // A lease whose return failed dies by itself.
            tokio::time::sleep(Duration::from_secs(61)).await;
            let rest = world.elsewhere().run(&payload).await;
            assert!(rest.complete, "{kept:?} {faulty}: {rest:?}");
            check_once(&world.returned(), &places(2, 20));
            // All of it stands in the ledger.
            let dry = world.run(&json!({ "dry_run": true })).await;
            assert_eq!(dry.skipped["already-replayed"], 40, "{kept:?} {faulty}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_written_down_is_carried_by_the_token_and_written_first() {
    let world = world(1, 10);
    world.state.set_rule(|call, key| {
        if call == "put" && key.contains("_ledger") {
            Kept::Fault
        } else {
            Kept::Well
        }
    });
    let answer = world.run(&json!({ "all": true })).await;
    assert_eq!(
        (answer.published, answer.complete, answer.stopped.as_deref()),
        (10, false, Some("store"))
    );
    assert!(answer.fault.unwrap().contains("_ledger"));
    let payload = json!({ "resume": answer.resume.unwrap() });
    let error = world.try_run(&payload, LONG).await.unwrap_err();
    assert_eq!(error.error_type(), "StoreFault");
    world.state.set_rule(|_, _| Kept::Well);
    assert!(world.run(&payload).await.complete);
    let rest = world.run(&json!({ "all": true })).await;
    assert_eq!((rest.published, world.returned().len()), (0, 10));
}

#[tokio::test(start_paused = true)]
async fn a_ledger_object_that_cannot_be_read_stops_everything() {
    let world = world(1, 10);
    let key = "replays/_ledger/dlq/99999999999999999999-00000000000000000000-run-1-x.json";
    world.state.put(key, b"garbage".to_vec());
    let error = world.try_run(&json!({ "all": true }), LONG).await;
    let error = error.unwrap_err();
    assert_eq!(error.error_type(), "StoreFault");
    assert!(error.to_string().contains(key), "{error}");
    assert_eq!(world.returned(), [""; 0]);
}
