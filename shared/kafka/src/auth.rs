//! How a client makes itself known to the brokers, and what it needs for that beside the settings.

mod iam;
mod kept;
mod scram;
mod trust;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use aws::{Sdk, Secret};
use lambda::SettingsReader;
use pipeline::Timestamp;
use rdkafka::ClientConfig;

pub use iam::Iam;
pub use scram::Scram;
pub use trust::{Trust, TrustError};

pub(crate) use scram::Reading;

/// How a client makes itself known to the brokers.
#[derive(Clone, Debug)]
pub enum Auth {
    /// It does not, and nothing is encrypted: for brokers inside one's own network.
    None,
    /// It does not; the brokers prove who they are, and everything is encrypted.
    Tls(Trust),
    /// By user and password, encrypted.
    Scram(Arc<Scram>),
    /// By the function's own role at Amazon MSK, encrypted.
    Iam(Arc<Iam>),
}

/// A way of making oneself known, by the name that `KAFKA_AUTH` has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    None,
    Tls,
    Scram,
    Iam,
}

/// What a client makes itself known with.
#[derive(Clone, Debug)]
pub(crate) enum Credentials {
    /// Nothing.
    None,
    /// A user and a password.
    Login(Arc<Reading>),
    /// A token, which each client asks for by itself.
    Token,
}

/// Says that there is nothing to make oneself known with now. Names where it should have come from, never a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CredentialsFault(pub(crate) String);

impl Auth {
    /// Reads `KAFKA_AUTH`, `KAFKA_SECRET_ARN` and `KAFKA_CA`; nothing is connected yet.
    ///
    /// One that is set beside a mode which has no use for it is a problem: whoever set it expects something else.
    pub fn read(settings: &mut SettingsReader<'_>) -> Option<Self> {
        let mode = settings.or_default("KAFKA_AUTH", Mode::None, str::parse);
        let secret = Secret::read(settings, "KAFKA_SECRET_ARN", "password");
        let trust = settings.optional("KAFKA_CA", Trust::read_file);
        let mode = mode?;
        match mode {
            Mode::None | Mode::Tls | Mode::Iam => {
                if matches!(secret, Some(Some(_))) {
                    let text = format_args!("is set, but KAFKA_AUTH is {mode}: only scram has one");
                    settings.problem("KAFKA_SECRET_ARN", text);
                    return None;
                }
            }
            Mode::Scram => {
                if matches!(secret, Some(None)) {
                    let text =
                        "is not set, and with KAFKA_AUTH=scram user and password come from it";
                    settings.problem("KAFKA_SECRET_ARN", text);
                }
            }
        }
        match mode {
            Mode::None if matches!(trust, Some(Some(_))) => {
                let text = "is set, but KAFKA_AUTH is none: then nothing is encrypted";
                settings.problem("KAFKA_CA", text);
                None
            }
            Mode::None => Some(Self::None),
            Mode::Tls => Some(Self::Tls(trust?.unwrap_or_default())),
            Mode::Scram => {
                let scram = Scram::new(secret??, trust?.unwrap_or_default());
                Some(Self::Scram(Arc::new(scram)))
            }
            Mode::Iam => {
                let iam = Iam::new(Sdk::new(None), trust?.unwrap_or_default());
                Some(Self::Iam(Arc::new(iam)))
            }
        }
    }

    pub(crate) const fn mode(&self) -> Mode {
        match self {
            Self::None => Mode::None,
            Self::Tls(_) => Mode::Tls,
            Self::Scram(_) => Mode::Scram,
            Self::Iam(_) => Mode::Iam,
        }
    }

    /// Sees to it that a client has what it makes itself known with, now and for the next minutes.
    pub(crate) async fn credentials(
        &self,
        now: Timestamp,
    ) -> Result<Credentials, CredentialsFault> {
        match self {
            Self::None | Self::Tls(_) => Ok(Credentials::None),
            Self::Scram(scram) => scram.current().await.map(Credentials::Login),
            Self::Iam(iam) => iam.renew(now).await.map(|()| Credentials::Token),
        }
    }

    /// Has a token ready for the moment at which a client asks for the next one.
    pub(crate) async fn keep_up(&self, now: Timestamp) {
        if let Self::Iam(iam) = self
            && let Err(fault) = iam.renew(now).await
        {
            // The one before is still good for a while; when it is not, the broker's refusal tells.
            tracing::debug!("{fault}");
        }
    }

    /// Reads again what the brokers have refused; tells whether it has become something else.
    pub(crate) async fn have_changed(
        &self,
        refused: &Credentials,
    ) -> Result<bool, CredentialsFault> {
        match (self, refused) {
            (Self::Scram(scram), Credentials::Login(refused)) => scram.has_changed(refused).await,
            (Self::Iam(iam), _) => {
                iam.distrust();
                Ok(false)
            }
            (Self::None | Self::Tls(_) | Self::Scram(_), _) => Ok(false),
        }
    }

    /// Sets a client up.
    pub(crate) fn configure(&self, credentials: &Credentials, config: &mut ClientConfig) {
        match self {
            Self::None => {
                config.set("security.protocol", "plaintext");
            }
            Self::Tls(trust) => {
                config.set("security.protocol", "ssl");
                trust.configure(config);
            }
            Self::Scram(scram) => {
                config.set("security.protocol", "sasl_ssl");
                config.set("sasl.mechanisms", "SCRAM-SHA-512");
                scram.trust().configure(config);
            }
            Self::Iam(iam) => {
                config.set("security.protocol", "sasl_ssl");
                config.set("sasl.mechanisms", "OAUTHBEARER");
                iam.trust().configure(config);
            }
        }
        if let Credentials::Login(reading) = credentials {
            config.set("sasl.username", reading.login().username());
            config.set("sasl.password", reading.login().password());
        }
    }
}

impl Credentials {
    /// Tells whether a client made with these would be another than one made with those.
    pub(crate) fn differ_from(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Login(one), Self::Login(other)) => one.login() != other.login(),
            (Self::None | Self::Token | Self::Login(_), _) => false,
        }
    }
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mode().fmt(f)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Tls => "tls",
            Self::Scram => "scram",
            Self::Iam => "iam",
        })
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.trim() {
            "none" => Ok(Self::None),
            "tls" => Ok(Self::Tls),
            "scram" => Ok(Self::Scram),
            "iam" => Ok(Self::Iam),
            other => Err(format!("{other:?} is not none, tls, scram or iam")),
        }
    }
}
