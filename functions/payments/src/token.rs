//! The token for the provider, and where it comes from.

use std::fmt;
use std::str::FromStr;

use aws::Secret;
use lambda::SettingsReader;
use pipeline::mask::Masker;
use tokio::sync::Mutex;

/// A bearer token; it is never written to a log.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Says that a text cannot be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is one or more visible ASCII characters")]
pub struct TokenError;

impl Token {
    /// Returns the token itself, for the header and for what masks it.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TokenError)
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Says why the token cannot be had now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider's token cannot be read: {0}")]
pub struct TokenFault(pub String);

/// Where the token comes from: anew at each call.
pub trait TokenSource: Send + Sync + 'static {
    /// Reads the token; `None` when calls carry none.
    fn read(&self) -> impl Future<Output = Result<Option<Token>, TokenFault>> + Send;
}

/// A token that is set once, or none at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixedToken(pub Option<Token>);

impl TokenSource for FixedToken {
    async fn read(&self) -> Result<Option<Token>, TokenFault> {
        Ok(self.0.clone())
    }
}

impl TokenSource for Secret {
    async fn read(&self) -> Result<Option<Token>, TokenFault> {
        let value = self
            .read_again()
            .await
            .map_err(|fault| TokenFault(fault.to_string()))?;
        match value.parse() {
            Ok(token) => Ok(Some(token)),
            Err(error) => Err(TokenFault(format!("its secret is wrong: {error}"))),
        }
    }
}

/// The source that the settings name.
#[derive(Debug)]
pub enum ConfiguredToken {
    /// `GATEWAY_TOKEN`, or none.
    Fixed(FixedToken),
    /// `GATEWAY_TOKEN_SECRET_ARN`.
    Secret(Box<Secret>),
}

impl TokenSource for ConfiguredToken {
    async fn read(&self) -> Result<Option<Token>, TokenFault> {
        match self {
            Self::Fixed(fixed) => fixed.read().await,
            Self::Secret(secret) => secret.read().await,
        }
    }
}

impl ConfiguredToken {
    /// Reads `GATEWAY_TOKEN` or `GATEWAY_TOKEN_SECRET_ARN`; both at once are a problem.
    pub fn from_settings(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let fixed = reader.optional("GATEWAY_TOKEN", str::parse::<Token>);
        let secret = Secret::read(reader, "GATEWAY_TOKEN_SECRET_ARN", "token");
        match (fixed?, secret?) {
            (Some(_), Some(_)) => {
                reader.problem(
                    "GATEWAY_TOKEN",
                    "is set beside GATEWAY_TOKEN_SECRET_ARN: set one of them",
                );
                None
            }
            (fixed, None) => Some(Self::Fixed(FixedToken(fixed))),
            (None, Some(secret)) => Some(Self::Secret(Box::new(secret))),
        }
    }

    /// Returns what takes the token out of text, as far as it is known without asking anyone.
    pub fn masker(&self) -> Masker {
        match self {
            Self::Fixed(FixedToken(token)) => {
                Masker::with_secrets(token.as_ref().map(|token| token.secret().to_owned()))
            }
            Self::Secret(_) => Masker::default(),
        }
    }
}

/// The token as it was last read, kept from one call to the next.
#[derive(Debug)]
pub(crate) struct Tokens<T> {
    source: T,
    held: Mutex<Option<Held>>,
}

/// A token, the one before it, and how often it had been read before.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) token: Option<Token>,
    replaced: Option<Token>,
    reading: u64,
}

impl<T: TokenSource> Tokens<T> {
    pub(crate) fn new(source: T) -> Self {
        Self {
            source,
            held: Mutex::new(None),
        }
    }

    /// Returns the token, read at first need.
    pub(crate) async fn current(&self) -> Result<Held, TokenFault> {
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref() {
            return Ok(held.clone());
        }
        let first = Held {
            token: self.source.read().await?,
            replaced: None,
            reading: 0,
        };
        *held = Some(first.clone());
        Ok(first)
    }

    /// Returns a token read after the one that was refused: of many calls that were refused at once, one reads and the others share.
    pub(crate) async fn after(&self, refused: &Held) -> Result<Held, TokenFault> {
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref()
            && held.reading > refused.reading
        {
            return Ok(held.clone());
        }
        let next = Held {
            token: self.source.read().await?,
            replaced: refused.token.clone(),
            reading: refused.reading.saturating_add(1),
        };
        *held = Some(next.clone());
        Ok(next)
    }

    /// Returns what takes the token out of messages, and the one before it, which calls still under way may have sent.
    pub(crate) async fn masker(&self) -> Masker {
        let held = self.held.lock().await.clone();
        let tokens = held.map(|held| [held.token, held.replaced]);
        Masker::with_secrets(
            tokens
                .into_iter()
                .flatten()
                .flatten()
                .map(|token| token.secret().to_owned()),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures_util::future::join_all;

    use super::*;

    /// Gives another token at each reading.
    #[derive(Debug, Default)]
    struct Rotating(AtomicU64);

    impl TokenSource for Rotating {
        async fn read(&self) -> Result<Option<Token>, TokenFault> {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(format!("token-{number}").parse().ok())
        }
    }

    #[test]
    fn a_token_is_visible_ascii_and_is_never_shown() {
        for text in ["", " ", "a b", "a\n", "a\r\nX: y", "ä"] {
            assert_eq!(text.parse::<Token>(), Err(TokenError), "{text:?}");
        }
        let token: Token = "s3cret/+=".parse().unwrap();
        assert_eq!(token.secret(), "s3cret/+=");
        assert!(!format!("{token:?} {:?}", FixedToken(Some(token.clone()))).contains("s3cret"));
    }

    #[tokio::test]
    async fn calls_that_are_refused_at_once_read_the_token_again_once() {
        let tokens = Tokens::new(Rotating::default());
        let secret = |held: &Held| held.token.clone().unwrap().secret().to_owned();
        let first = join_all((0..32).map(|_| tokens.current())).await;
        assert!(
            first
                .iter()
                .all(|held| secret(held.as_ref().unwrap()) == "token-0")
        );
        let refused = first[0].clone().unwrap();
        let second = join_all((0..32).map(|_| tokens.after(&refused))).await;
        assert!(
            second
                .iter()
                .all(|held| secret(held.as_ref().unwrap()) == "token-1")
        );
        assert_eq!(secret(&tokens.current().await.unwrap()), "token-1");
        let refused = second[0].clone().unwrap();
        assert_eq!(secret(&tokens.after(&refused).await.unwrap()), "token-2");
    }
}
