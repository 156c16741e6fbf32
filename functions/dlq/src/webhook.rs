//! The webhook: where alerts are posted. Nothing depends on it: a post that fails is logged, and that is all.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use aws::Secret;
use once_cell::sync::OnceCell;
use pipeline::alert::Post;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode, Url, redirect};

/// How long one post may take, the secret's reading and all.
const LIMIT: Duration = Duration::from_secs(2);

/// Where alerts are posted.
#[derive(Debug)]
pub struct Webhook {
    place: Place,
    client: OnceCell<Client>,
}

#[derive(Debug)]
enum Place {
    Fixed(WebhookUrl),
    Secret(Secret),
}

/// The address of a webhook, which is a secret: whoever knows it may post.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

/// Says that a text is no webhook's address, without repeating it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an absolute http or https URL such as https://hooks.example/alerts")]
pub struct WebhookUrlError;

/// Says why a post was not delivered, without the address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookFault {
    /// It did not answer within 2 s.
    #[error("the webhook did not answer within 2 s")]
    Timeout,
    /// It answered, but not with success.
    #[error("the webhook answered {0}")]
    Refused(StatusCode),
    /// It could not be reached, or its address not be read.
    #[error("the webhook cannot be reached: {0}")]
    Unreachable(String),
}

impl FromStr for WebhookUrl {
    type Err = WebhookUrlError;

    fn from_str(text: &str) -> Result<Self, WebhookUrlError> {
        Url::parse(text.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .map(Self)
            .ok_or(WebhookUrlError)
    }
}

/// A webhook's address for a check.
#[derive(Debug)]
pub(crate) enum Address {
    /// It is set.
    Fixed(WebhookUrl),
    /// It lies in a secret.
    Secret(Secret),
}

impl WebhookUrl {
    /// Returns where a connection goes, which is no secret.
    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        let host = self.0.host_str().unwrap_or_default();
        // As a URL has an IPv6 address; to connect, it stands alone.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (host, self.0.port_or_known_default().unwrap_or_default())
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookUrl(…)")
    }
}

impl Webhook {
    /// Posts to this address.
    pub fn fixed(url: WebhookUrl) -> Self {
        Self::at(Place::Fixed(url))
    }

    /// Posts to the address that a secret holds.
    pub fn secret(secret: Secret) -> Self {
        Self::at(Place::Secret(secret))
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            client: OnceCell::new(),
        }
    }

    /// Returns the address for a check, which reads a secret by itself.
    pub(crate) fn address(&self) -> Address {
        match &self.place {
            Place::Fixed(url) => Address::Fixed(url.clone()),
            Place::Secret(secret) => Address::Secret(secret.checking()),
        }
    }

    /// Posts within 2 s.
    pub async fn post(&self, post: &Post) -> Result<(), WebhookFault> {
        tokio::time::timeout(LIMIT, self.deliver(post))
            .await
            .unwrap_or(Err(WebhookFault::Timeout))
    }

    /// Posts; where the address is a secret and is refused, it is read again and, when it has changed, tried once more.
    async fn deliver(&self, post: &Post) -> Result<(), WebhookFault> {
        let secret = match &self.place {
            Place::Fixed(url) => return self.send(url, post).await,
            Place::Secret(secret) => secret,
        };
        let url = secret.value().await.map_err(unreachable)?;
        let refused = match self.send(&parsed(&url)?, post).await {
            Err(WebhookFault::Refused(status)) if is_of_no_such_place(status) => status,
            delivered @ (Ok(()) | Err(_)) => return delivered,
        };
        let newer = secret.read_again().await.map_err(unreachable)?;
        if newer == url {
            return Err(WebhookFault::Refused(refused));
        }
        self.send(&parsed(&newer)?, post).await
    }

    async fn send(&self, url: &WebhookUrl, post: &Post) -> Result<(), WebhookFault> {
        let body = serde_json::to_vec(post).map_err(unreachable)?;
        let request = self
            .client()?
            .post(url.0.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let answer = request.send().await.map_err(unsent)?;
        if answer.status().is_success() {
            Ok(())
        } else {
            Err(WebhookFault::Refused(answer.status()))
        }
    }

    fn client(&self) -> Result<&Client, WebhookFault> {
        self.client.get_or_try_init(|| {
            // It stands already when another client of the process was made before.
            drop(rustls::crypto::ring::default_provider().install_default());
            Client::builder()
                .user_agent(concat!("brew-dlq/", env!("CARGO_PKG_VERSION")))
                .redirect(redirect::Policy::none())
                // A connection kept over a freeze of the process would lose the next post.
                .pool_max_idle_per_host(0)
                .no_proxy()
                .build()
                .map_err(unsent)
        })
    }
}

/// Tells whether an answer says that nobody may post at this address, or not any more.
fn is_of_no_such_place(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::GONE
    )
}

fn parsed(url: &str) -> Result<WebhookUrl, WebhookFault> {
    url.parse().map_err(unreachable)
}

fn unreachable(error: impl fmt::Display) -> WebhookFault {
    WebhookFault::Unreachable(error.to_string())
}

/// Tells the root cause of an error, without the address.
fn unsent(error: reqwest::Error) -> WebhookFault {
    let error = error.without_url();
    let mut root: &dyn std::error::Error = &error;
    while let Some(source) = root.source() {
        root = source;
    }
    unreachable(root)
}
