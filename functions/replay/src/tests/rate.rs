use std::time::Duration;

use lambda::Clock;
use serde_json::json;

use super::world::*;

/// Sends so many at a rate; returns how long it took and the most that went within any second.
async fn check(rate: f64, count: i64, takes: Duration, most_in_a_second: usize) {
    let world = world(1, count);
    world
        .run(&json!({ "all": true, "rate_per_second": rate }))
        .await;
    let produced = world.main.produced.lock().unwrap();
    let times: Vec<i64> = produced
        .iter()
        .map(|(time, _)| time.millis_since(BEGIN))
        .collect();
    assert_eq!(times.len(), usize::try_from(count).unwrap());
    let last = Duration::from_millis(u64::try_from(*times.last().unwrap()).unwrap());
    assert!(last >= takes, "{rate}: the last went after {last:?}");
    assert!(
        last <= takes + Duration::from_secs(1),
        "{rate}: the last went after {last:?}"
    );
    let within = |from: i64| {
        times
            .iter()
            .filter(|time| (from..from + 1_000).contains(*time))
            .count()
    };
    let most = times.iter().map(|time| within(*time)).max().unwrap();
    assert!(
        most <= most_in_a_second,
        "{rate}: {most} went within a second"
    );
    let at_once = times.iter().filter(|time| **time == 0).count();
    let worth = rate.max(1.0);
    assert!(
        f64::from(u32::try_from(at_once).unwrap()) <= worth,
        "{rate}: {at_once} went at once"
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_go_than_the_rate_allows() {
    check(100.0, 500, Duration::from_millis(4_800), 110).await;
    check(10.0, 31, Duration::from_secs(3), 11).await;
    check(1.0, 5, Duration::from_secs(4), 2).await;
}

#[tokio::test(start_paused = true)]
async fn fractions_are_kept() {
    check(0.5, 4, Duration::from_secs(6), 1).await;
    check(2.5, 6, Duration::from_secs(2), 3).await;
    check(0.01, 3, Duration::from_secs(200), 1).await;
}

#[tokio::test(start_paused = true)]
async fn the_default_is_a_hundred_a_second() {
    let world = world(1, 200);
    world.run(&json!({ "all": true })).await;
    assert!(world.clock.now().millis_since(BEGIN) >= 1_800);
}

#[tokio::test(start_paused = true)]
async fn nought_is_no_limit_and_a_dry_run_has_none() {
    for payload in [
        json!({ "all": true, "rate_per_second": 0 }),
        json!({ "dry_run": true }),
    ] {
        let world = world(1, 2_000);
        let answer = world.run(&payload).await;
        assert_eq!(answer.matched, 2_000);
        // 2,000 records, 4 at once, 5 ms each.
        assert!(world.clock.now().millis_since(BEGIN) <= 2_500, "{payload}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_over_many_invocations_keeps_its_rate() {
    let world = world(1, 6);
    let mut payload = json!({ "all": true, "rate_per_second": 0.05 });
    let mut invocations = 0;
    loop {
        let answer = world.run_within(&payload, Duration::from_secs(25)).await;
        invocations += 1;
        let Some(token) = answer.resume else {
            break;
        };
        payload = json!({ "resume": token });
        // Whoever drives it goes on at once, or nearly so.
        world
            .clock
            .sleep_until(world.clock.now().plus_millis(500))
            .await;
    }
    let produced = world.main.produced.lock().unwrap();
    let times: Vec<i64> = produced
        .iter()
        .map(|(time, _)| time.millis_since(BEGIN))
        .collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= 20_000, "{times:?}");
        assert!(pair[1] - pair[0] < 21_000, "{times:?}");
    }
    assert!(times.len() == 6 && invocations > 6, "{invocations}");
}

#[tokio::test(start_paused = true)]
async fn a_token_from_a_clock_that_is_ahead_holds_nothing_up_for_longer_than_the_rate() {
    let world = world(1, 3);
    let ask = json!({ "all": true, "limit": 1, "rate_per_second": 0.001 });
    let first = world.run(&ask).await;
    let payload = json!({ "resume": first.resume, "limit": 10, "rate_per_second": 1 });
    let second = world.run(&payload).await;
    assert_eq!((second.published, second.complete), (2, true));
    assert!(world.clock.now().millis_since(BEGIN) < 3_000);
}
