//! The token for the provider, and where it comes from.

use aws::Secret;
use lambda::SettingsReader;
use pipeline::mask::Masker;
use std::fmt;
use std::str::FromStr;

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
            // The SDK's futures are nested deeply; boxed, they count as one level.
            Self::Secret(secret) => Box::pin(secret.read()).await,
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use aws::{Keys, Sdk};

    use super::*;
    use crate::provider::{Provider, answer};

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
    async fn a_secret_of_secrets_manager_is_read_anew_each_time_and_may_be_an_object() {
        let readings = AtomicU64::new(0);
        let server = Provider::start(move |request| {
            assert_eq!(
                request.header("x-amz-target"),
                Some("secretsmanager.GetSecretValue")
            );
            let secret = match readings.fetch_add(1, Ordering::SeqCst) {
                0 => "token-0\n".to_owned(),
                1 => r#"{"token":"token-1"}"#.to_owned(),
                _ => "no token".to_owned(),
            };
            answer(
                200,
                &serde_json::json!({ "SecretString": secret }).to_string(),
            )
        });
        let keys = Keys {
            id: "id".to_owned(),
            secret: "key".to_owned(),
        };
        let arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:gateway-AbCdEf";
        let sdk = Sdk::new(Some(server.url().parse().unwrap())).or_keys(keys);
        let secret = Secret::new(arn.parse().unwrap(), "token", sdk);
        let source = ConfiguredToken::Secret(Box::new(secret));
        for expected in ["token-0", "token-1"] {
            let token = source.read().await.unwrap().unwrap();
            assert_eq!(token.secret(), expected);
        }
        let fault = source.read().await.unwrap_err();
        assert!(!fault.to_string().contains("no token"), "{fault}");
    }
}
