//! User and password out of a secret.

use std::fmt;
use std::sync::Arc;

use aws::Secret;
use lambda::check::{Unreached, Why};
use serde_json::{Map, Value};

use super::kept::Kept;
use super::trust::Trust;
use super::{Credentials, CredentialsFault};

/// SCRAM-SHA-512 with the user and the password of a secret, which is read at first need and again after they were refused.
#[derive(Debug)]
pub struct Scram {
    secret: Secret,
    trust: Trust,
    kept: Kept<Arc<Reading>>,
}

/// What a reading of the secret gave.
#[derive(Debug)]
pub(crate) struct Reading {
    login: Login,
    /// How many readings were before.
    number: u64,
}

/// A user and a password; neither is ever written to a log.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    username: String,
    password: String,
}

impl Scram {
    /// Returns the ARN of the secret.
    pub(crate) fn arn(&self) -> &str {
        self.secret.arn()
    }

    /// Takes user and password from a secret.
    pub fn new(secret: Secret, trust: Trust) -> Self {
        Self {
            secret,
            trust,
            kept: Kept::default(),
        }
    }

    pub(super) const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Reads the login for a check: anew, within a check's time, and not to be kept.
    pub(crate) async fn reach(&self) -> Result<Credentials, Unreached> {
        let text = Box::pin(self.secret.checking().reach_whole()).await?;
        let login = Login::in_secret(&text).map_err(|why| Unreached::new(Why::Wrong, &why))?;
        Ok(Credentials::Login(Arc::new(Reading { login, number: 0 })))
    }

    /// Returns the login as it was read last, or reads it.
    pub(super) async fn current(&self) -> Result<Arc<Reading>, CredentialsFault> {
        self.after(None).await
    }

    /// Reads the secret again, unless that was done since the refused one; tells whether it holds another login now.
    pub(super) async fn has_changed(&self, refused: &Reading) -> Result<bool, CredentialsFault> {
        let reading = self.after(Some(refused.number)).await?;
        Ok(reading.login != refused.login)
    }

    async fn after(&self, refused: Option<u64>) -> Result<Arc<Reading>, CredentialsFault> {
        let is_good = |reading: &Arc<Reading>| refused.is_none_or(|it| reading.number > it);
        let read = async |before: Option<&Arc<Reading>>| {
            // The SDK's futures are nested deeply; boxed, they count as one level.
            let text = Box::pin(self.secret.whole()).await;
            let text = text.map_err(|fault| CredentialsFault(fault.to_string()))?;
            let login = Login::in_secret(&text).map_err(|wrong| {
                CredentialsFault(format!(
                    "the secret {} is wrong: {wrong}",
                    self.secret.arn()
                ))
            })?;
            let number = before.map_or(0, |before| before.number.saturating_add(1));
            Ok(Arc::new(Reading { login, number }))
        };
        self.kept.get(is_good, read).await
    }
}

impl Reading {
    pub(super) const fn login(&self) -> &Login {
        &self.login
    }
}

impl Login {
    pub(super) fn username(&self) -> &str {
        &self.username
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }

    /// Reads the JSON object that MSK demands of a secret for SCRAM: `username` and `password`.
    fn in_secret(text: &str) -> Result<Self, String> {
        let object = serde_json::from_str::<Map<String, Value>>(text.trim());
        // The parser's own words might quote the secret.
        let object = object.map_err(|_| "it is no JSON object".to_owned())?;
        let field = |name: &str| match object.get(name).and_then(Value::as_str) {
            None => Err(format!("it has no text field `{name}`")),
            Some("") => Err(format!("its `{name}` is empty")),
            Some(value) if value.contains('\0') => Err(format!("its `{name}` has a NUL in it")),
            // librdkafka passes it over in each of its settings, and then the broker refuses the rest.
            Some(value) if value.starts_with(is_space) => Err(format!(
                "its `{name}` begins with white space, which librdkafka leaves out: choose another"
            )),
            Some(value) => Ok(value.to_owned()),
        };
        Ok(Self {
            username: field("username")?,
            password: field("password")?,
        })
    }
}

/// Tells whether it is white space to C's `isspace`.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t'..='\r')
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_for_scram_is_an_object_with_user_and_password() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            let login = Login::in_secret(text);
            let found = match &login {
                Ok(login) => Ok((login.username(), login.password())),
                Err(wrong) => Err(wrong.as_str()),
            };
            assert_eq!(found, expected, "{text}");
        };
        check(r#"{"username":"u","password":"p"}"#, Ok(("u", "p")));
        check(
            " {\"password\":\"p \",\"x\":1,\"username\":\"u\"}\n",
            Ok(("u", "p ")),
        );
        check("s3cret", Err("it is no JSON object"));
        check(r#"["s3cret"]"#, Err("it is no JSON object"));
        check("", Err("it is no JSON object"));
        check(
            r#"{"password":"p"}"#,
            Err("it has no text field `username`"),
        );
        check(
            r#"{"username":"u","password":7}"#,
            Err("it has no text field `password`"),
        );
        check(
            r#"{"username":"u","password":""}"#,
            Err("its `password` is empty"),
        );
        check(
            r#"{"username":"u\u0000","password":"p"}"#,
            Err("its `username` has a NUL in it"),
        );
        for space in [" ", "\\t", "\\n", "\\u000b"] {
            let wrong = "its `password` begins with white space, which librdkafka leaves out: choose another";
            let secret = format!(r#"{{"username":"u","password":"{space}p"}}"#);
            check(&secret, Err(wrong));
        }
    }

    #[test]
    fn a_login_is_never_shown() {
        let login = Login::in_secret(r#"{"username":"alice","password":"s3cret"}"#).unwrap();
        let reading = Reading { login, number: 7 };
        let shown = format!("{reading:?}");
        assert!(
            !shown.contains("alice") && !shown.contains("s3cret"),
            "{shown}"
        );
    }
}
