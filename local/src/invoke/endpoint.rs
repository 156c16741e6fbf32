//! A function behind an HTTP endpoint that speaks Lambda's Invoke API: `cargo lambda watch`, or any other.
//!
//! Source: AWS Lambda API reference, "Invoke". Where `cargo lambda watch` (seen in 1.9.2) answers otherwise, it is said below.

mod answer;
mod url;

use std::time::Duration;

use anyhow::Context;
use aws::Sdk;
use bytes::Bytes;
use lambda::{Clock, SystemClock};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, redirect, retry};

use self::answer::Received;
use super::{Fault, Invoke, Outcome};

pub use self::url::{EndpointUrl, EndpointUrlError};

/// How long to wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an invocation may take: Lambda's own limit of 15 min and one more.
///
/// `cargo lambda watch` compiles the function on its first call, which takes minutes, and tells it to have 10 min. An invocation
/// whose process ends is never answered by it.
const LIMIT: Duration = Duration::from_mins(16);

/// A function that is invoked over HTTP.
#[derive(Clone, Debug)]
pub struct Endpoint {
    client: Client,
    address: reqwest::Url,
    signer: Option<Sdk>,
    limit: Duration,
}

impl Endpoint {
    /// Names a function at an endpoint; nothing is sent yet.
    pub fn new(url: &EndpointUrl, function: &str) -> anyhow::Result<Self> {
        // A provider that is installed already serves as well.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let builder = Client::builder()
            .user_agent(concat!("brew-local/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .connect_timeout(CONNECT)
            // A kept connection may have died, and an invocation that got lost on it would count as a failure.
            .pool_max_idle_per_host(0);
        // Without TLS no root certificates are read: a small machine may have none.
        let builder = if url.is_https() {
            builder
        } else {
            builder.tls_certs_only([])
        };
        Ok(Self {
            client: builder
                .build()
                .context("cannot make the client of the endpoint")?,
            address: url.invocations(function),
            signer: None,
            limit: LIMIT,
        })
    }

    /// Signs every invocation, as AWS Lambda itself wants it.
    pub fn signed_by(mut self, signer: Sdk) -> Self {
        self.signer = Some(signer);
        self
    }

    /// Sets how long an invocation may take.
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the address to which events are posted.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    async fn post(&self, event: Bytes) -> Outcome {
        let headers = [
            (CONTENT_TYPE.as_str(), "application/json"),
            ("x-amz-invocation-type", "RequestResponse"),
        ];
        let mut request = self.client.post(self.address.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(signer) = &self.signer {
            let now = SystemClock.now();
            let signature = signer
                .sign_post("lambda", self.address.as_str(), &headers, &event, now)
                .await;
            match signature {
                Ok(added) => {
                    for (name, value) in added {
                        request = request.header(name, value);
                    }
                }
                Err(error) => return Outcome::Failed(Fault::Endpoint(error.to_string())),
            }
        }
        let request = request.body(event);
        match request.send().await {
            Ok(response) => Received::read(response)
                .await
                .map_or_else(Outcome::Failed, Received::outcome),
            Err(error) => Outcome::Failed(unreachable(error)),
        }
    }
}

impl Invoke for Endpoint {
    async fn invoke(&self, event: Bytes) -> Outcome {
        match tokio::time::timeout(self.limit, self.post(event)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Failed(Fault::TimedOut(self.limit)),
        }
    }
}

/// Says what broke the exchange: the innermost cause, which tells what really happened.
fn unreachable(error: reqwest::Error) -> Fault {
    let what = match error.url() {
        Some(address) if error.is_connect() => format!("nothing answers on {address}"),
        Some(address) => format!("the connection broke to {address}"),
        None => "the connection broke during the answer".to_owned(),
    };
    let error = error.without_url();
    let mut root: &dyn std::error::Error = &error;
    while let Some(source) = root.source() {
        root = source;
    }
    Fault::Unreachable(format!("{what}: {root}"))
}
