//! What the orders function needs outside, for `{"check":true}`.

use lambda::Checks;

use crate::settings::Settings;

/// Returns what the function needs: brokers and topics, and the bucket.
pub fn checks(settings: &Settings) -> Checks {
    let counting = &settings.counting;
    let topics = vec![counting.topic().clone(), counting.dlq().clone()];
    let checks = settings.connection.check(Checks::new("orders"), topics);
    let checks = settings.bucket.check_puts(checks, "incidents/");
    settings.bucket.check_puts(checks, "spill/")
}
