//! The circuit: a provider that hangs is left alone for a while, so that it does not slow main to one timeout per payment.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use pipeline::{Span, Timestamp};

/// The circuit as pure state: time is an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    most_timeouts: NonZeroU32,
    open_for: Span,
    state: State,
    probes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Calls are made; so many timeouts ended the row.
    Closed { timeouts: u32 },
    /// No calls are made before this time.
    Open { until: Timestamp },
    /// One call is under way to find out; all others are refused.
    Probing { probe: u64, until: Timestamp },
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Call,
    /// It may, and its outcome decides whether the circuit closes. The number tells one probe from another.
    Probe(u64),
    /// It may not: the circuit is open.
    Refused,
}

/// How a call ended, as far as the circuit cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// Without an answer in time.
    Timeout,
    /// With any answer, or quickly refused.
    Answered,
}

impl Circuit {
    /// Starts closed; opens after so many timeouts in a row, for so long.
    pub const fn new(most_timeouts: NonZeroU32, open_for: Span) -> Self {
        Self {
            most_timeouts,
            open_for,
            state: State::Closed { timeouts: 0 },
            probes: 0,
        }
    }

    /// Decides whether a call may be made now.
    pub fn admit(&mut self, now: Timestamp) -> Admission {
        match self.state {
            State::Closed { .. } => Admission::Call,
            State::Probing { .. } => Admission::Refused,
            State::Open { until } => {
                let left = until.millis_since(now);
                // More than a whole stretch is left only when the clock was set back.
                if left > 0 && left <= self.open_for.millis() {
                    return Admission::Refused;
                }
                self.probes = self.probes.wrapping_add(1);
                self.state = State::Probing {
                    probe: self.probes,
                    until,
                };
                Admission::Probe(self.probes)
            }
        }
    }

    /// Takes in how a call ended. While the circuit is not closed, only the probe's end counts.
    pub fn report(&mut self, admission: Admission, end: CallEnd, now: Timestamp) {
        match (self.state, end) {
            (State::Closed { timeouts }, CallEnd::Timeout) => {
                let timeouts = timeouts.saturating_add(1);
                self.state = if timeouts >= self.most_timeouts.get() {
                    self.opened(now)
                } else {
                    State::Closed { timeouts }
                };
            }
            (State::Closed { .. }, CallEnd::Answered) => {
                self.state = State::Closed { timeouts: 0 };
            }
            (State::Open { .. }, CallEnd::Timeout | CallEnd::Answered) => {}
            (State::Probing { probe, .. }, end) => {
                if admission == Admission::Probe(probe) {
                    self.state = match end {
                        CallEnd::Timeout => self.opened(now),
                        CallEnd::Answered => State::Closed { timeouts: 0 },
                    };
                }
            }
        }
    }

    /// Takes back a probe that was never made: the next one asked for a call probes in its place.
    pub fn abandon(&mut self, admission: Admission) {
        if let State::Probing { probe, until } = self.state
            && admission == Admission::Probe(probe)
        {
            self.state = State::Open { until };
        }
    }

    const fn opened(&self, now: Timestamp) -> State {
        State::Open {
            until: now.plus_millis(self.open_for.millis()),
        }
    }
}

/// A circuit that the calls of one process share.
#[derive(Debug)]
pub struct CircuitBreaker(Mutex<Circuit>);

impl CircuitBreaker {
    /// Shares a circuit.
    pub const fn new(circuit: Circuit) -> Self {
        Self(Mutex::new(circuit))
    }

    /// Returns the pass for one payment's calls; `None` while the circuit is open.
    pub fn pass(&self, now: Timestamp) -> Option<Pass<'_>> {
        match self.with(|circuit| circuit.admit(now)) {
            Admission::Refused => None,
            admission @ (Admission::Call | Admission::Probe(_)) => Some(Pass {
                breaker: self,
                admission,
            }),
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Circuit) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The right to call the provider; a probe that is dropped without a report is taken back.
#[derive(Debug)]
pub struct Pass<'a> {
    breaker: &'a CircuitBreaker,
    admission: Admission,
}

impl Pass<'_> {
    /// Reports how one call ended.
    pub fn report(&self, end: CallEnd, now: Timestamp) {
        self.breaker
            .with(|circuit| circuit.report(self.admission, end, now));
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.breaker.with(|circuit| circuit.abandon(self.admission));
    }
}

#[cfg(test)]
mod tests;
