//! Signatures for requests to services whose SDK is not worth its weight.
//!
//! Source: AWS IAM user guide, "AWS Signature Version 4 for API requests".

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::config::ProvideCredentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningInstructions, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pipeline::Timestamp;

use crate::config::{IDENTITY, Sdk};

/// What a signed URL writes with `%`: all but RFC 3986's unreserved characters.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Says why a request was not signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// There is no region to sign for.
    #[error("no region is set: AWS_REGION, or one in the profile")]
    NoRegion,
    /// There are no credentials to sign with.
    #[error("no credentials can be had: {0}")]
    NoCredentials(String),
    /// The request cannot be signed.
    #[error("the request cannot be signed: {0}")]
    Request(String),
}

/// A URL that carries its own signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Presigned {
    /// The URL; whoever has it can make the request.
    pub url: String,
    /// When it stops to be accepted.
    pub until: Timestamp,
}

impl fmt::Debug for Presigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presigned")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

/// What is signed: a service's request at a time.
struct Signing<'a> {
    service: &'a str,
    now: Timestamp,
    settings: SigningSettings,
}

impl Sdk {
    /// Signs a POST to a service of AWS, and returns the headers to send beside those given.
    pub async fn sign_post(
        &self,
        service: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<(String, String)>, SigningError> {
        let signing = Signing {
            service,
            now,
            settings: SigningSettings::default(),
        };
        let request = SignableRequest::new(
            "POST",
            url,
            headers.iter().copied(),
            SignableBody::Bytes(body),
        );
        let (instructions, _) = self.sign(signing, request).await?;
        let added = instructions.headers();
        Ok(added
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect())
    }

    /// Signs a GET to a service of AWS in its URL, to be accepted for `life`, or for as long as the credentials last.
    ///
    /// The URL has a query.
    pub async fn presign_get(
        &self,
        service: &str,
        url: &str,
        life: Duration,
        now: Timestamp,
    ) -> Result<Presigned, SigningError> {
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(life);
        let signing = Signing {
            service,
            now,
            settings,
        };
        let nothing = std::iter::empty();
        let request = SignableRequest::new("GET", url, nothing, SignableBody::Bytes(&[]));
        let (instructions, credentials_end) = self.sign(signing, request).await?;
        let parameters = instructions.params().iter();
        let parameters = parameters
            .map(|(name, value)| format!("&{name}={}", utf8_percent_encode(value, ESCAPED)));
        let url = std::iter::once(url.to_owned())
            .chain(parameters)
            .collect::<String>();
        let life_ms = i64::try_from(life.as_millis()).unwrap_or(i64::MAX);
        let end = Timestamp::from_millis(now.millis().saturating_add(life_ms));
        Ok(Presigned {
            url,
            until: credentials_end.map_or(end, |credentials_end| credentials_end.min(end)),
        })
    }

    /// Signs a request, and tells when the credentials end, if they do.
    async fn sign(
        &self,
        signing: Signing<'_>,
        request: Result<SignableRequest<'_>, impl std::error::Error>,
    ) -> Result<(SigningInstructions, Option<Timestamp>), SigningError> {
        let region = self.region().await.ok_or(SigningError::NoRegion)?;
        let nobody = || SigningError::NoCredentials("there is no provider of any".to_owned());
        let provider = self
            .config()
            .await
            .credentials_provider()
            .ok_or_else(nobody)?;
        let credentials = tokio::time::timeout(IDENTITY, provider.provide_credentials())
            .await
            .map_err(|_| SigningError::NoCredentials(format!("no answer within {IDENTITY:?}")))?
            .map_err(|error| SigningError::NoCredentials(crate::config::root_of(&error)))?;
        let end = credentials.expiry().and_then(timestamp);
        let identity = credentials.into();
        let wrong = |error: &dyn std::error::Error| SigningError::Request(error.to_string());
        let since_epoch = u64::try_from(signing.now.millis()).unwrap_or(0);
        let time = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_millis(since_epoch))
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&region)
            .name(signing.service)
            .time(time)
            .settings(signing.settings)
            .build()
            .map_err(|error| wrong(&error))?
            .into();
        let request = request.map_err(|error| wrong(&error))?;
        let signed = sign(request, &parameters).map_err(|error| wrong(&error))?;
        Ok((signed.into_parts().0, end))
    }
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let millis = i64::try_from(since_epoch.as_millis()).ok()?;
    Some(Timestamp::from_millis(millis))
}
