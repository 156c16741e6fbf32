//! The circuit around real calls.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Duration;

use super::*;

const OPEN_MS: i64 = 10_000;

/// A provider whose behaviour a test can change, and a handler with a circuit of three timeouts.
struct Stand {
    provider: Provider,
    reply: Arc<Mutex<Reply>>,
    charge: Charge<FixedToken, TestClock>,
    clock: TestClock,
}

impl Stand {
    fn new() -> Self {
        let reply = Arc::new(Mutex::new(Reply::Hang(Vec::new())));
        let current = reply.clone();
        let provider = Provider::start(move |_| current.lock().unwrap().clone());
        let clock = TestClock::new();
        let circuit = Circuit::new(
            NonZeroU32::new(3).unwrap(),
            Span::from_millis(OPEN_MS).unwrap(),
        );
        let charge = Parts {
            limit: "250ms",
            token: FixedToken(None),
            circuit: Some(circuit),
            clock: clock.clone(),
        }
        .charge(&provider);
        Self {
            provider,
            reply,
            charge,
            clock,
        }
    }

    fn now_answers(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    async fn handle(&self, attempt: Attempt) -> &'static str {
        let record = record(Some(payment("k-7")));
        word(&self.charge.handle(&record, &attempt).await)
    }

    /// Handles a payment and checks its verdict, and that it took this many calls.
    async fn check(&self, attempt: Attempt, expected: &str, calls: usize) {
        let before = self.provider.requests().len();
        assert_eq!(self.handle(attempt).await, expected);
        assert_eq!(self.provider.requests().len() - before, calls);
    }

    async fn open(&self) {
        for _ in 0..3 {
            self.check(MAIN, "provider.timeout", 1).await;
        }
        self.check(MAIN, "provider.circuit_open", 0).await;
    }
}

#[tokio::test]
async fn a_provider_that_hangs_is_left_alone_by_main_and_not_by_retry_stages() {
    let stand = Stand::new();
    stand.open().await;
    stand.check(RETRY, "provider.timeout", 1).await;
    stand.clock.advance(OPEN_MS - 1);
    stand.check(MAIN, "provider.circuit_open", 0).await;
}

#[tokio::test]
async fn after_a_while_one_call_probes_and_its_end_decides() {
    let stand = Stand::new();
    stand.open().await;
    stand.clock.advance(OPEN_MS);
    stand.check(MAIN, "provider.timeout", 1).await;
    stand.check(MAIN, "provider.circuit_open", 0).await;
    stand.clock.advance(OPEN_MS);
    stand.now_answers(answer(503, ""));
    stand.check(MAIN, "provider.unavailable", 1).await;
    stand.now_answers(answer(201, ""));
    stand.check(MAIN, "done", 1).await;
}

#[tokio::test]
async fn while_a_probe_is_under_way_the_rest_does_not_wait_for_it() {
    let stand = Stand::new();
    stand.open().await;
    stand.clock.advance(OPEN_MS);
    let all = futures_util::future::join_all((0..8).map(|_| stand.handle(MAIN))).await;
    let count = |word| all.iter().filter(|verdict| **verdict == word).count();
    assert_eq!(
        (count("provider.timeout"), count("provider.circuit_open")),
        (1, 7)
    );
}

#[tokio::test]
async fn a_provider_that_merely_refuses_keeps_getting_its_honest_first_try() {
    let stand = Stand::new();
    for (reply, verdict, calls) in [
        (answer(503, ""), "provider.unavailable", 1),
        (answer(429, ""), "provider.rate_limited", 1),
        (answer(402, ""), "provider.declined", 1),
        (Reply::Close(Vec::new()), "provider.unreachable", 2),
    ] {
        for _ in 0..2 {
            stand.now_answers(Reply::Hang(Vec::new()));
            stand.check(MAIN, "provider.timeout", 1).await;
        }
        stand.now_answers(reply);
        stand.check(MAIN, verdict, calls).await;
    }
}

#[tokio::test]
async fn a_probe_that_is_cancelled_or_handed_back_does_not_wedge_the_circuit() {
    let stand = Stand::new();
    stand.open().await;
    stand.clock.advance(OPEN_MS);
    let record = record(Some(payment("k-7")));
    let calls = stand.provider.requests().len();
    let cancelled = async {
        while stand.provider.requests().len() == calls {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        verdict = stand.charge.handle(&record, &MAIN) => panic!("{verdict:?}"),
        () = cancelled => {}
    }
    let late = Attempt {
        last_call: Timestamp::from_millis(NOW),
        ..MAIN
    };
    stand.check(late, "no time", 0).await;
    stand.now_answers(answer(201, ""));
    stand.check(MAIN, "done", 1).await;
    stand.check(MAIN, "done", 1).await;
}

#[tokio::test]
async fn without_a_circuit_every_payment_is_tried() {
    let provider = Provider::start(|_| Reply::Hang(Vec::new()));
    let charge = Parts {
        limit: "100ms",
        ..Parts::default()
    }
    .charge(&provider);
    for _ in 0..8 {
        let verdict = charge.handle(&record(Some(payment("k-7"))), &MAIN).await;
        assert_eq!(word(&verdict), "provider.timeout");
    }
    assert_eq!(provider.requests().len(), 8);
}
