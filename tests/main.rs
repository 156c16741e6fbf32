//! The whole pipeline: the real binaries on an embedded broker and on Apache Kafka, told apart by nothing but the broker.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "an overflow in a test is a failed test"
)]

#[cfg(test)]
mod acknowledged;
#[cfg(test)]
mod away;
#[cfg(test)]
mod check;
#[cfg(test)]
mod check_auth;
#[cfg(test)]
mod check_faults;
#[cfg(test)]
mod compose;
#[cfg(test)]
mod dead_letters;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod deployed;
#[cfg(test)]
mod emulated;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kafka_auth;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod ladder_change;
#[cfg(test)]
mod ladder_ends;
#[cfg(test)]
mod lateness;
#[cfg(test)]
mod leaderless;
#[cfg(test)]
mod life;
#[cfg(test)]
mod load;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod own_handler;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod told_to_stop;
#[cfg(test)]
mod trace;
#[cfg(test)]
mod watch;
