//! The body of a call that wants a charge.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::mode::Mode;

/// A charge as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) payment_id: String,
    pub(super) amount: u64,
    pub(super) currency: String,
    pub(super) mode: Mode,
}

#[derive(Deserialize)]
struct Body {
    payment_id: String,
    #[serde(rename = "order_id")]
    _order_id: String,
    amount: u64,
    currency: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl Charge {
    /// Reads the body; says what is wrong with it.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body)
            .map_err(|error| format!("the body is no charge: {error}"))?;
        let mode = body
            .metadata
            .get("mode")
            .map_or(Ok(Mode::default()), |mode| {
                mode.parse().map_err(|error| format!("{error}"))
            })?;
        Ok(Self {
            payment_id: body.payment_id,
            amount: body.amount,
            currency: body.currency,
            mode,
        })
    }
}
