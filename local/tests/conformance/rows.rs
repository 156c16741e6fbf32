//! The table.

mod age;
mod answers;
mod batching;
mod bisect;
mod failures;
mod malformed;
mod pages;
mod partial;
mod pollers;
mod retries;
mod starting;

use crate::row::Row;

pub(crate) use self::age::AGE;
pub(crate) use self::answers::ANSWERS;
pub(crate) use self::batching::BATCHING;
pub(crate) use self::bisect::BISECT;
pub(crate) use self::failures::FAILURES;
pub(crate) use self::malformed::MALFORMED;
pub(crate) use self::partial::PARTIAL;
pub(crate) use self::pollers::POLLERS;
pub(crate) use self::retries::RETRIES;
pub(crate) use self::starting::STARTING;

/// Returns every row.
pub(crate) fn all() -> Vec<Row> {
    [
        ANSWERS, PARTIAL, MALFORMED, FAILURES, BISECT, RETRIES, AGE, BATCHING, POLLERS, STARTING,
    ]
    .concat()
}
