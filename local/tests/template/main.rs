//! SAM templates: what is read from them, and what is refused with its line.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "an overflow in a test is a failed test"
)]

#[cfg(test)]
mod alarms;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod expression;
#[cfg(test)]
mod functions;
#[cfg(test)]
mod globals;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod intrinsics;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod mappings;
#[cfg(test)]
mod own;
#[cfg(test)]
mod parameters;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod references;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod standalone;
#[cfg(test)]
mod text;
#[cfg(test)]
mod tree;
