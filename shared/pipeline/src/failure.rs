//! What can go wrong with a record, as a closed set, and the verdict of handling one.

use std::fmt;

/// What handling a record concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is handled; nothing is left to do.
    Done,
    /// It failed in a way that more time may mend.
    Transient(Failure),
    /// It failed in a way that no retry can mend.
    Permanent(Failure),
}

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Self {
        match failure.code.class() {
            ErrorClass::Transient => Self::Transient(failure),
            ErrorClass::Permanent => Self::Permanent(failure),
        }
    }
}

/// Why a record could not be handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code of the root cause.
    pub code: ErrorCode,
    /// The cause in words, as it came: it is masked and cut where it is written.
    pub message: String,
}

impl Failure {
    /// Joins a code with the cause in words.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// Whether a retry can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// More time may mend it.
    Transient,
    /// No retry can mend it.
    Permanent,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [Self; 2] = [Self::Transient, Self::Permanent];

    /// Returns the class as headers, logs and incidents write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
        }
    }

    /// Reads a class as headers write it.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! closed_set {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// Every member of the set.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the member as headers, logs and incidents write it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Reads a member as headers write it.
            pub fn from_text(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|member| member.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

closed_set! {
    /// What went wrong: the closed set of `error.code`.
    ErrorCode {
        /// The value is not a JSON object of the schema.
        PayloadMalformed = "payload.malformed",
        /// The schema version is absent or unknown.
        PayloadSchemaVersion = "payload.schema_version",
        /// The value is null or breaks a domain rule.
        PayloadInvalid = "payload.invalid",
        /// The provider declined the payment.
        ProviderDeclined = "provider.declined",
        /// The provider refuses the request as wrong.
        ProviderRejected = "provider.rejected",
        /// The provider did not answer in time.
        ProviderTimeout = "provider.timeout",
        /// No complete answer came: refused, reset, DNS, TLS.
        ProviderUnreachable = "provider.unreachable",
        /// The provider answered 500 to 599.
        ProviderUnavailable = "provider.unavailable",
        /// The provider answered 429.
        ProviderRateLimited = "provider.rate_limited",
        /// The provider is at work on the same key, or pending.
        ProviderBusy = "provider.busy",
        /// The provider refuses our credentials.
        ProviderUnauthorized = "provider.unauthorized",
        /// Any other answer: a wrong URL is our fault.
        ProviderUnexpected = "provider.unexpected",
        /// The circuit is open: no call was made.
        ProviderCircuitOpen = "provider.circuit_open",
        /// The handler panicked.
        HandlerPanic = "handler.panic",
        /// The record killed the process three times while it ran alone.
        HandlerCrashed = "handler.crashed",
        /// The broker refuses the record itself.
        BrokerRejected = "broker.rejected",
    }
}

closed_set! {
    /// Why a record is in the dead-letter topic: the closed set of `dlq-reason`.
    DlqReason {
        /// Not JSON of the schema.
        Json = "json",
        /// Unknown schema version.
        SchemaVersion = "schema-version",
        /// A rule of the domain is broken, or the provider says so.
        Validation = "validation",
        /// The provider declined.
        Declined = "declined",
        /// The handler panicked.
        Panic = "panic",
        /// It killed the process.
        Crashed = "crashed",
        /// Still failing after the last stage.
        Exhausted = "exhausted",
        /// The broker refuses it.
        Oversized = "oversized",
    }
}

impl ErrorCode {
    /// Tells whether a retry can help.
    pub const fn class(self) -> ErrorClass {
        match self.dlq_reason() {
            DlqReason::Exhausted => ErrorClass::Transient,
            DlqReason::Json
            | DlqReason::SchemaVersion
            | DlqReason::Validation
            | DlqReason::Declined
            | DlqReason::Panic
            | DlqReason::Crashed
            | DlqReason::Oversized => ErrorClass::Permanent,
        }
    }

    /// Returns the reason with which a record that failed so stands in the dead-letter topic; a transient one gets there only exhausted.
    pub const fn dlq_reason(self) -> DlqReason {
        match self {
            Self::PayloadMalformed => DlqReason::Json,
            Self::PayloadSchemaVersion => DlqReason::SchemaVersion,
            Self::PayloadInvalid | Self::ProviderRejected => DlqReason::Validation,
            Self::ProviderDeclined => DlqReason::Declined,
            Self::HandlerPanic => DlqReason::Panic,
            Self::HandlerCrashed => DlqReason::Crashed,
            Self::BrokerRejected => DlqReason::Oversized,
            Self::ProviderTimeout
            | Self::ProviderUnreachable
            | Self::ProviderUnavailable
            | Self::ProviderRateLimited
            | Self::ProviderBusy
            | Self::ProviderUnauthorized
            | Self::ProviderUnexpected
            | Self::ProviderCircuitOpen => DlqReason::Exhausted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_and_reason_comes_back_from_its_text() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_text(code.as_str()), Some(*code));
        }
        for reason in DlqReason::ALL {
            assert_eq!(DlqReason::from_text(reason.as_str()), Some(*reason));
        }
        for class in ErrorClass::ALL {
            assert_eq!(ErrorClass::from_text(class.as_str()), Some(class));
        }
        assert_eq!(ErrorCode::from_text("Provider.Timeout"), None);
    }

    #[test]
    fn a_provider_that_flaps_is_transient_and_a_broken_record_is_permanent() {
        for code in ErrorCode::ALL {
            let transient = code.as_str().starts_with("provider.")
                && !matches!(
                    code,
                    ErrorCode::ProviderDeclined | ErrorCode::ProviderRejected
                );
            let expected = if transient {
                ErrorClass::Transient
            } else {
                ErrorClass::Permanent
            };
            assert_eq!(code.class(), expected, "{code}");
        }
    }
}
