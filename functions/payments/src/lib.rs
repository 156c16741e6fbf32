//! The payments function: charges the payment in a record, or says why it could not.
//!
//! One package, deployed once per stage. The rules are pure ([`payment`], [`answer`], [`asking`], [`circuit`]); the HTTP adapter is
//! [`gateway`]; [`charge`] joins them behind the trait that the batch loop calls.

#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        reason = "tests count on small numbers"
    )
)]

pub mod answer;
pub mod asking;
pub mod charge;
pub mod check;
pub mod circuit;
pub mod gateway;
pub mod payment;
#[cfg(test)]
pub(crate) mod provider;
pub mod settings;
pub mod step;
pub mod token;
mod tokens;
pub mod url;

pub use answer::{Answer, Asked, BodyEnd, Charged, Fault};
pub use asking::{AskFirst, Asking};
pub use charge::Charge;
pub use check::checks;
pub use circuit::{Circuit, CircuitBreaker};
pub use gateway::{Call, Gateway};
pub use payment::{Payment, PaymentId};
pub use settings::Settings;
pub use step::{PaymentsStep, step};
pub use token::{ConfiguredToken, FixedToken, Token, TokenFault, TokenSource};
pub use url::GatewayUrl;
