//! A payment: the value of a record, decoded and checked.

use std::collections::BTreeMap;
use std::fmt;

use pipeline::{ErrorCode, Failure};
use serde::Serialize;

use self::fields::Fields;

mod fields;

/// The only version of the schema that there is.
const SCHEMA_VERSION: &str = "1";

/// A payment that passed every rule of the schema.
///
/// It serializes as the body of a charge: fields in this order, metadata sorted, so that every attempt sends the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Payment {
    #[serde(rename = "payment_id")]
    id: PaymentId,
    order_id: String,
    amount: i64,
    currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<String, String>>,
}

/// A payment's identity, which is its idempotency key: 1 to 128 visible ASCII characters, neither `.` nor `..`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PaymentId(String);

impl PaymentId {
    /// Returns an id under which nobody pays, for the provider to be asked about by a check.
    pub(crate) fn of_nobody() -> Self {
        Self("brew-check:no-such-payment".to_owned())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Payment {
    /// Decodes a record's value; the failure names the field, never its value.
    ///
    /// The schema version is looked at before any other field, then every field's type, then the rules of the domain. What an
    /// unknown field holds is not looked at, as long as the whole is JSON.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, Failure> {
        let Some(value) = value else {
            return Err(invalid("the value is null"));
        };
        let fields = Fields::read(value).map_err(malformed)?;
        let version = fields.only("schema_version").map_err(malformed)?;
        if version != Some(SCHEMA_VERSION) {
            return Err(Failure::new(
                ErrorCode::PayloadSchemaVersion,
                "schema_version is not the integer 1",
            ));
        }
        let payment_id = fields.text("payment_id").map_err(malformed)?;
        let order_id = fields.text("order_id").map_err(malformed)?;
        let amount = fields.integer("amount").map_err(malformed)?;
        let currency = fields.text("currency").map_err(malformed)?;
        let metadata = fields.text_map("metadata").map_err(malformed)?;

        if !is_id(&payment_id) {
            return Err(invalid(
                "payment_id is not 1 to 128 visible ASCII characters, or a dot path",
            ));
        }
        if !is_id(&order_id) {
            return Err(invalid(
                "order_id is not 1 to 128 visible ASCII characters, or a dot path",
            ));
        }
        if amount <= 0 {
            return Err(invalid("amount is not above zero"));
        }
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(invalid("currency is not three capital letters"));
        }
        Ok(Self {
            id: PaymentId(payment_id),
            order_id,
            amount,
            currency,
            metadata,
        })
    }

    /// Returns the payment's identity.
    pub const fn id(&self) -> &PaymentId {
        &self.id
    }

    /// Returns the body of a charge: the same bytes whenever the same record is read.
    pub fn charge_body(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

fn is_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text != "."
        && text != ".."
}

fn malformed(message: String) -> Failure {
    Failure::new(ErrorCode::PayloadMalformed, message)
}

fn invalid(message: &str) -> Failure {
    Failure::new(ErrorCode::PayloadInvalid, message)
}

#[cfg(test)]
mod tests;
