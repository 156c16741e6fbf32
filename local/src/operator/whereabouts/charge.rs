//! What the payment provider says of a payment.

use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail};
use reqwest::{Client, Url, redirect};
use serde::Serialize;
use serde_json::Value;

/// How long the provider may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How much of an answer is read.
const MOST_BYTES: usize = 64 << 10;

/// The payment provider at its address.
#[derive(Clone)]
pub struct Provider {
    url: Url,
    token: Option<String>,
}

/// What it says of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Charge {
    /// The payment is charged.
    Succeeded,
    /// Charging it failed.
    Failed,
    /// It is being charged.
    Pending,
    /// The provider does not know it.
    Unknown,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Succeeded => "charged",
            Self::Failed => "charging it failed",
            Self::Pending => "it is being charged",
            Self::Unknown => "it knows no such payment",
        })
    }
}

impl Provider {
    /// Takes an http or https address without user, query and fragment.
    pub fn new(url: &str, token: Option<String>) -> Result<Self, &'static str> {
        let wrong = "is not http:// or https:// with a host, such as http://127.0.0.1:8081";
        let url = Url::parse(url).map_err(|_| wrong)?;
        let plain = url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if plain && url.has_host() && matches!(url.scheme(), "http" | "https") {
            Ok(Self { url, token })
        } else {
            Err(wrong)
        }
    }

    /// Asks for a payment.
    pub async fn ask(&self, payment: &str) -> anyhow::Result<Charge> {
        // A provider that is installed already serves as well.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(LIMIT);
        // Without TLS no root certificates are read: a small machine may have none.
        let builder = if self.url.scheme() == "https" {
            builder
        } else {
            builder.tls_certs_only([])
        };
        let client = builder
            .build()
            .context("cannot make the provider's client")?;
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v1", "charges", payment]);
        }
        let request = client.get(url.clone());
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let sent = request.send().await.map_err(reqwest::Error::without_url);
        let mut response = sent.with_context(|| format!("no answer from the provider at {url}"))?;
        let status = response.status().as_u16();
        if status == 404 {
            return Ok(Charge::Unknown);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(reqwest::Error::without_url)?
        {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                bail!("the provider at {url} answered more than {MOST_BYTES} bytes");
            }
        }
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        match (status, answer.get("status").and_then(Value::as_str)) {
            (200, Some("succeeded")) => Ok(Charge::Succeeded),
            (200, Some("failed")) => Ok(Charge::Failed),
            (200, Some("pending")) => Ok(Charge::Pending),
            (status, _) => {
                bail!("the provider at {url} answered {status} without a status that is known")
            }
        }
    }
}
