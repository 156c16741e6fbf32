//! Signatures for requests to services whose SDK is not worth its weight.
//!
//! Source: AWS IAM user guide, "AWS Signature Version 4 for API requests".

use std::time::{Duration, SystemTime};

use aws_sdk_s3::config::ProvideCredentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use pipeline::Timestamp;

use crate::config::Sdk;

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
        let region = self.region().await.ok_or(SigningError::NoRegion)?;
        let nobody = || SigningError::NoCredentials("there is no provider of any".to_owned());
        let provider = self
            .config()
            .await
            .credentials_provider()
            .ok_or_else(nobody)?;
        let credentials = provider
            .provide_credentials()
            .await
            .map_err(|error| SigningError::NoCredentials(crate::config::root_of(&error)))?;
        let identity = credentials.into();
        let request = |error: &dyn std::error::Error| SigningError::Request(error.to_string());
        let since_epoch = u64::try_from(now.millis()).unwrap_or(0);
        let time = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_millis(since_epoch))
            .unwrap_or(SystemTime::UNIX_EPOCH);
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&region)
            .name(service)
            .time(time)
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| request(&error))?
            .into();
        let signable = SignableRequest::new(
            "POST",
            url,
            headers.iter().copied(),
            SignableBody::Bytes(body),
        )
        .map_err(|error| request(&error))?;
        let (instructions, _) = sign(signable, &parameters)
            .map_err(|error| request(&error))?
            .into_parts();
        let added = instructions.headers();
        Ok(added
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect())
    }
}
