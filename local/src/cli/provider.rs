//! `cargo local provider`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use pipeline::Span;

use super::signals::told_to_stop;
use super::{Failure, Shell};
use crate::provider::{Provider, ProviderSettings, ProviderState};

/// Runs the payment provider's simulator until Ctrl-C.
///
/// It speaks the provider's protocol, keeps its charges while it runs, and reads metadata.mode of a payment: ok is charged;
/// transient gets 503 until the provider is switched up; permanent is declined (402); timeout is charged and never
/// answered; flap gets 503 twice and is then charged; rate-limit gets 429 twice and is then charged.
///
/// POST /admin/down makes every call get 503; POST /admin/up ends that, and transient payments are charged from then on.
/// GET /ledger answers how often each payment was charged.
#[derive(Debug, Args)]
#[command(name = "provider")]
pub(crate) struct ProviderCommand {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// How long a charge takes to be answered, such as 200ms.
    #[arg(long, value_name = "DURATION")]
    latency: Option<Span>,
    /// How long an idempotency key is known.
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    key_lifetime: Span,
    /// Starts switched down.
    #[arg(long)]
    down: bool,
}

impl ProviderCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let provider = Provider::start(ProviderSettings {
            listen: self.listen,
            latency: self.latency.map_or(Duration::ZERO, Span::to_duration),
            key_lifetime: self.key_lifetime.to_duration(),
            state: if self.down {
                ProviderState::Down
            } else {
                ProviderState::Working
            },
        })
        .await?;
        let url = provider.url();
        shell.note(format_args!(
            "the payment provider answers on {url}; POST {url}/admin/down or /admin/up switches it, GET {url}/ledger shows the charges; Ctrl-C ends it"
        ));
        told_to_stop().await?;
        Ok(())
    }
}
