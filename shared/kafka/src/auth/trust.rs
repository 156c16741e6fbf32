//! Whom the client believes that it is the broker.

use std::fmt;
use std::fs;
use std::sync::Arc;

use rdkafka::ClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The certificate authorities by which a broker's certificate must be signed.
///
/// It must also name the host that the client connects to.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system trusts, Amazon's among them, which sign the certificates of MSK's brokers.
    #[default]
    System,
    /// These alone, as PEM.
    Only(Arc<str>),
}

/// Says why a file holds no certificate authorities.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// It cannot be read.
    #[error("the file {file:?} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        why: String,
    },
    /// There is no certificate in it.
    #[error(
        "the file {0:?} has no certificate in it: it is to hold one or more in PEM (BEGIN CERTIFICATE)"
    )]
    NoCertificate(String),
    /// One of its certificates is damaged.
    #[error("certificate {number} of the file {file:?} is damaged: {why}")]
    Damaged {
        /// The file.
        file: String,
        /// Which certificate, counted from 1.
        number: usize,
        /// What is wrong with it.
        why: String,
    },
}

impl Trust {
    /// Reads certificates from a PEM file.
    pub fn read_file(file: &str) -> Result<Self, TrustError> {
        let file = file.trim();
        let text = fs::read_to_string(file).map_err(|error| TrustError::Unreadable {
            file: file.to_owned(),
            why: error.to_string(),
        })?;
        let mut all = RootCertStore::empty();
        let mut number: usize = 0;
        for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
            number = number.saturating_add(1);
            let damaged = |error: &dyn fmt::Display| TrustError::Damaged {
                file: file.to_owned(),
                number,
                why: error.to_string(),
            };
            let certificate = certificate.map_err(|error| damaged(&error))?;
            all.add(certificate).map_err(|error| damaged(&error))?;
        }
        if all.is_empty() {
            return Err(TrustError::NoCertificate(file.to_owned()));
        }
        Ok(Self::Only(text.into()))
    }

    /// Makes a client check whom it talks to.
    pub(super) fn configure(&self, config: &mut ClientConfig) {
        // Both are librdkafka's defaults, and too much depends on them to leave them to it.
        config.set("enable.ssl.certificate.verification", "true");
        config.set("ssl.endpoint.identification.algorithm", "https");
        match self {
            // OpenSSL is built in, and its own folder exists on no system: the usual places are looked at, Amazon Linux's first.
            Self::System => config.set("ssl.ca.location", "probe"),
            Self::Only(pem) => config.set("ssl.ca.pem", &**pem),
        };
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::Only(pem) => write!(f, "Only({} bytes)", pem.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CA: &str = include_str!("../../tests/certificates/ca.pem");

    /// Reads a file that holds this.
    fn read(text: &str) -> Result<Trust, String> {
        let name = format!("brew-ca-{}-{}.pem", std::process::id(), text.len());
        let file = std::env::temp_dir().join(name);
        fs::write(&file, text).unwrap();
        let read = Trust::read_file(file.to_str().unwrap());
        fs::remove_file(&file).unwrap();
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_of_authorities_holds_one_or_more_whole_certificates() {
        let two = format!("# the first\n{CA}\n# the second\r\n{CA}\n");
        for text in [CA, &two] {
            assert_eq!(read(text), Ok(Trust::Only(text.into())));
        }
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for empty in ["", "\n", "a certificate", key] {
            let wrong = read(empty).unwrap_err();
            assert!(wrong.contains("has no certificate in it"), "{wrong}");
        }
        let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let wrong = read(&format!("{CA}{no_certificate}")).unwrap_err();
        assert!(wrong.contains("certificate 2 of the file"), "{wrong}");
        let cut = CA.get(..CA.len() / 2).unwrap();
        let wrong = read(cut).unwrap_err();
        assert!(wrong.contains("certificate 1 of the file"), "{wrong}");
    }

    #[test]
    fn row_95_without_a_file_the_places_are_looked_at_where_systems_keep_theirs() {
        let check = |trust: &Trust, location: Option<&str>, pem: Option<&str>| {
            let mut config = ClientConfig::new();
            trust.configure(&mut config);
            assert_eq!(config.get("ssl.ca.location"), location);
            assert_eq!(config.get("ssl.ca.pem"), pem);
            let identified = config.get("ssl.endpoint.identification.algorithm");
            assert_eq!(identified, Some("https"));
        };
        check(&Trust::System, Some("probe"), None);
        check(&Trust::Only(CA.into()), None, Some(CA));
    }

    #[test]
    fn what_is_no_file_is_refused_by_name() {
        let missing = Trust::read_file("/nowhere/ca.pem").unwrap_err();
        assert!(
            missing
                .to_string()
                .contains(r#""/nowhere/ca.pem" cannot be read"#)
        );
        assert!(Trust::read_file("/").is_err());
    }
}
