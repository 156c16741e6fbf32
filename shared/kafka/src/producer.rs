//! The producer: one record out, and what became of it.

mod client;
mod slot;
mod undelivered;

use lambda::{Broker, Clock, ProduceError, SystemClock};
use pipeline::{Coordinates, Offset, Outgoing, Partition};

use crate::connection::Connection;
use slot::{Batching, Slot};
use undelivered::Undelivered;

/// Produces records to Kafka; its client is made at first need and kept across invocations.
///
/// A client is replaced after librdkafka's fatal error, after [`Broker::give_up`], when the brokers refuse its credentials, and when
/// it was idle for so long that its connections may have died while the process was frozen. A record's timestamp is the time at which it is produced, its partition the
/// one that the Java client would choose for its key.
#[derive(Debug)]
pub struct Producer<C = SystemClock> {
    connection: Connection,
    clock: C,
    batched: Slot,
    alone: Slot,
}

impl Producer {
    /// Returns a producer that has not connected yet.
    pub fn new(connection: Connection) -> Self {
        Self::with_clock(connection, SystemClock)
    }
}

impl<C: Clock> Producer<C> {
    /// Returns a producer that takes the time of its records from `clock`.
    pub fn with_clock(connection: Connection, clock: C) -> Self {
        Self {
            connection,
            clock,
            batched: Slot::new(Batching::Together),
            alone: Slot::new(Batching::Alone),
        }
    }

    /// Produces with the credentials that there are, and once more when others have taken their place.
    async fn produce_from(
        &self,
        slot: &Slot,
        outgoing: &Outgoing,
    ) -> Result<Coordinates, Undelivered> {
        match self.try_from(slot, outgoing).await {
            Err(Undelivered::Superseded) => self.try_from(slot, outgoing).await,
            produced => produced,
        }
    }

    async fn try_from(&self, slot: &Slot, outgoing: &Outgoing) -> Result<Coordinates, Undelivered> {
        let now = self.clock.now();
        let credentials = self.connection.credentials(now).await;
        let credentials = credentials.map_err(|fault| Undelivered::Fault(fault.to_string()))?;
        let client = slot.client(&self.connection, credentials, self.clock.now())?;
        let delivered = client.deliver(outgoing, self.clock.now()).await;
        slot.used(self.clock.now());
        let delivery = delivered?;
        let partition = Partition::new(delivery.partition);
        Ok(Coordinates {
            topic: outgoing.topic.clone(),
            partition: partition.ok_or_else(|| Undelivered::fault("no partition was chosen"))?,
            // A broker that knows the record from an earlier try may have forgotten where it put it.
            offset: Offset::new(delivery.offset).unwrap_or(UNKNOWN_OFFSET),
        })
    }
}

/// Stands for the offset of a record that was produced, by a broker that no longer knows where.
const UNKNOWN_OFFSET: Offset = match Offset::new(i64::MAX) {
    Some(offset) => offset,
    None => unreachable!(),
};

impl<C: Clock> Broker for Producer<C> {
    /// Produces one record; see the trait.
    ///
    /// A broker refuses a whole batch for one bad record in it, so a refused record is offered once more in a batch of its own
    /// before the refusal is believed of it. In the worst case, with a queue full of other records, an answer takes 8 s.
    async fn produce(&self, outgoing: &Outgoing) -> Result<Coordinates, ProduceError> {
        let first = self.produce_from(&self.batched, outgoing).await;
        let last = match first {
            Err(Undelivered::BatchRefused(_)) => self.produce_from(&self.alone, outgoing).await,
            Ok(_)
            | Err(
                Undelivered::RecordRefused(_) | Undelivered::Fault(_) | Undelivered::Superseded,
            ) => first,
        };
        last.map_err(|undelivered| match undelivered {
            Undelivered::RecordRefused(why) | Undelivered::BatchRefused(why) => {
                ProduceError::Refused(why)
            }
            Undelivered::Fault(why) => ProduceError::Fault(format!("{why} ({})", self.connection)),
            Undelivered::Superseded => ProduceError::Fault(format!(
                "the credentials were changed twice in a moment ({})",
                self.connection
            )),
        })
    }

    fn give_up(&self) {
        self.batched.retire();
        self.alone.retire();
    }
}
