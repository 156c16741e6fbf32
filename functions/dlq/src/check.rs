//! What the dlq function needs outside, for `{"check":true}`. It speaks to no broker.

use std::sync::Arc;
use std::time::Duration;

use lambda::Checks;
use lambda::check::{Found, Reached, Thing, Unreached, Why};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::settings::Settings;
use crate::webhook::{Address, WebhookUrl};

/// Returns what the function needs: the bucket, and the webhook with its secret when there is one.
pub fn checks(settings: &Settings) -> Checks {
    let checks = settings.bucket.check_puts(Checks::new("dlq"), "incidents/");
    let checks = settings.bucket.check_puts(checks, "spill/");
    let Some(webhook) = &settings.webhook else {
        return checks;
    };
    let address = Arc::new(webhook.address());
    checks.with_lines(move |limit| {
        let address = Arc::clone(&address);
        async move { lines(&address, limit).await }
    })
}

/// Tells of the secret, when there is one, and then of the webhook, which only is connected to: a post would alert people.
async fn lines(address: &Address, limit: Duration) -> Vec<Reached> {
    let began = Instant::now();
    let secret = match address {
        Address::Fixed(url) => return vec![connected(url, limit).await],
        Address::Secret(secret) => secret,
    };
    let mut url = None;
    let read = async {
        let text = secret.reach().await?;
        let read = text.parse::<WebhookUrl>();
        url = Some(read.map_err(|error| Unreached::new(Why::Wrong, &error.to_string()))?);
        Ok(Found::default())
    };
    let target = secret.arn().to_owned();
    let line = Reached::within(limit, Thing::Secret, target, read).await;
    let left = limit.saturating_sub(began.elapsed());
    let webhook = if let Some(url) = &url {
        connected(url, left).await
    } else {
        let text = "not connected to, since its address cannot be read";
        let unread = Err(Unreached::new(Why::Unreachable, text));
        Reached::new(Thing::Webhook, "unknown", Duration::ZERO, unread)
    };
    vec![line, webhook]
}

/// Connects and hangs up. The target is host and port: the rest of the address is a secret.
async fn connected(url: &WebhookUrl, limit: Duration) -> Reached {
    let (host, port) = url.host_and_port();
    let target = format!("{host}:{port}");
    let connecting = async {
        match TcpStream::connect((host, port)).await {
            Ok(_) => Ok(Found::default()),
            Err(error) => Err(Unreached::new(Why::Unreachable, &error.to_string())),
        }
    };
    Reached::within(limit, Thing::Webhook, target, connecting).await
}
