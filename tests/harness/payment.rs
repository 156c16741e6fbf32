//! Payments as producers write them.

use serde_json::json;
use uuid::Uuid;

/// Returns an id that no other test has.
pub(crate) fn fresh_id(name: &str) -> String {
    format!("{name}-{}", Uuid::new_v4().simple())
}

/// Returns so many ids that no other test has.
pub(crate) fn fresh_ids(name: &str, count: usize) -> Vec<String> {
    let run = Uuid::new_v4().simple();
    (0..count)
        .map(|nth| format!("{name}-{nth}-{run}"))
        .collect()
}

/// Returns a payment's bytes.
pub(crate) fn payment(id: &str, mode: &str) -> Vec<u8> {
    let payment = json!({
        "schema_version": 1, "payment_id": id, "order_id": format!("order-of-{id}"),
        "amount": 1_250, "currency": "RUB", "metadata": {"mode": mode},
    });
    payment.to_string().into_bytes()
}

/// Returns the id of a payment from its bytes.
pub(crate) fn id_of(value: Option<&[u8]>) -> String {
    let payment: serde_json::Value = serde_json::from_slice(value.unwrap()).unwrap();
    payment["payment_id"].as_str().unwrap().to_owned()
}
