//! The handler: decode, act, conclude.

use lambda::{Attempt, Handler, NoTimeLeft};
use pipeline::{Record, Verdict};

use crate::order::Order;

/// Handles orders.
#[derive(Clone, Copy, Debug)]
pub struct Orders;

impl Handler for Orders {
    async fn handle(&self, record: &Record, _attempt: &Attempt) -> Result<Verdict, NoTimeLeft> {
        match Order::decode(record.value.as_deref()) {
            // This is where a consumer does its work: here it has none but to read.
            Ok(_) => Ok(Verdict::Done),
            Err(failure) => Ok(failure.into()),
        }
    }

    /// Returns 0, since it calls nobody; else it would be the time limit of one call.
    fn call_limit_ms(&self) -> i64 {
        0
    }
}
