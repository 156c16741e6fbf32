//! The provider's books and rules: pure, with the time as an argument.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use super::answer::Answer;
use super::charge::Charge;
use super::mode::Mode;

/// How often a `flap` payment gets a 503, and a `rate-limit` payment a 429, before it is charged.
const REFUSALS: u32 = 2;

/// Who is charged how often, which keys are known, and whether the provider works.
#[derive(Debug)]
pub(super) struct Ledger {
    key_lifetime: Duration,
    switch: Switch,
    payments: BTreeMap<String, Payment>,
    keys: HashMap<String, Key>,
}

/// Whether the provider works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    /// As it starts: it works, but `transient` payments get 503.
    Flaky,
    /// Every call gets 503.
    Down,
    /// It works, for `transient` payments too.
    Up,
}

/// What is kept of one payment.
#[derive(Clone, Debug, Default)]
struct Payment {
    charges: u32,
    calls: u32,
    refusals: u32,
    /// Calls that are being worked on.
    working: u32,
    declined: bool,
}

/// An idempotency key that is in flight or whose charge was made.
#[derive(Clone, Debug)]
struct Key {
    body: Bytes,
    since: Instant,
    in_flight: bool,
    stored: Option<Answer>,
}

/// What is done with a call that wants a charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// Answered at once, without being worked on.
    Refuse(Answer),
    /// Answered as the first call with this key was.
    Repeat(Answer),
    /// Worked on, then answered; the key is in flight until it lands.
    Answer(Flight, Answer),
    /// Charged and never answered; the key is in flight until the caller hangs up.
    Hang(Flight),
}

/// A key in flight, to be given back to [`Ledger::land`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flight {
    key: String,
    payment: Option<String>,
}

impl Ledger {
    pub(super) fn new(key_lifetime: Duration, switch: Switch) -> Self {
        Self {
            key_lifetime,
            switch,
            payments: BTreeMap::new(),
            keys: HashMap::new(),
        }
    }

    pub(super) const fn set(&mut self, switch: Switch) {
        self.switch = switch;
    }

    /// Returns how often each payment that was charged at all was charged.
    pub(super) fn charges(&self) -> BTreeMap<String, u32> {
        let charged = self
            .payments
            .iter()
            .filter(|(_, payment)| payment.charges > 0);
        charged
            .map(|(id, payment)| (id.clone(), payment.charges))
            .collect()
    }

    /// Returns how often a charge was asked for, for each payment, whatever was answered.
    pub(super) fn calls(&self) -> BTreeMap<String, u32> {
        let called = self
            .payments
            .iter()
            .filter(|(_, payment)| payment.calls > 0);
        called
            .map(|(id, payment)| (id.clone(), payment.calls))
            .collect()
    }

    /// Rules on a call that wants a charge.
    pub(super) fn charge(&mut self, key: Option<&str>, body: &Bytes, now: Instant) -> Ruling {
        let charge = Charge::read(body);
        if let Ok(charge) = &charge {
            let payment = self.payments.entry(charge.payment_id.clone()).or_default();
            payment.calls = payment.calls.saturating_add(1);
        }
        if self.switch == Switch::Down {
            return Ruling::Refuse(Answer::unavailable());
        }
        let charge = match charge {
            Ok(charge) => charge,
            Err(problem) => return Ruling::Refuse(Answer::error(400, &problem)),
        };
        let Some(key) = key.filter(|key| !key.is_empty()) else {
            return Ruling::Refuse(Answer::error(400, "there is no Idempotency-Key"));
        };
        self.forget_old_keys(now);
        if let Some(ruling) = self.keys.get(key).and_then(|known| known.rule(body)) {
            return match charge.mode {
                Mode::Timeout if matches!(ruling, Ruling::Repeat(_)) => self.hang(key),
                Mode::Ok
                | Mode::Transient
                | Mode::Permanent
                | Mode::Timeout
                | Mode::Flap
                | Mode::RateLimit => ruling,
            };
        }
        let answer = self.conclude(&charge);
        let charged = answer.status == 201;
        self.keys.insert(
            key.to_owned(),
            Key {
                body: body.clone(),
                since: now,
                in_flight: true,
                stored: charged.then(|| answer.clone()),
            },
        );
        if charge.mode == Mode::Timeout {
            return self.hang(key);
        }
        let payment = self.payments.entry(charge.payment_id.clone()).or_default();
        payment.working = payment.working.saturating_add(1);
        let flight = Flight {
            key: key.to_owned(),
            payment: Some(charge.payment_id),
        };
        Ruling::Answer(flight, answer)
    }

    /// Notes that a key is no longer in flight: its call was answered, or its caller hung up.
    pub(super) fn land(&mut self, flight: &Flight) {
        if let Some(key) = self.keys.get_mut(&flight.key) {
            key.in_flight = false;
        }
        // Only a charge is remembered: anything else is worked on anew.
        self.keys
            .retain(|key, known| *key != flight.key || known.stored.is_some());
        let payment = flight.payment.as_ref();
        if let Some(payment) = payment.and_then(|id| self.payments.get_mut(id)) {
            payment.working = payment.working.saturating_sub(1);
        }
    }

    /// Answers what became of a payment.
    pub(super) fn status(&self, payment_id: &str) -> Answer {
        if self.switch == Switch::Down {
            return Answer::unavailable();
        }
        let status = match self.payments.get(payment_id) {
            Some(payment) if payment.working > 0 => "pending",
            Some(payment) if payment.charges > 0 => "succeeded",
            Some(payment) if payment.declined => "failed",
            Some(_) | None => return Answer::error(404, "no such charge"),
        };
        Answer::new(200, &json!({"payment_id": payment_id, "status": status}))
    }

    /// Does what the payment's mode says, and makes the charge if it comes to one.
    fn conclude(&mut self, charge: &Charge) -> Answer {
        let up = self.switch == Switch::Up;
        let payment = self.payments.entry(charge.payment_id.clone()).or_default();
        let recovers_later = payment.refusals < REFUSALS;
        let refusal = match charge.mode {
            Mode::Ok | Mode::Timeout => None,
            Mode::Transient => (!up).then(Answer::unavailable),
            Mode::Permanent => Some(Answer::error(402, "the card was declined")),
            Mode::Flap => recovers_later.then(Answer::unavailable),
            Mode::RateLimit => recovers_later.then(|| Answer::error(429, "too many calls")),
        };
        if let Some(refusal) = refusal {
            payment.refusals = payment.refusals.saturating_add(1);
            payment.declined = charge.mode == Mode::Permanent;
            return refusal;
        }
        payment.charges = payment.charges.saturating_add(1);
        let body = json!({
            "payment_id": charge.payment_id,
            "amount": charge.amount,
            "currency": charge.currency,
            "status": "succeeded",
        });
        Answer::new(201, &body)
    }

    fn hang(&mut self, key: &str) -> Ruling {
        if let Some(known) = self.keys.get_mut(key) {
            known.in_flight = true;
        }
        Ruling::Hang(Flight {
            key: key.to_owned(),
            payment: None,
        })
    }

    fn forget_old_keys(&mut self, now: Instant) {
        let lifetime = self.key_lifetime;
        self.keys
            .retain(|_, key| key.in_flight || now.saturating_duration_since(key.since) < lifetime);
    }
}

impl Key {
    /// Rules on another call with a known key.
    fn rule(&self, body: &Bytes) -> Option<Ruling> {
        if self.body != *body {
            let text = "the Idempotency-Key belongs to a charge with another body";
            return Some(Ruling::Refuse(Answer::error(422, text)));
        }
        if self.in_flight {
            let text = "a call with this Idempotency-Key is in flight";
            return Some(Ruling::Refuse(Answer::error(409, text)));
        }
        self.stored.clone().map(Ruling::Repeat)
    }
}

#[cfg(test)]
mod tests;
