//! Secrets of AWS Secrets Manager, read at first need and again on demand.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::config::http::HttpResponse;
use aws_sdk_secretsmanager::error::SdkError;
use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueError;
use lambda::SettingsReader;
use tokio::sync::{Mutex, OnceCell};

use crate::config::{Limits, Sdk};
use crate::fault;

/// One value that lies in Secrets Manager: bare, or as a field of a JSON object.
pub struct Secret {
    arn: Arn,
    field: &'static str,
    sdk: Sdk,
    client: OnceCell<Client>,
    held: Mutex<Option<Arc<str>>>,
}

/// Says that a secret cannot be had now. Names it, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret {arn} cannot be read: {why}")]
pub struct SecretFault {
    arn: String,
    why: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("arn", &self.arn.0)
            .field("field", &self.field)
            .finish_non_exhaustive()
    }
}

impl Secret {
    /// Reads the setting that names a secret: `Some(None)` when it is not set.
    pub fn read(
        reader: &mut SettingsReader<'_>,
        setting: &str,
        field: &'static str,
    ) -> Option<Option<Self>> {
        let endpoint = reader.optional("AWS_ENDPOINT_URL_SECRETS_MANAGER", str::parse);
        let arn = reader.optional(setting, str::parse::<Arn>);
        let sdk = Sdk::new(endpoint?);
        Some(arn?.map(|arn| Self::new(arn, field, sdk)))
    }

    /// Names a secret, and the field that holds the value when it is a JSON object.
    pub fn new(arn: Arn, field: &'static str, sdk: Sdk) -> Self {
        Self {
            arn,
            field,
            sdk,
            client: OnceCell::new(),
            held: Mutex::new(None),
        }
    }

    /// Returns the ARN that names it.
    pub fn arn(&self) -> &str {
        &self.arn.0
    }

    /// Returns the value as it was read last, or reads it.
    pub async fn value(&self) -> Result<Arc<str>, SecretFault> {
        let mut held = self.held.lock().await;
        if let Some(value) = held.as_ref() {
            return Ok(Arc::clone(value));
        }
        let value = self.fetch().await?;
        *held = Some(Arc::clone(&value));
        drop(held);
        Ok(value)
    }

    /// Reads the value again: it may have been changed since.
    pub async fn read_again(&self) -> Result<Arc<str>, SecretFault> {
        let value = self.fetch().await?;
        *self.held.lock().await = Some(Arc::clone(&value));
        Ok(value)
    }

    async fn fetch(&self) -> Result<Arc<str>, SecretFault> {
        let text = self.whole().await?;
        value_in(&text, self.field).map_err(|why| self.fault(why))
    }

    /// Reads all the text that lies there, for secrets of several fields.
    pub async fn whole(&self) -> Result<String, SecretFault> {
        let text = self.ask().await;
        text.map_err(|error| self.fault(fault::told(&error)))?
            .ok_or_else(|| self.fault("it is binary"))
    }

    /// Asks for the text; `None` when the secret is binary.
    pub(crate) async fn ask(
        &self,
    ) -> Result<Option<String>, SdkError<GetSecretValueError, HttpResponse>> {
        let client = self.client().await;
        let request = client.get_secret_value().secret_id(&self.arn.0);
        Ok(request.send().await?.secret_string)
    }

    pub(crate) const fn field(&self) -> &'static str {
        self.field
    }

    /// Returns the same secret, read by a client of its own within other limits.
    pub(crate) fn within(&self, limits: Limits) -> Self {
        Self::new(
            self.arn.clone(),
            self.field,
            self.sdk.clone().within(limits),
        )
    }

    async fn client(&self) -> &Client {
        let connect = async || {
            let mut config = aws_sdk_secretsmanager::config::Builder::from(self.sdk.config().await);
            if let Some(endpoint) = self.sdk.endpoint() {
                config = config.endpoint_url(endpoint.as_str());
            }
            Client::from_conf(config.build())
        };
        self.client.get_or_init(connect).await
    }

    fn fault(&self, why: impl Into<String>) -> SecretFault {
        SecretFault {
            arn: self.arn.0.clone(),
            why: why.into(),
        }
    }
}

/// Takes the value out of a secret's text: bare, or a field of a JSON object.
pub(crate) fn value_in(text: &str, field: &str) -> Result<Arc<str>, String> {
    let bare = text.trim();
    let object = bare
        .starts_with('{')
        .then(|| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(bare).ok())
        .flatten();
    let value = match &object {
        None => bare,
        Some(fields) => fields
            .get(field)
            .and_then(serde_json::Value::as_str)
            .map(str::trim)
            .ok_or_else(|| format!("it is a JSON object without a text field `{field}`"))?,
    };
    if value.is_empty() {
        Err("it is empty".to_owned())
    } else {
        Ok(value.into())
    }
}

/// The ARN of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arn(String);

/// Says that a text is no secret's ARN, without the text: it may be the secret itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not of the form arn:aws:secretsmanager:region:account:secret:name")]
pub struct ArnError;

impl FromStr for Arn {
    type Err = ArnError;

    fn from_str(text: &str) -> Result<Self, ArnError> {
        let mut parts = text.splitn(7, ':');
        let mut part = || parts.next().unwrap_or_default();
        let legal = part() == "arn"
            && part().starts_with("aws")
            && part() == "secretsmanager"
            && !part().is_empty()
            && !part().is_empty()
            && part() == "secret"
            && !part().is_empty();
        if legal {
            Ok(Self(text.to_owned()))
        } else {
            Err(ArnError)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_bare_or_a_field_of_an_object() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let value = value_in(text, "token");
            assert_eq!(value.as_deref().map_err(String::as_str), expected, "{text}");
        };
        check("abc", Ok("abc"));
        check("abc\n", Ok("abc"));
        check(r#"{"token":"abc","url":"u"}"#, Ok("abc"));
        check(r#"{"token":" abc\n"}"#, Ok("abc"));
        check("{not json", Ok("{not json"));
        check("\"abc\"", Ok("\"abc\""));
        check("", Err("it is empty"));
        check(r#"{"token":""}"#, Err("it is empty"));
        let without = Err("it is a JSON object without a text field `token`");
        check(r#"{"url":"u"}"#, without);
        check(r#"{"token":7}"#, without);
    }

    #[test]
    fn only_an_arn_of_a_secret_is_one() {
        let check = |text: &str, legal: bool| {
            assert_eq!(text.parse::<Arn>().is_ok(), legal, "{text}");
        };
        check(
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:gateway-AbCdEf",
            true,
        );
        check(
            "arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:a/b:c",
            true,
        );
        check("arn:aws:s3:::bucket", false);
        check(
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:",
            false,
        );
        check("gateway", false);
    }
}
