//! The orders function: the smallest consumer there is here, to be copied for one's own.
//!
//! What is its own are [`order`], the value of a record, and [`handler`], which concludes what to make of it. The rest is told by
//! [`settings`] and put together by [`mod@step`]: batches, keys, counting, dead letters and crashes are the work of `lambda`.

pub mod check;
pub mod handler;
pub mod order;
pub mod settings;
pub mod step;

pub use check::checks;
pub use handler::Orders;
pub use order::Order;
pub use settings::Settings;
pub use step::{OrdersStep, step};
