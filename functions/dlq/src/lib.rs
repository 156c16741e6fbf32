//! Dead letters: each becomes an incident in the object store, then an alert, and only then does its offset move.

pub mod check;
pub mod settings;
pub mod step;
pub mod webhook;

pub use check::checks;
pub use settings::Settings;
pub use step::DlqStep;
pub use webhook::{Webhook, WebhookUrl};
