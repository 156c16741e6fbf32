//! The services and the emulator on real protocols: Kafka's, S3's, HTTP and Lambda's Runtime API, with a function of real processes.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "an overflow in a test is a failed test"
)]

#[cfg(test)]
mod event;
#[cfg(test)]
mod function;
#[cfg(test)]
mod lambda_api;
#[cfg(test)]
mod mapping;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod real_kafka;
#[cfg(test)]
mod s3;
#[cfg(test)]
mod scripted;
#[cfg(test)]
mod topic;
#[cfg(test)]
#[path = "../../../shared/kafka/tests/kafka/wire.rs"]
#[allow(dead_code, reason = "only its writing half is needed here")]
mod wire;
