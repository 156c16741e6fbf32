//! Tokens for Amazon MSK's IAM access control.
//!
//! Source: Amazon MSK developer guide, "IAM access control", and AWS's signers: a token is a presigned request for
//! `kafka-cluster:Connect`, in base64 for URLs without padding.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws::Sdk;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pipeline::Timestamp;

use super::CredentialsFault;
use super::kept::Kept;
use super::trust::Trust;

/// How long a token is valid: as long as MSK takes one.
const LIFE: Duration = Duration::from_mins(15);

/// How old a token may be before another takes its place, in milliseconds.
///
/// A client asks for the next one at four fifths of a token's life, on a thread that cannot wait for one to be made: one that still
/// has most of its life is to lie there then.
const MOST_AGE_MS: i64 = 300_000;

/// How long a token must be valid yet to be handed out, in milliseconds: connecting takes a moment, and clocks differ.
const LEAST_LEFT_MS: i64 = 60_000;

/// What the broker writes into its log about us.
const USER_AGENT: &str = concat!("brew-payments/", env!("CARGO_PKG_VERSION"));

/// Tokens that are signed with the function's own credentials.
///
/// Whoever uses a client has a token made beforehand; the client takes it by itself, from a thread that must not wait.
#[derive(Debug)]
pub struct Iam {
    sdk: Sdk,
    trust: Trust,
    kept: Kept<Token>,
    current: Mutex<Option<Token>>,
}

/// A token; it is never written to a log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token {
    text: String,
    made: Timestamp,
    until: Timestamp,
}

impl Iam {
    /// Signs tokens with the credentials of an SDK, for the region that it is set to.
    pub fn new(sdk: Sdk, trust: Trust) -> Self {
        Self {
            sdk,
            trust,
            kept: Kept::default(),
            current: Mutex::new(None),
        }
    }

    pub(super) const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Sees to it that there is a token which lasts for a while.
    pub(super) async fn renew(&self, now: Timestamp) -> Result<(), CredentialsFault> {
        let current = || self.lock().clone();
        if current().is_some_and(|token| token.is_young(now)) {
            return Ok(());
        }
        let is_good = |kept: &Token| current().as_ref() == Some(kept) && kept.is_young(now);
        let make = async |_: Option<&Token>| {
            let token = self.sign(now).await?;
            *self.lock() = Some(token.clone());
            Ok(token)
        };
        self.kept.get(is_good, make).await.map(drop)
    }

    /// Has the next token made anew, as this one was refused; until then it stays for clients that ask without waiting.
    pub(super) fn distrust(&self) {
        if let Some(token) = self.lock().as_mut() {
            token.made = Timestamp::NONE;
        }
    }

    /// Returns the token that lies there, for a client that asks without waiting.
    pub(crate) fn token(&self, now: Timestamp) -> Option<Token> {
        let token = self.lock().clone();
        token.filter(|token| token.until.millis_since(now) > 0)
    }

    async fn sign(&self, now: Timestamp) -> Result<Token, CredentialsFault> {
        let fault = |why: &dyn fmt::Display| {
            CredentialsFault(format!("no IAM token can be made for the brokers: {why}"))
        };
        // The SDK's futures are nested deeply; boxed, they count as one level.
        let region = Box::pin(self.sdk.region()).await;
        let region = region.ok_or_else(|| fault(&"no region is set: AWS_REGION"))?;
        let url = format!("https://kafka.{region}.amazonaws.com/?Action=kafka-cluster%3AConnect");
        let signed = Box::pin(self.sdk.presign_get("kafka-cluster", &url, LIFE, now)).await;
        let signed = signed.map_err(|error| fault(&error))?;
        if signed.until.millis_since(now) <= 0 {
            return Err(fault(&"the credentials that were found have expired"));
        }
        // MSK takes it off again before it checks the signature.
        let url = format!(
            "{}&User-Agent={}",
            signed.url,
            USER_AGENT.replace('/', "%2F")
        );
        Ok(Token {
            text: URL_SAFE_NO_PAD.encode(url),
            made: now,
            until: signed.until,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Token>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Token {
    /// Returns the token itself.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns when it ends.
    pub(crate) const fn until(&self) -> Timestamp {
        self.until
    }

    fn is_young(&self, now: Timestamp) -> bool {
        let age = now.millis_since(self.made);
        // A clock that was set back makes it older than it says.
        (0..MOST_AGE_MS).contains(&age) && self.until.millis_since(now) > LEAST_LEFT_MS
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use aws::Keys;
    use lambda::{Clock, SystemClock};

    use super::*;

    const MINUTE: i64 = 60_000;

    fn iam() -> Iam {
        let keys = Keys {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "s3cret".to_owned(),
        };
        // Never called: it stands for a region.
        let endpoint = "http://127.0.0.1:1".parse().unwrap();
        Iam::new(Sdk::new(Some(endpoint)).or_keys(keys), Trust::System)
    }

    #[tokio::test]
    async fn a_token_is_a_presigned_request_to_connect_for_a_quarter_of_an_hour() {
        let iam = iam();
        let now = SystemClock.now();
        iam.renew(now).await.unwrap();
        let token = iam.token(now).unwrap();
        let url = String::from_utf8(URL_SAFE_NO_PAD.decode(token.text()).unwrap()).unwrap();
        let (address, query) = url.split_once('?').unwrap();
        let host = address.strip_prefix("https://kafka.").unwrap();
        assert!(host.ends_with(".amazonaws.com/"), "{host}");
        let names: Vec<&str> = query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap().0)
            .collect();
        assert_eq!(names.first(), Some(&"Action"));
        assert_eq!(names.last(), Some(&"User-Agent"));
        for part in [
            "Action=kafka-cluster%3AConnect",
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            "X-Amz-Expires=900",
            "X-Amz-SignedHeaders=host",
            "%2Fkafka-cluster%2Faws4_request",
        ] {
            assert!(query.contains(part), "{part}: {query}");
        }
        assert_eq!(token.until().millis_since(now), 15 * MINUTE);
        let shown = format!("{iam:?} {token:?}");
        assert!(
            !shown.contains(token.text()) && !shown.contains("s3cret"),
            "{shown}"
        );
    }

    #[tokio::test]
    async fn a_token_is_made_anew_while_it_has_most_of_its_life_and_after_any_freeze() {
        let iam = iam();
        let start = SystemClock.now();
        let at = |minutes: i64| Timestamp::from_millis(start.millis() + minutes * MINUTE);
        iam.renew(start).await.unwrap();
        let first = iam.token(start).unwrap();
        let mut last = first.clone();
        for (minute, made_anew) in [
            (4, false),
            (5, true),
            (9, false),
            (10, true),
            (600, true),
            (0, true),
        ] {
            iam.renew(at(minute)).await.unwrap();
            let token = iam.token(at(minute)).unwrap();
            assert_eq!(token != last, made_anew, "minute {minute}");
            last = token;
        }
        assert_eq!(iam.token(at(15)), None, "expired");
    }

    #[tokio::test]
    async fn a_refused_token_is_made_anew_and_lies_there_until_then() {
        let iam = iam();
        let now = SystemClock.now();
        iam.renew(now).await.unwrap();
        iam.distrust();
        assert!(iam.token(now).is_some());
        let later = Timestamp::from_millis(now.millis() + 1_000);
        iam.renew(later).await.unwrap();
        let until = iam.token(later).unwrap().until();
        assert_eq!(until.millis_since(now), 15 * MINUTE + 1_000);
    }
}
