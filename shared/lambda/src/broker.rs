//! The broker as an argument: where forwarded records go.

use pipeline::{Coordinates, Outgoing};

/// Produces records and says of each what became of it.
pub trait Broker: Send + Sync + 'static {
    /// Produces one record and waits until the broker acknowledged it in full (acks=all), for at most 5 s.
    ///
    /// Several calls may be under way at once; they are pipelined. A record for which an error is returned is not produced later.
    fn produce(
        &self,
        outgoing: &Outgoing,
    ) -> impl Future<Output = Result<Coordinates, ProduceError>> + Send;

    /// Gives up whatever is still queued or in flight, so that those calls return an error soon.
    fn give_up(&self);
}

/// Says why a record was not produced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProduceError {
    /// The broker, or the client on its behalf, refuses the record itself: too large, invalid. Another try does not help.
    #[error("the broker refuses the record: {0}")]
    Refused(String),
    /// The broker is away, refuses us, or has no leader: not the record's fault. Names the brokers and the authentication mode.
    #[error("the broker cannot take records now: {0}")]
    Fault(String),
}
