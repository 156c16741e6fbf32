//! How long the exchanges with the provider took.

use lambda::Time;

use super::*;

/// Checks how many exchanges were measured: charges, and questions.
async fn check(attempt: Attempt, post: Reply, get: Reply, charges: usize, questions: usize) {
    let provider = Provider::start(rule(post.clone(), get));
    let charge = Parts {
        limit: "600ms",
        ..Parts::default()
    }
    .charge(&provider);
    let verdict = charge.handle(&record(Some(payment("k-7"))), &attempt).await;
    let measured = charge.measured();
    let (post_ms, get_ms) = (
        measured.timed(Time::ChargeLatency),
        measured.timed(Time::AskLatency),
    );
    assert_eq!(
        (post_ms.len(), get_ms.len()),
        (charges, questions),
        "{post:?}: {verdict:?}"
    );
    assert!(charge.measured().is_empty(), "it is told once");
}

#[tokio::test]
async fn every_exchange_with_the_provider_is_measured_whatever_came_of_it() {
    let ok = || answer(201, "");
    let unknown = || answer(404, "");
    check(MAIN, ok(), unknown(), 1, 0).await;
    check(RETRY, ok(), unknown(), 1, 1).await;
    check(RETRY, ok(), answer(503, ""), 0, 1).await;
    check(MAIN, answer(503, ""), unknown(), 1, 0).await;
    check(MAIN, answer(409, ""), unknown(), 1, 1).await;
    check(MAIN, Reply::Hang(Vec::new()), unknown(), 1, 0).await;
    check(MAIN, Reply::Close(Vec::new()), unknown(), 1, 0).await;
    // A token that the provider does not know is read again, and the call made once more.
    check(MAIN, answer(401, ""), unknown(), 2, 0).await;
}

#[tokio::test]
async fn an_exchange_is_measured_by_the_clock_from_its_start_to_its_end() {
    let clock = TestClock::new();
    let moved = clock.clone();
    let provider = Provider::start(move |_| {
        moved.advance(120);
        answer(201, "")
    });
    let charge = Parts {
        clock,
        ..Parts::default()
    }
    .charge(&provider);
    for id in ["k-7", "k-8"] {
        drop(charge.handle(&record(Some(payment(id))), &MAIN).await);
    }
    assert_eq!(charge.measured().timed(Time::ChargeLatency), [120, 120]);
}

#[tokio::test]
async fn a_payment_that_needs_no_call_measures_nothing() {
    let provider = Provider::start(rule(answer(201, ""), answer(404, "")));
    let charge = Parts::default().charge(&provider);
    drop(charge.handle(&record(None), &MAIN).await);
    assert!(charge.measured().is_empty());
}
