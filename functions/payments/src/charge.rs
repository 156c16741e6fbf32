//! The handler: decode, ask when in doubt, charge, conclude.

use std::sync::{Mutex, PoisonError};

use lambda::{Attempt, Clock, Handler, Measured, NoTimeLeft, Time};
use pipeline::{ErrorCode, Failure, Record, Verdict};

use crate::answer::{Answer, Asked, Charged};
use crate::asking::Asking;
use crate::circuit::{CallEnd, CircuitBreaker, Pass};
use crate::gateway::{Call, Gateway};
use crate::payment::Payment;
use crate::token::{TokenFault, TokenSource};
use crate::tokens::{Held, Tokens};

/// Charges payments at the provider.
#[derive(Debug)]
pub struct Charge<T, C> {
    gateway: Gateway,
    tokens: Tokens<T>,
    asking: Asking,
    circuit: Option<CircuitBreaker>,
    clock: C,
    measured: Mutex<Measured>,
}

/// Why a payment is not charged.
enum NotCharged {
    /// The invocation ends too soon for the next call.
    NoTimeLeft,
    /// It failed.
    Failed(Failure),
}

/// One payment's way through its calls.
struct Visit<'a> {
    payment: &'a Payment,
    attempt: &'a Attempt,
    pass: Option<Pass<'a>>,
}

impl<T: TokenSource, C: Clock> Charge<T, C> {
    /// Joins the provider with the rules of calling it; without a circuit every payment is tried.
    pub fn new(
        gateway: Gateway,
        token: T,
        asking: Asking,
        circuit: Option<CircuitBreaker>,
        clock: C,
    ) -> Self {
        Self {
            gateway,
            tokens: Tokens::new(token),
            asking,
            circuit,
            clock,
            measured: Mutex::default(),
        }
    }

    /// Asks first when an earlier charge is possible, charges, and asks afterwards when the refusal may mean "already there".
    async fn charge(&self, visit: &Visit<'_>, ask_first: bool) -> Result<(), NotCharged> {
        if ask_first {
            match self.ask(visit).await? {
                Asked::Succeeded => return Ok(()),
                Asked::NotCharged => {}
                Asked::Unknown(failure) => return Err(NotCharged::Failed(failure)),
            }
        }
        let answer = self.call(Call::Charge(visit.payment), visit).await?;
        match Charged::of(&answer) {
            Charged::Yes => Ok(()),
            Charged::Failed(failure) => Err(NotCharged::Failed(failure)),
            Charged::Unsure(refusal) => match self.ask(visit).await? {
                Asked::Succeeded => Ok(()),
                Asked::NotCharged => Err(NotCharged::Failed(refusal)),
                Asked::Unknown(failure) => Err(NotCharged::Failed(failure)),
            },
        }
    }

    async fn ask(&self, visit: &Visit<'_>) -> Result<Asked, NotCharged> {
        let answer = self.call(Call::Ask(visit.payment.id()), visit).await?;
        Ok(Asked::of(&answer))
    }

    /// Makes a call; when the provider does not know our token, reads it again and repeats the call once.
    async fn call(&self, call: Call<'_>, visit: &Visit<'_>) -> Result<Answer, NotCharged> {
        let held = self.in_time(visit, self.tokens.current()).await?;
        let answer = self.exchange(call, &held, visit).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        let held = self.in_time(visit, self.tokens.after(Some(&held))).await?;
        self.exchange(call, &held, visit).await
    }

    /// Waits for a reading of the token as long as a call could still start after it.
    async fn in_time(
        &self,
        visit: &Visit<'_>,
        reading: impl Future<Output = Result<Held, TokenFault>>,
    ) -> Result<Held, NotCharged> {
        tokio::select! {
            biased;
            held = reading => Ok(held?),
            () = self.clock.sleep_until(visit.attempt.last_call) => Err(NotCharged::NoTimeLeft),
        }
    }

    async fn exchange(
        &self,
        call: Call<'_>,
        held: &Held,
        visit: &Visit<'_>,
    ) -> Result<Answer, NotCharged> {
        if self.clock.now() > visit.attempt.last_call {
            return Err(NotCharged::NoTimeLeft);
        }
        let began = self.clock.now();
        let answered = self
            .gateway
            .send(call, held.token.as_ref())
            .await
            .map_err(Failure::from);
        let took_ms = self.clock.now().millis_since(began);
        self.measuring(|measured| measured.time(latency_of(call), took_ms));
        if let Some(pass) = &visit.pass {
            let timeout = answered
                .as_ref()
                .is_err_and(|failure| failure.code == ErrorCode::ProviderTimeout);
            let end = if timeout {
                CallEnd::Timeout
            } else {
                CallEnd::Answered
            };
            pass.report(end, self.clock.now());
        }
        answered.map_err(NotCharged::Failed)
    }

    fn measuring<R>(&self, measure: impl FnOnce(&mut Measured) -> R) -> R {
        measure(&mut self.measured.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the token out of the message, and tells when our credentials are at fault.
    fn verdict(&self, mut failure: Failure, payment: &Payment) -> Verdict {
        let masker = self.tokens.masker();
        failure.message = masker.bounded(&failure.message);
        if failure.code == ErrorCode::ProviderUnauthorized {
            tracing::error!(
                payment.id = masker.line(payment.id().as_str()),
                error.code = failure.code.as_str(),
                error.message = masker.line(&failure.message),
                "the provider refuses our credentials, not the payment: check GATEWAY_TOKEN or GATEWAY_TOKEN_SECRET_ARN"
            );
        }
        failure.into()
    }

    /// Returns the pass for this attempt's calls: retry stages always try and need none.
    fn pass(&self, attempt: &Attempt) -> Result<Option<Pass<'_>>, Failure> {
        let Some(circuit) = self.circuit.as_ref().filter(|_| !attempt.on_retry_stage) else {
            return Ok(None);
        };
        circuit.pass(self.clock.now()).map(Some).ok_or_else(|| {
            Failure::new(
                ErrorCode::ProviderCircuitOpen,
                "the provider was not called: it did not answer the calls before in time",
            )
        })
    }
}

impl<T: TokenSource, C: Clock> Handler for Charge<T, C> {
    async fn handle(&self, record: &Record, attempt: &Attempt) -> Result<Verdict, NoTimeLeft> {
        let payment = match Payment::decode(record.value.as_deref()) {
            Ok(payment) => payment,
            Err(failure) => return Ok(failure.into()),
        };
        let visit = match self.pass(attempt) {
            Ok(pass) => Visit {
                payment: &payment,
                attempt,
                pass,
            },
            Err(failure) => return Ok(failure.into()),
        };
        let ask_first = self.asking.is_needed(record, attempt, self.clock.now());
        match Box::pin(self.charge(&visit, ask_first)).await {
            Ok(()) => Ok(Verdict::Done),
            Err(NotCharged::NoTimeLeft) => Err(NoTimeLeft),
            Err(NotCharged::Failed(failure)) => Ok(self.verdict(failure, &payment)),
        }
    }

    fn call_limit_ms(&self) -> i64 {
        self.gateway.limit().millis()
    }

    fn measured(&self) -> Measured {
        self.measuring(std::mem::take)
    }
}

const fn latency_of(call: Call<'_>) -> Time {
    match call {
        Call::Charge(_) => Time::ChargeLatency,
        Call::Ask(_) => Time::AskLatency,
    }
}

impl From<TokenFault> for NotCharged {
    fn from(fault: TokenFault) -> Self {
        Self::Failed(Failure::new(
            ErrorCode::ProviderUnauthorized,
            fault.to_string(),
        ))
    }
}

#[cfg(test)]
mod tests;
