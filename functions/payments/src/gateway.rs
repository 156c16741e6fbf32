//! The provider's adapter: one call, one HTTP exchange, within one limit of time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use once_cell::sync::OnceCell;
use pipeline::Span;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, redirect, retry};

use crate::answer::{Answer, BodyEnd, Fault, Method};
use crate::payment::{Payment, PaymentId};
use crate::token::Token;
use crate::url::GatewayUrl;

/// How long a connection is kept for the next call: Lambda freezes the process between invocations, and the peer may have
/// hung up when it thaws.
const KEEP_IDLE: Duration = Duration::from_secs(4);

/// The provider at its address.
#[derive(Debug)]
pub struct Gateway {
    url: GatewayUrl,
    limit: Span,
    clients: OnceCell<Clients>,
}

/// One of the two calls that the provider knows.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Charge this payment, under its id as the idempotency key.
    Charge(&'a Payment),
    /// Say whether this payment is charged.
    Ask(&'a PaymentId),
}

/// The client for almost every call, and one that never keeps a connection.
#[derive(Debug)]
struct Clients {
    pooled: Client,
    fresh: Client,
    /// Whether the pool may hold a connection from an earlier call.
    pool_used: AtomicBool,
}

/// How an exchange broke.
enum Broken {
    /// After the request may have been written, and before a complete status line.
    Unanswered(String),
    /// In a way that the next connection would not mend.
    Fault(Fault),
}

impl Gateway {
    /// Takes the address and how long a whole exchange may take; nothing is opened before the first call.
    pub const fn new(url: GatewayUrl, limit: Span) -> Self {
        Self {
            url,
            limit,
            clients: OnceCell::new(),
        }
    }

    /// Returns how long a whole exchange may take.
    pub const fn limit(&self) -> Span {
        self.limit
    }

    /// Makes a call: connects, sends, and reads the answer and its body, all within the limit.
    pub async fn send(&self, call: Call<'_>, token: Option<&Token>) -> Result<Answer, Fault> {
        let exchange = Box::pin(self.exchange(call, token));
        match tokio::time::timeout(self.limit.to_duration(), exchange).await {
            Ok(answered) => answered,
            Err(_) => Err(Fault::Timeout(format!(
                "{} was not answered within {}",
                call.method(),
                self.limit
            ))),
        }
    }

    /// Exchanges request and answer; once more on a new connection when a kept one may have been dead.
    ///
    /// The repetition is safe: a charge carries its idempotency key, and asking changes nothing.
    async fn exchange(&self, call: Call<'_>, token: Option<&Token>) -> Result<Answer, Fault> {
        let clients = self.clients.get_or_try_init(|| Clients::build(&self.url))?;
        let maybe_stale = clients.pool_used.load(Ordering::Relaxed);
        let broken = match self.once(&clients.pooled, call, token).await {
            Ok(answer) => {
                clients.pool_used.store(true, Ordering::Relaxed);
                return Ok(answer);
            }
            Err(broken) => broken,
        };
        match broken {
            Broken::Unanswered(cause) if maybe_stale => {
                tracing::debug!(
                    error.message = cause,
                    "a kept connection was dead; calling again on a new one"
                );
                self.once(&clients.fresh, call, token)
                    .await
                    .map_err(Fault::from)
            }
            broken @ (Broken::Unanswered(_) | Broken::Fault(_)) => Err(broken.into()),
        }
    }

    async fn once(
        &self,
        client: &Client,
        call: Call<'_>,
        token: Option<&Token>,
    ) -> Result<Answer, Broken> {
        let request = self
            .request(client, call, token)
            .map_err(|cause| unreachable_by(call, &cause))?;
        match request.send().await {
            Ok(response) => read(response, call).await,
            Err(error) => Err(broken_by(call, error)),
        }
    }

    fn request(
        &self,
        client: &Client,
        call: Call<'_>,
        token: Option<&Token>,
    ) -> Result<RequestBuilder, String> {
        let request = match call {
            Call::Charge(payment) => client
                .post(self.url.charges())
                .header("idempotency-key", payment.id().as_str())
                .header(CONTENT_TYPE, "application/json")
                .body(payment.charge_body().map_err(|error| error.to_string())?),
            Call::Ask(id) => client.get(self.url.charge(id)),
        };
        let request = request.header(ACCEPT, "application/json");
        let Some(token) = token else {
            return Ok(request);
        };
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.secret()))
            .map_err(|error| error.to_string())?;
        bearer.set_sensitive(true);
        Ok(request.header(AUTHORIZATION, bearer))
    }
}

impl Call<'_> {
    /// Returns the call's name for messages.
    pub const fn method(&self) -> Method {
        match self {
            Self::Charge(_) => Method::Post,
            Self::Ask(_) => Method::Get,
        }
    }
}

impl Clients {
    fn build(url: &GatewayUrl) -> Result<Self, Fault> {
        // A provider that is installed already serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = |most_idle: usize| {
            let builder = Client::builder()
                .user_agent(concat!("brew-payments/", env!("CARGO_PKG_VERSION")))
                .redirect(redirect::Policy::none())
                .retry(retry::never())
                .no_proxy()
                .pool_idle_timeout(KEEP_IDLE)
                .pool_max_idle_per_host(most_idle);
            // Without TLS no root certificates are read: a small machine may have none.
            let builder = if url.is_https() {
                builder
            } else {
                builder.tls_certs_only([])
            };
            builder.build().map_err(|error| {
                Fault::Unreachable(format!("no TLS client can be built: {}", root_of(&error)))
            })
        };
        Ok(Self {
            pooled: client(usize::MAX)?,
            fresh: client(0)?,
            pool_used: AtomicBool::new(false),
        })
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Unanswered(message) => Self::Unreachable(message),
            Broken::Fault(fault) => fault,
        }
    }
}

/// Reads the body up to the most that is read of any.
async fn read(mut response: Response, call: Call<'_>) -> Result<Answer, Broken> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    let end = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = Answer::MOST_BODY.saturating_sub(body.len());
                body.extend(chunk.iter().take(room));
                if chunk.len() > room {
                    break BodyEnd::Capped;
                }
            }
            Ok(None) => break BodyEnd::Whole,
            Err(error) if error.is_timeout() => return Err(broken_by(call, error)),
            Err(error) => break BodyEnd::Cut(root_of(&error)),
        }
    };
    Ok(Answer { status, body, end })
}

fn broken_by(call: Call<'_>, error: reqwest::Error) -> Broken {
    let error = error.without_url();
    let method = call.method();
    let cause = root_of(&error);
    if error.is_timeout() {
        Broken::Fault(Fault::Timeout(format!(
            "{method} was not answered in time: {cause}"
        )))
    } else if error.is_connect() {
        unreachable_by(call, &format!("cannot connect: {cause}"))
    } else {
        Broken::Unanswered(format!("{method} was not answered: {cause}"))
    }
}

fn unreachable_by(call: Call<'_>, cause: &str) -> Broken {
    Broken::Fault(Fault::Unreachable(format!(
        "{} was not sent: {cause}",
        call.method()
    )))
}

/// Returns the innermost cause, which says what really happened.
fn root_of(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

#[cfg(test)]
mod tests;
