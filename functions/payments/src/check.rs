//! What the payments function needs outside, for `{"check":true}`.

use std::sync::Arc;
use std::time::Duration;

use aws::Secret;
use lambda::Checks;
use lambda::check::{Found, Reached, Thing, Unreached, Why};
use pipeline::{ErrorCode, Failure, Masker, Topic};
use tokio::time::Instant;

use crate::answer::Asked;
use crate::gateway::{Call, Gateway};
use crate::payment::PaymentId;
use crate::settings::Settings;
use crate::token::{ConfiguredToken, Token};

/// How long a question may take at most: less than a check, so that the cause is told.
const QUESTION: &str = "4500ms";

/// The provider as a check reaches it: by a client of its own, past the circuit.
struct Provider {
    gateway: Gateway,
    /// The secret that holds the token, read anew at each check.
    secret: Option<Secret>,
    /// The token when it is fixed.
    fixed: Option<Token>,
    url: String,
}

/// Returns what the function needs: brokers and topics, the bucket, the token's secret, the provider.
///
/// Which stage it is deployed for the function only learns from its records, so all topics of the ladder are asked for.
pub fn checks(settings: &Settings) -> Checks {
    let stages = settings.stages.all().map(|stage| stage.topic().clone());
    let topics: Vec<Topic> = stages.chain([settings.stages.dlq().clone()]).collect();
    let checks = settings.connection.check(Checks::new("payments"), topics);
    let checks = settings.bucket.check_puts(checks, "incidents/");
    let checks = settings.bucket.check_puts(checks, "spill/");
    let provider = Arc::new(Provider::of(settings));
    checks.with_lines(move |limit| {
        let provider = Arc::clone(&provider);
        async move { provider.lines(limit).await }
    })
}

impl Provider {
    fn of(settings: &Settings) -> Self {
        let limit = settings.gateway_timeout;
        let question = QUESTION.parse().map_or(limit, |most| limit.min(most));
        let (fixed, secret) = match &settings.token {
            ConfiguredToken::Fixed(fixed) => (fixed.0.clone(), None),
            ConfiguredToken::Secret(secret) => (None, Some(secret.checking())),
        };
        Self {
            gateway: Gateway::new(settings.gateway_url.clone(), question),
            secret,
            fixed,
            url: settings.gateway_url.to_string(),
        }
    }

    /// Tells of the secret, when there is one, and then of the provider, all within a limit.
    async fn lines(&self, limit: Duration) -> Vec<Reached> {
        let began = Instant::now();
        let Some(secret) = &self.secret else {
            let asked = self.ask(self.fixed.as_ref());
            let line = Reached::within(limit, Thing::Provider, self.url.clone(), asked);
            return vec![line.await];
        };
        let mut token = None;
        let read = async {
            let text = secret.reach().await?;
            let read = text.parse::<Token>();
            token = Some(read.map_err(|error| Unreached::new(Why::Wrong, &error.to_string()))?);
            Ok(Found::default())
        };
        let target = secret.arn().to_owned();
        let line = Reached::within(limit, Thing::Secret, target, read).await;
        let asked = async {
            match &token {
                Some(token) => self.ask(Some(token)).await,
                None => Err(Unreached::new(
                    Why::Unauthorized,
                    "not called, since its token cannot be read",
                )),
            }
        };
        let left = limit.saturating_sub(began.elapsed());
        let provider = Reached::within(left, Thing::Provider, self.url.clone(), asked).await;
        vec![line, provider]
    }

    /// Asks for a payment that nobody made: that it is unknown is the answer to be had.
    async fn ask(&self, token: Option<&Token>) -> Result<Found, Unreached> {
        let masker = Masker::with_secrets(token.map(|token| token.secret().to_owned()));
        let unreached =
            |failure: &Failure| Unreached::new(why(failure.code), &masker.line(&failure.message));
        let id = PaymentId::of_nobody();
        let answer = self.gateway.send(Call::Ask(&id), token).await;
        let answer = answer.map_err(|fault| unreached(&fault.into()))?;
        match Asked::of(&answer) {
            Asked::Succeeded | Asked::NotCharged => {
                Ok(Found::default().with("status", answer.status.into()))
            }
            Asked::Unknown(failure) => Err(unreached(&failure)),
        }
    }
}

fn why(code: ErrorCode) -> Why {
    if code == ErrorCode::ProviderUnauthorized {
        Why::Unauthorized
    } else if code == ErrorCode::ProviderTimeout {
        Why::Timeout
    } else if code == ErrorCode::ProviderUnreachable {
        Why::Unreachable
    } else {
        Why::Wrong
    }
}
