//! The demo: the whole story of the pipeline with its real programs, told as it happens and accounted for at the end.
//!
//! Everything that the account says is read from what holds it: charges from the provider's books, records and offsets from the
//! broker, incidents from the bucket, alerts from the functions' standard output.

pub mod account;
mod brokers;
mod bucket;
pub mod death_cycle;
mod ending;
pub mod journey;
mod ladder;
mod narrator;
mod offsets;
mod producing;
pub mod screen;
pub mod seeds;
mod services;
mod story;
mod tables;

pub use self::account::{Account, Totals};
pub use self::ending::Ending;
pub use self::screen::{Colours, Screen};
pub use self::story::{DemoSettings, run};
