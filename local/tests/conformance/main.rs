//! What Lambda's event source mapping does, row by row: each through the emulator on a real Apache Kafka, with a function of a real process.
//!
//! A row says what a function does with a batch under a mapping's settings, and what must follow: deliveries, offsets, discarded
//! records. Each names the page of AWS's documentation that says so, or that it is assumed.
//!
//! Needs a broker: that of `KAFKA_TEST_BROKERS=127.0.0.1:9092`, else it starts one.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "an overflow in a test is a failed test"
)]

#[cfg(test)]
mod broker;
#[cfg(test)]
mod edges;
#[cfg(test)]
mod findings;
#[cfg(test)]
mod hands;
#[cfg(test)]
mod recreated;
#[cfg(test)]
mod row;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod run;
#[cfg(test)]
mod running;
#[cfg(test)]
#[path = "../local/scripted.rs"]
#[allow(dead_code, reason = "what it writes is not needed here")]
mod scripted;
#[cfg(test)]
mod standing;
#[cfg(test)]
mod table;
