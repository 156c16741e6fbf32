use super::*;

const DAY: Duration = Duration::from_hours(24);

fn ledger() -> Ledger {
    Ledger::new(DAY, Switch::Flaky)
}

fn body(id: &str, mode: &str) -> Bytes {
    json!({
        "payment_id": id, "order_id": "o-1", "amount": 1250, "currency": "RUB", "metadata": {"mode": mode},
    })
    .to_string()
    .into()
}

/// Makes a call that is answered before the next one, and returns its status; 0 when it hangs.
fn call(ledger: &mut Ledger, id: &str, mode: &str, now: Instant) -> u16 {
    match ledger.charge(Some(id), &body(id, mode), now) {
        Ruling::Refuse(answer) | Ruling::Repeat(answer) => answer.status,
        Ruling::Answer(flight, answer) => {
            ledger.land(&flight);
            answer.status
        }
        Ruling::Hang(flight) => {
            ledger.land(&flight);
            0
        }
    }
}

fn status(ledger: &Ledger, id: &str) -> String {
    ledger.status(id).body
}

#[test]
fn each_mode_answers_as_it_says() {
    let check = |mode: &str, expected: [u16; 4], charges: Option<u32>| {
        let mut ledger = ledger();
        let now = Instant::now();
        let answers = expected.map(|_| call(&mut ledger, "k-1", mode, now));
        assert_eq!(answers, expected, "{mode}");
        assert_eq!(ledger.charges().get("k-1").copied(), charges, "{mode}");
        let called = if mode == "no-such" { None } else { Some(&4) };
        assert_eq!(ledger.calls().get("k-1"), called, "{mode}");
    };
    check("ok", [201; 4], Some(1));
    check("transient", [503; 4], None);
    check("permanent", [402; 4], None);
    check("timeout", [0; 4], Some(1));
    check("flap", [503, 503, 201, 201], Some(1));
    check("rate-limit", [429, 429, 201, 201], Some(1));
    check("no-such", [400; 4], None);
}

#[test]
fn every_mode_comes_back_from_its_text() {
    for mode in Mode::ALL {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    assert!("OK".parse::<Mode>().is_err());
}

#[test]
fn down_refuses_every_call_and_up_ends_it_and_cures_transient_payments() {
    let mut ledger = ledger();
    let now = Instant::now();
    assert_eq!(call(&mut ledger, "k-1", "ok", now), 201);
    ledger.set(Switch::Down);
    for mode in Mode::ALL {
        assert_eq!(call(&mut ledger, "k-2", mode.as_str(), now), 503, "{mode}");
    }
    assert_eq!(ledger.status("k-1").status, 503);
    ledger.set(Switch::Up);
    assert_eq!(ledger.status("k-1").status, 200);
    assert_eq!(call(&mut ledger, "k-2", "transient", now), 201);
    assert_eq!(ledger.charges().len(), 2);
}

#[test]
fn a_key_in_flight_is_refused_and_its_payment_is_pending() {
    let mut ledger = ledger();
    let now = Instant::now();
    let Ruling::Answer(flight, _) = ledger.charge(Some("k-1"), &body("k-1", "ok"), now) else {
        panic!("it is worked on");
    };
    assert_eq!(call(&mut ledger, "k-1", "ok", now), 409);
    assert!(status(&ledger, "k-1").contains("pending"));
    ledger.land(&flight);
    assert_eq!(call(&mut ledger, "k-1", "ok", now), 201);
    assert!(status(&ledger, "k-1").contains("succeeded"));
    assert_eq!(ledger.charges()["k-1"], 1);
}

#[test]
fn a_hanging_call_has_charged_already() {
    let mut ledger = ledger();
    let now = Instant::now();
    let Ruling::Hang(_) = ledger.charge(Some("k-1"), &body("k-1", "timeout"), now) else {
        panic!("it hangs");
    };
    assert!(status(&ledger, "k-1").contains("succeeded"));
    assert_eq!(call(&mut ledger, "k-1", "timeout", now), 409);
    assert_eq!(ledger.charges()["k-1"], 1);
}

#[test]
fn a_key_is_forgotten_after_its_lifetime_and_a_second_charge_is_seen() {
    let mut ledger = ledger();
    let start = Instant::now();
    assert_eq!(call(&mut ledger, "k-1", "ok", start), 201);
    assert_eq!(
        call(
            &mut ledger,
            "k-1",
            "ok",
            start + DAY - Duration::from_millis(1)
        ),
        201
    );
    assert_eq!(ledger.charges()["k-1"], 1);
    assert_eq!(call(&mut ledger, "k-1", "ok", start + DAY), 201);
    assert_eq!(ledger.charges()["k-1"], 2);
}

#[test]
fn another_key_for_the_same_payment_is_a_second_charge() {
    let mut ledger = ledger();
    let now = Instant::now();
    for key in ["a", "b"] {
        ledger.charge(Some(key), &body("k-1", "ok"), now);
    }
    assert_eq!(ledger.charges()["k-1"], 2);
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let mut ledger = ledger();
    let now = Instant::now();
    let mut check = |key: Option<&str>, body: Bytes, status: u16| {
        let Ruling::Refuse(answer) = ledger.charge(key, &body, now) else {
            panic!("{body:?} is refused");
        };
        assert_eq!(answer.status, status, "{body:?}");
    };
    check(None, body("k-1", "ok"), 400);
    check(Some(""), body("k-1", "ok"), 400);
    check(Some("k-1"), Bytes::from_static(b"{"), 400);
    check(Some("k-1"), Bytes::from_static(b"[]"), 400);
    check(
        Some("k-1"),
        Bytes::from_static(br#"{"payment_id":"k-1"}"#),
        400,
    );
    call(&mut ledger, "k-2", "ok", now);
    let Ruling::Refuse(answer) = ledger.charge(Some("k-2"), &body("k-2", "flap"), now) else {
        panic!("another body is refused");
    };
    assert_eq!(answer.status, 422);
}

#[test]
fn a_declined_payment_has_failed_and_an_unknown_one_is_not_there() {
    let mut ledger = ledger();
    let now = Instant::now();
    call(&mut ledger, "k-1", "permanent", now);
    call(&mut ledger, "k-2", "transient", now);
    assert!(status(&ledger, "k-1").contains("failed"));
    assert_eq!(ledger.status("k-2").status, 404);
    assert_eq!(ledger.status("k-3").status, 404);
}
