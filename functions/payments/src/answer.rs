//! What the provider answered, and what follows from it: pure, and closed over every status there is.

use std::fmt;

use pipeline::{ErrorCode, Failure};

use self::status::ChargeStatus;

mod status;

/// An answer: a complete status line, and as much of the body as was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body, at most [`Answer::MOST_BODY`] bytes of it.
    pub body: Vec<u8>,
    /// How the body ended.
    pub end: BodyEnd,
}

/// How the reading of a body ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// At its end.
    Whole,
    /// At the most that is read of any body.
    Capped,
    /// The connection broke before its end; the cause in words.
    Cut(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Connecting or answering took too long.
    #[error("{0}")]
    Timeout(String),
    /// Refused, reset, DNS, TLS, or no complete status line.
    #[error("{0}")]
    Unreachable(String),
}

/// What an answer to a charge means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charged {
    /// The payment is charged.
    Yes,
    /// The provider refuses, maybe because the payment is there already: it is asked, and otherwise this refusal stands.
    Unsure(Failure),
    /// It failed so.
    Failed(Failure),
}

/// What an answer to the question for a charge means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The payment is charged.
    Succeeded,
    /// The payment is not charged, and nothing is under way: it failed, or the provider does not know it.
    NotCharged,
    /// The provider did not say: no charge may follow.
    Unknown(Failure),
}

/// Which of the two calls an answer belongs to, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The charge.
    Post,
    /// The question for one.
    Get,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Post => "POST /v1/charges",
            Self::Get => "GET /v1/charges/{id}",
        })
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Timeout(message) => Self::new(ErrorCode::ProviderTimeout, message),
            Fault::Unreachable(message) => Self::new(ErrorCode::ProviderUnreachable, message),
        }
    }
}

impl Charged {
    /// Reads the answer to a charge.
    ///
    /// A body that broke off is no obstacle where the status says it all. At 200 and 201 it is: the missing part may say
    /// `pending` or `failed`, so the payment counts as not answered and the next stage asks.
    pub fn of(answer: &Answer) -> Self {
        match answer.status {
            200 | 201 => match (answer.told(), &answer.end) {
                (_, BodyEnd::Cut(cause)) => Self::Failed(answer.broken_off(Method::Post, cause)),
                (Some(ChargeStatus::Pending), _) => {
                    Self::Failed(answer.failure(Method::Post, ErrorCode::ProviderBusy))
                }
                (Some(ChargeStatus::Failed), _) => {
                    Self::Failed(answer.failure(Method::Post, ErrorCode::ProviderDeclined))
                }
                (Some(ChargeStatus::Succeeded) | None, BodyEnd::Whole | BodyEnd::Capped) => {
                    Self::Yes
                }
            },
            400 | 409 | 422 => Self::Unsure(answer.by_status(Method::Post)),
            _ => Self::Failed(answer.by_status(Method::Post)),
        }
    }
}

impl Asked {
    /// Reads the answer to the question for a charge.
    pub fn of(answer: &Answer) -> Self {
        match answer.status {
            200 => match (answer.told(), &answer.end) {
                (_, BodyEnd::Cut(cause)) => Self::Unknown(answer.broken_off(Method::Get, cause)),
                (Some(ChargeStatus::Succeeded), _) => Self::Succeeded,
                (Some(ChargeStatus::Failed), _) => Self::NotCharged,
                (Some(ChargeStatus::Pending), _) => {
                    Self::Unknown(answer.failure(Method::Get, ErrorCode::ProviderBusy))
                }
                (None, BodyEnd::Whole | BodyEnd::Capped) => {
                    Self::Unknown(answer.by_status(Method::Get))
                }
            },
            404 => Self::NotCharged,
            _ => Self::Unknown(answer.by_status(Method::Get)),
        }
    }
}

impl Answer {
    /// How much of any body is read, in bytes.
    pub const MOST_BODY: usize = 64 * 1024;

    fn told(&self) -> Option<ChargeStatus> {
        match self.end {
            BodyEnd::Whole => status::of_whole(&self.body),
            BodyEnd::Capped => status::of_beginning(&self.body),
            BodyEnd::Cut(_) => None,
        }
    }

    fn by_status(&self, method: Method) -> Failure {
        self.failure(method, code_of(self.status))
    }

    fn failure(&self, method: Method, code: ErrorCode) -> Failure {
        let text = String::from_utf8_lossy(&self.body);
        let text = match self.end {
            BodyEnd::Whole | BodyEnd::Cut(_) => text.trim(),
            // A card number cut in two would no longer be seen as one.
            BodyEnd::Capped => text.trim_end_matches(|c: char| !c.is_alphabetic()),
        };
        let status = self.status;
        let message = if text.is_empty() {
            format!("{method} answered {status} without a body")
        } else {
            format!("{method} answered {status}: {text}")
        };
        Failure::new(code, message)
    }

    fn broken_off(&self, method: Method, cause: &str) -> Failure {
        Failure::new(
            ErrorCode::ProviderUnreachable,
            format!(
                "{method} answered {}, and its body broke off: {cause}",
                self.status
            ),
        )
    }
}

/// Returns the code that a status has by itself; 200 and 201 have one only where they are not the success that was hoped for.
const fn code_of(status: u16) -> ErrorCode {
    match status {
        400 | 413 | 422 => ErrorCode::ProviderRejected,
        401 | 403 => ErrorCode::ProviderUnauthorized,
        402 => ErrorCode::ProviderDeclined,
        408 | 409 | 423 | 425 => ErrorCode::ProviderBusy,
        429 => ErrorCode::ProviderRateLimited,
        500..=599 => ErrorCode::ProviderUnavailable,
        _ => ErrorCode::ProviderUnexpected,
    }
}

#[cfg(test)]
mod tests;
