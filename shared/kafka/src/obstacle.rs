//! What stands between a client and its brokers, and what to look at.

use rdkafka::error::RDKafkaErrorCode;

use crate::auth::Mode;

/// Something that stands between a client and its brokers, and goes away only when someone changes a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The broker's certificate is signed by nobody whom we trust, is not valid now, or names another host.
    Certificate,
    /// We speak TLS, and the listener does not.
    PlainListener,
    /// We do not speak TLS, and the listener does.
    TlsListener,
    /// The listener wants to know who we are, or does not offer our way of telling.
    Mechanism,
    /// The broker does not take what we make ourselves known with.
    Credentials,
    /// There is nothing to make ourselves known with.
    NoToken,
    /// We are known, and may not do this with this topic.
    TopicPermission,
    /// We are known, and may not do this in this cluster.
    ClusterPermission,
}

impl Obstacle {
    /// Finds it in what librdkafka says of a connection; its codes tell less than its words.
    pub(crate) fn in_words(words: &str) -> Option<Self> {
        let say = |part: &str| words.contains(part);
        if say("certificate verify failed") || say("broker certificate") {
            Some(Self::Certificate)
        } else if say("PLAINTEXT broker listener") || say("wrong version number") {
            Some(Self::PlainListener)
        } else if say("SSL listener") || is_cut_off_at_the_first_question(words) {
            Some(Self::TlsListener)
        } else if say("mechanism handshake failed")
            || say("might require SASL authentication")
            || say("SASL Handshake not supported")
            || is_asked_for_a_certificate(words)
            || is_shown_the_door(words)
        {
            Some(Self::Mechanism)
        } else if say("Failed to acquire SASL OAUTHBEARER token") {
            Some(Self::NoToken)
        } else if is_broken_off(words) {
            None
        } else if say("SASL authentication error") || say("SASL") && say("check client") {
            Some(Self::Credentials)
        } else {
            None
        }
    }

    /// Finds it in the broker's answer to a request.
    pub(crate) fn in_answer(code: RDKafkaErrorCode) -> Option<Self> {
        if code == RDKafkaErrorCode::TopicAuthorizationFailed {
            Some(Self::TopicPermission)
        } else if code == RDKafkaErrorCode::ClusterAuthorizationFailed {
            Some(Self::ClusterPermission)
        } else {
            None
        }
    }

    /// Tells whether it is more than a guess: a broker that goes away closes connections too.
    pub(crate) const fn is_certain(self) -> bool {
        match self {
            Self::Certificate
            | Self::Credentials
            | Self::TopicPermission
            | Self::ClusterPermission => true,
            Self::PlainListener | Self::TlsListener | Self::Mechanism | Self::NoToken => false,
        }
    }

    /// Tells whether other credentials would help.
    pub(crate) const fn is_refusal_of_credentials(self) -> bool {
        match self {
            Self::Credentials => true,
            Self::Certificate
            | Self::PlainListener
            | Self::TlsListener
            | Self::Mechanism
            | Self::NoToken
            | Self::TopicPermission
            | Self::ClusterPermission => false,
        }
    }

    /// Says what it is and what to look at.
    pub(crate) const fn advice(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Self::Certificate, _) => {
                "the broker's certificate is signed by no authority of KAFKA_CA (when it is not set: of the system), has expired or is not valid yet, or does not name the host in KAFKA_BROKERS"
            }
            (Self::PlainListener, _) => {
                "the broker seems to speak no TLS on this port: look at the port in KAFKA_BROKERS and at KAFKA_AUTH"
            }
            (Self::TlsListener, _) => {
                "the broker seems to speak TLS on this port: look at the port in KAFKA_BROKERS and at KAFKA_AUTH"
            }
            (Self::Mechanism, Mode::Scram | Mode::Iam) => {
                "the listener on this port offers another way to make oneself known: look at the port in KAFKA_BROKERS and at KAFKA_AUTH"
            }
            (Self::Mechanism, Mode::None | Mode::Tls) => {
                "the listener on this port seems to want to know who we are: look at the port in KAFKA_BROKERS and at KAFKA_AUTH"
            }
            (Self::Credentials, Mode::Scram) => {
                "the broker knows no such user with this password: look at the secret of KAFKA_SECRET_ARN and at the user's SCRAM-SHA-512 credentials in the cluster"
            }
            (Self::Credentials | Self::NoToken, Mode::Iam) => {
                "the broker does not take the token of the function's role: look at the role's permission kafka-cluster:Connect, at AWS_REGION, and whether the cluster has IAM access control"
            }
            (Self::Credentials | Self::NoToken, Mode::None | Mode::Tls | Mode::Scram) => {
                "the broker does not take what we make ourselves known with: look at KAFKA_AUTH"
            }
            (Self::TopicPermission, Mode::Iam) => {
                "the function's role lacks kafka-cluster:DescribeTopic, ReadData or WriteData for this topic"
            }
            (Self::TopicPermission, Mode::None | Mode::Tls | Mode::Scram) => {
                "we are known, but may not use this topic: look at its ACLs (Describe, Read, Write)"
            }
            (Self::ClusterPermission, Mode::Iam) => {
                "the function's role lacks kafka-cluster:Connect or WriteDataIdempotently for this cluster"
            }
            (Self::ClusterPermission, Mode::None | Mode::Tls | Mode::Scram) => {
                "we are known, but may not do this in the cluster: look at its ACLs (IdempotentWrite)"
            }
        }
    }
}

/// Tells whether a connection without TLS was closed before the broker has answered anything: it has taken the question for nonsense.
fn is_cut_off_at_the_first_question(words: &str) -> bool {
    !words.contains("ssl://")
        && words.contains("Disconnected")
        && words.contains("in state APIVERSION_QUERY")
}

/// Tells whether a listener has asked for a certificate of ours, and we have none to show.
fn is_asked_for_a_certificate(words: &str) -> bool {
    // The first is what older versions of Java say.
    ["alert bad certificate", "alert certificate required"]
        .iter()
        .any(|alert| words.contains(alert))
}

/// Tells whether the broker went away, or said nothing, while we made ourselves known: it has refused nobody.
fn is_broken_off(words: &str) -> bool {
    words.contains("SaslAuthenticateRequest failed: Local:")
}

/// Tells whether a connection on which we did not make ourselves known was closed as soon as it stood.
fn is_shown_the_door(words: &str) -> bool {
    let stood_ms = words.split_once("(after ").and_then(|(_, after)| {
        let (stood, _) = after.split_once("ms in state UP")?;
        stood.parse::<u32>().ok()
    });
    let closed = words.contains("Disconnected") || words.contains("Send failed");
    closed && !words.starts_with("sasl") && stood_ms.is_some_and(|stood_ms| stood_ms < 2_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_librdkafka_tell_what_stands_in_the_way() {
        let check = |words: &str, expected: Option<Obstacle>| {
            assert_eq!(Obstacle::in_words(words), expected, "{words}");
        };
        check(
            "ssl://b:9094/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be verified, verify that ssl.ca.location is correctly configured or root CA certificates are installed (install ca-certificates package) (after 9ms in state SSL_HANDSHAKE)",
            Some(Obstacle::Certificate),
        );
        check(
            "ssl://b:9092/bootstrap: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener? (after 4ms in state SSL_HANDSHAKE)",
            Some(Obstacle::PlainListener),
        );
        check(
            "b:9094/bootstrap: Disconnected: requesting ApiVersion: might be caused by incorrect security.protocol configuration (connecting to a SSL listener?) or broker version is < 0.10 (see api.version.request) (after 5ms in state APIVERSION_QUERY)",
            Some(Obstacle::TlsListener),
        );
        check(
            "b:9094/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN (after 34ms in state APIVERSION_QUERY, 1 identical error(s) suppressed)",
            Some(Obstacle::TlsListener),
        );
        for closed in [
            "Disconnected: SSL connection closed by peer",
            "Send failed: error:80000020:system library::Broken pipe: tls_retry_write_records failure",
        ] {
            let told = |protocol: &str, stood: u32| {
                format!("{protocol}://b:9096/bootstrap: {closed} (after {stood}ms in state UP)")
            };
            check(&told("ssl", 56), Some(Obstacle::Mechanism));
            // A broker that goes away, and one whom we have made ourselves known to.
            check(&told("ssl", 60_000), None);
            check(&told("sasl_ssl", 56), None);
        }
        check(
            "sasl_ssl://b:9096/bootstrap: SASL authentication error: Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512 (after 60ms in state AUTH_REQ)",
            Some(Obstacle::Credentials),
        );
        for broken_off in [
            "Local: Broker transport failure (after 0ms in state DOWN)",
            "Local: Timed out (after 4013ms in state AUTH_REQ)",
        ] {
            let told = format!(
                "sasl_ssl://b:9096/bootstrap: SASL authentication error: SaslAuthenticateRequest failed: {broken_off}"
            );
            check(&told, None);
        }
        for alert in [
            "0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number 42",
            "0A00045C:SSL routines::tlsv13 alert certificate required: SSL alert number 116",
        ] {
            let told = format!(
                "ssl://b:9094/bootstrap: Receive failed: error:{alert} (after 1ms in state APIVERSION_QUERY)"
            );
            check(&told, Some(Obstacle::Mechanism));
        }
        check(
            "sasl_ssl://b:9098/bootstrap: SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: OAUTHBEARER (after 301ms in state AUTH_HANDSHAKE)",
            Some(Obstacle::Mechanism),
        );
        check(
            "Failed to acquire SASL OAUTHBEARER token: the last token has expired, and no other was made yet",
            Some(Obstacle::NoToken),
        );
        check(
            "b:9092/bootstrap: Connect to ipv4#10.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)",
            None,
        );
    }

    #[test]
    fn every_advice_names_a_setting_or_a_permission() {
        use Obstacle as O;
        for obstacle in [
            O::Certificate,
            O::PlainListener,
            O::TlsListener,
            O::Mechanism,
            O::Credentials,
            O::NoToken,
            O::TopicPermission,
            O::ClusterPermission,
        ] {
            for mode in [Mode::None, Mode::Tls, Mode::Scram, Mode::Iam] {
                let advice = obstacle.advice(mode);
                let names = ["KAFKA_", "ACLs", "kafka-cluster:"];
                assert!(names.iter().any(|name| advice.contains(name)), "{advice}");
            }
        }
    }
}
