//! The producer and the reader against librdkafka's mock cluster, which speaks Kafka's protocol over TCP.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "an overflow in a test is a failed test"
)]

#[cfg(test)]
mod cluster;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod frozen;
#[cfg(test)]
mod produce;
#[cfg(test)]
mod proxy;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod read;
#[cfg(test)]
mod real;
#[cfg(test)]
mod wire;
