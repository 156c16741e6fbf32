//! An Apache Kafka that lets in by TLS, by SCRAM and by IAM tokens, under an authority of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use local::kafka_server::{Artefacts, KafkaServer, KafkaSettings, Listener, Protocol, User};
use pipeline::Topic;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use super::cluster::Cluster;
use super::secrets::{ARN, Secrets};

/// A user that may do everything.
pub(crate) const ALICE: (&str, &str) = ("alice", "alices-s3cret");

/// A user that may do nothing.
pub(crate) const BOB: (&str, &str) = ("bob", "bobs-s3cret");

/// A user that may do what a test allows.
pub(crate) const CAROL: (&str, &str) = ("carol", "carols-s3cret");

/// The broker; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Secured {
    server: KafkaServer,
    class_path: String,
    folder: TempDir,
}

/// A listener of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Plain,
    Tls,
    Scram,
    Iam,
}

impl Way {
    /// Returns its name in the broker's settings.
    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAINTEXT",
            Self::Tls => "TLS",
            Self::Scram => "SCRAM",
            Self::Iam => "IAM",
        }
    }
}

impl Secured {
    /// Starts the broker.
    ///
    /// Returns `None` and says so when there is no Java; in CI that fails.
    pub(crate) async fn start() -> Option<Self> {
        match Self::try_start().await {
            Ok(started) => Some(started),
            Err(error) => {
                super::not_run("Apache Kafka (a JDK, and once Maven)", &error);
                None
            }
        }
    }

    async fn try_start() -> anyhow::Result<Self> {
        let artefacts = Artefacts::provide(|what| eprintln!("{what}")).await?;
        let folder = TempDir::new()?;
        make_certificates(folder.path())?;
        let classes = compile_validator(&artefacts, folder.path())?;
        let user = |(name, password): (&str, &str)| User {
            name: name.to_owned(),
            password: password.to_owned(),
        };
        let listener = |way: Way, protocol| Listener {
            name: way.name().to_owned(),
            protocol,
        };
        let properties = properties(folder.path());
        let settings = KafkaSettings {
            properties: properties.into_iter().collect(),
            listeners: vec![
                listener(Way::Tls, Protocol::Ssl),
                listener(Way::Scram, Protocol::SaslSsl),
                listener(Way::Iam, Protocol::SaslSsl),
            ],
            users: vec![user(ALICE), user(BOB), user(CAROL)],
            classes: Some(classes),
            ..KafkaSettings::default()
        };
        let class_path = artefacts.class_path();
        let server = KafkaServer::start(artefacts, settings).await?;
        Ok(Self {
            server,
            class_path,
            folder,
        })
    }

    /// Returns the broker by its plain listener, for what the test itself does.
    pub(crate) fn cluster(&self) -> Cluster {
        Cluster::at(self.server.bootstrap_servers())
    }

    /// Returns host and port of a listener.
    pub(crate) fn address(&self, way: Way) -> String {
        match way {
            Way::Plain => self.server.bootstrap_servers(),
            Way::Tls | Way::Scram | Way::Iam => self.server.address_of(way.name()).unwrap(),
        }
    }

    /// Returns the file with the authority that has signed the broker's certificate.
    pub(crate) fn ca(&self) -> String {
        self.file("ca.pem")
    }

    /// Returns the file with an authority that has signed nothing.
    pub(crate) fn other_ca(&self) -> String {
        self.file("other-ca.pem")
    }

    /// Returns the variables that let a function in by a listener.
    pub(crate) fn way_in(&self, way: Way, secrets: &Secrets) -> Vec<(&'static str, String)> {
        let mut env = vec![("KAFKA_BROKERS", self.address(way))];
        env.extend(match way {
            Way::Plain => vec![],
            Way::Tls => vec![("KAFKA_AUTH", "tls".to_owned()), ("KAFKA_CA", self.ca())],
            Way::Scram => vec![
                ("KAFKA_AUTH", "scram".to_owned()),
                ("KAFKA_CA", self.ca()),
                ("KAFKA_SECRET_ARN", ARN.to_owned()),
                ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets.url()),
            ],
            Way::Iam => vec![("KAFKA_AUTH", "iam".to_owned()), ("KAFKA_CA", self.ca())],
        });
        env
    }

    /// Allows a user these operations on a topic, and nothing else.
    pub(crate) fn allow(&self, user: &str, operations: &[&str], topic: &Topic) {
        let mut command = Command::new("java");
        command
            .args(["-cp", &self.class_path, "org.apache.kafka.tools.AclCommand"])
            .args(["--bootstrap-server", &self.server.bootstrap_servers()])
            .args(["--add", "--allow-principal", &format!("User:{user}")])
            .args(["--topic", topic.as_str()]);
        for operation in operations {
            command.args(["--operation", operation]);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Returns what the broker has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.server.data().join("kafka.log")).unwrap()
    }
}

fn properties(folder: &Path) -> Vec<(String, String)> {
    let keys = folder.join("broker.pem").display().to_string();
    let iam = "listener.name.iam.oauthbearer.sasl";
    let (alice, iam_user) = (ALICE.0, local::s3::ACCESS_KEY);
    [
        ("ssl.keystore.type", "PEM"),
        ("ssl.keystore.location", &keys),
        (
            "listener.name.scram.sasl.enabled.mechanisms",
            "SCRAM-SHA-512",
        ),
        (
            "listener.name.scram.scram-sha-512.sasl.jaas.config",
            "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        ),
        ("listener.name.iam.sasl.enabled.mechanisms", "OAUTHBEARER"),
        (
            &format!("{iam}.jaas.config"),
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";",
        ),
        (
            &format!("{iam}.server.callback.handler.class"),
            "brew.IamTokenValidator",
        ),
        // After so long a client has to make itself known again.
        (
            "listener.name.iam.oauthbearer.connections.max.reauth.ms",
            "3000",
        ),
        ("brew.iam.access.key", local::s3::ACCESS_KEY),
        ("brew.iam.secret.key", local::s3::SECRET_KEY),
        ("brew.iam.region", local::function::REGION),
        (
            "authorizer.class.name",
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        ),
        (
            "super.users",
            &format!("User:ANONYMOUS;User:{alice};User:{iam_user}"),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// Makes an authority, the broker's key with its certificate for 127.0.0.1, and an authority that nobody is signed by.
fn make_certificates(folder: &Path) -> anyhow::Result<()> {
    let authority = |name: &str| -> anyhow::Result<(CertificateParams, KeyPair)> {
        let mut authority = CertificateParams::new([])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, name);
        Ok((authority, KeyPair::generate()?))
    };
    let (other, other_key) = authority("other authority")?;
    fs::write(
        folder.join("other-ca.pem"),
        other.self_signed(&other_key)?.pem(),
    )?;
    let (ours, ours_key) = authority("authority of this test")?;
    fs::write(folder.join("ca.pem"), ours.self_signed(&ours_key)?.pem())?;
    let key = KeyPair::generate()?;
    let broker = CertificateParams::new(["127.0.0.1".to_owned()])?;
    let signed = broker.signed_by(&key, &Issuer::new(ours, ours_key))?;
    let both = key.serialize_pem() + &signed.pem();
    Ok(fs::write(folder.join("broker.pem"), both)?)
}

/// Compiles what takes IAM tokens in the broker as MSK does.
fn compile_validator(artefacts: &Artefacts, folder: &Path) -> anyhow::Result<PathBuf> {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/harness/iam/IamTokenValidator.java"
    );
    let classes = folder.join("classes");
    let output = Command::new("javac")
        .args(["-cp", &artefacts.class_path(), "-d"])
        .arg(&classes)
        .arg(source)
        .output()
        .context("javac cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "javac: {said}");
    Ok(classes)
}
