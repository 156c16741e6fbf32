//! How AWS is reached: credentials, region, endpoints and time limits, loaded at first need.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_config::environment::{
    EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider,
};
use aws_config::identity::IdentityCache;
use aws_config::meta::credentials::CredentialsProviderChain;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_s3::config::{Credentials, ProvideCredentials, SharedHttpClient};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use tokio::sync::OnceCell;

/// How often a call is tried.
const TRIES: u32 = 3;
/// How long credentials may take to be found: where there are none, the SDK would ask the machine's metadata service again and again.
pub(crate) const IDENTITY: Duration = Duration::from_millis(2_500);
/// The region that requests to an endpoint of one's own are signed for when none is set.
const REGION_OF_ENDPOINTS: &str = "us-east-1";

/// AWS's SDK configuration, loaded at first need and then kept.
#[derive(Clone, Debug, Default)]
pub struct Sdk(Arc<Loading>);

#[derive(Debug, Default)]
struct Loading {
    endpoint: Option<Endpoint>,
    keys: Option<Keys>,
    limits: Limits,
    loaded: OnceCell<SdkConfig>,
}

/// How long calls may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands.
    pub connect: Duration,
    /// One try.
    pub attempt: Duration,
    /// All tries of a call together.
    pub operation: Duration,
}

impl Default for Limits {
    /// Returns 1.5 s, 3 s and 8 s: a function that hands records back must still answer in time.
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(1_500),
            attempt: Duration::from_secs(3),
            operation: Duration::from_secs(8),
        }
    }
}

impl Sdk {
    /// Reaches AWS itself, or an endpoint of one's own, with the SDK's own chain of credentials.
    pub fn new(endpoint: Option<Endpoint>) -> Self {
        Self(Arc::new(Loading {
            endpoint,
            ..Loading::default()
        }))
    }

    /// Reaches it with the credentials of the environment or of a profile, else with these.
    pub fn or_keys(self, keys: Keys) -> Self {
        Self(Arc::new(Loading {
            endpoint: self.0.endpoint.clone(),
            keys: Some(keys),
            limits: self.0.limits,
            loaded: OnceCell::new(),
        }))
    }

    /// Reaches it within other limits.
    pub fn within(self, limits: Limits) -> Self {
        Self(Arc::new(Loading {
            endpoint: self.0.endpoint.clone(),
            keys: self.0.keys.clone(),
            limits,
            loaded: OnceCell::new(),
        }))
    }

    /// Returns the endpoint, when it is one's own.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.0.endpoint.as_ref()
    }

    /// Returns the variables that give another program the credentials which are used here now; none where there are none.
    ///
    /// They may expire, and are not renewed there.
    pub async fn credentials(&self) -> Result<Vec<(&'static str, String)>, CredentialsError> {
        let Some(provider) = self.config().await.credentials_provider() else {
            return Ok(Vec::new());
        };
        let found = provider
            .provide_credentials()
            .await
            .map_err(|error| CredentialsError(root_of(&error)))?;
        let mut variables = vec![
            ("AWS_ACCESS_KEY_ID", found.access_key_id().to_owned()),
            (
                "AWS_SECRET_ACCESS_KEY",
                found.secret_access_key().to_owned(),
            ),
        ];
        if let Some(token) = found.session_token() {
            variables.push(("AWS_SESSION_TOKEN", token.to_owned()));
        }
        Ok(variables)
    }

    /// Returns the region that is set, if one is.
    pub async fn region(&self) -> Option<String> {
        let region = self.config().await.region()?;
        Some(region.as_ref().to_owned())
    }

    /// Returns the configuration.
    pub(crate) async fn config(&self) -> &SdkConfig {
        self.0.loaded.get_or_init(|| self.0.load()).await
    }
}

impl Loading {
    async fn load(&self) -> SdkConfig {
        let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
            .or_else(ProfileFileRegionProvider::new());
        let region = if self.endpoint.is_some() {
            region.or_else(Region::new(REGION_OF_ENDPOINTS))
        } else {
            region
        };
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(self.limits.connect)
            .operation_attempt_timeout(self.limits.attempt)
            .operation_timeout(self.limits.operation)
            .build();
        let retries = RetryConfig::standard()
            .with_max_attempts(TRIES)
            .with_initial_backoff(Duration::from_millis(100))
            .with_max_backoff(Duration::from_secs(1));
        let http = http_client();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .region(region)
            .timeout_config(timeouts)
            .retry_config(retries)
            .identity_cache(IdentityCache::lazy().load_timeout(IDENTITY).build())
            .http_client(http.clone());
        if let Some(Keys { id, secret }) = &self.keys {
            let fixed = Credentials::new(id, secret, None, None, "fixed");
            let reach = ProviderConfig::without_region().with_http_client(http);
            let profile = ProfileFileCredentialsProvider::builder().configure(&reach);
            loader = loader.credentials_provider(
                CredentialsProviderChain::first_try(
                    "environment",
                    EnvironmentVariableCredentialsProvider::new(),
                )
                .or_else("profile", profile.build())
                .or_else("fixed", fixed),
            );
        }
        loader.load().await
    }
}

/// Says that the credentials which are set cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no credentials can be had: {0}")]
pub struct CredentialsError(String);

/// Returns the innermost cause, which says what really happened.
pub(crate) fn root_of(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

/// Speaks HTTPS by rustls with ring.
fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(tls::Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

/// The address of a server that speaks AWS's protocol: `http://` or `https://`, a host and perhaps a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(String);

/// Says that a text is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an endpoint begins with http:// or https:// and names a host")]
pub struct EndpointError;

impl Endpoint {
    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let text = text.trim();
        let host = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"))
            .ok_or(EndpointError)?;
        let names_a_host = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
        if names_a_host && !host.contains(|c: char| c.is_whitespace() || c == '@') {
            Ok(Self(text.to_owned()))
        } else {
            Err(EndpointError)
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A fixed pair of access keys, for a server on one's own machine.
#[derive(Clone)]
pub struct Keys {
    /// The access key's id.
    pub id: String,
    /// The secret key.
    pub secret: String,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
