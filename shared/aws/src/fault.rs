//! What went wrong with a call, on one line: AWS's code, the HTTP status and the cause.

use std::error::Error;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use lambda::check::{Unreached, Why};

/// Tells of a failed call.
pub(crate) fn told<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let status = status(error)
        .map(|status| format!(" (HTTP {status})"))
        .unwrap_or_default();
    let told = match error {
        SdkError::TimeoutError(_) => "no answer in time".to_owned(),
        SdkError::ServiceError(_) => {
            let code = error.code().unwrap_or("an error without a code");
            match error.message() {
                Some(message) => format!("{code}{status}: {message}"),
                None => format!("{code}{status}"),
            }
        }
        SdkError::ConstructionFailure(_)
        | SdkError::DispatchFailure(_)
        | SdkError::ResponseError(_)
        | _ => format!("{}{status}", chain(error)),
    };
    pipeline::Masker::default().line(&told)
}

/// Says why a failed call did not reach what it was for; `what` names it.
pub(crate) fn unreached<E>(what: &str, error: &SdkError<E, HttpResponse>) -> Unreached
where
    E: ProvideErrorMetadata + Error + 'static,
{
    Unreached::new(why(error), &format!("{what}: {}", told(error)))
}

fn why<E>(error: &SdkError<E, HttpResponse>) -> Why
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::TimeoutError(_) => Why::Timeout,
        SdkError::DispatchFailure(failure) if failure.is_timeout() => Why::Timeout,
        SdkError::DispatchFailure(failure) if failure.is_io() => Why::Unreachable,
        // Nothing was sent: there is nothing to sign it with.
        SdkError::DispatchFailure(_) | SdkError::ConstructionFailure(_) => Why::Unauthorized,
        SdkError::ResponseError(_) | SdkError::ServiceError(_) | _ => {
            why_of_answer(error.code().unwrap_or_default(), status(error))
        }
    }
}

/// Secrets Manager answers 400 whatever it is that it refuses, so its code says more than the status.
fn why_of_answer(code: &str, status: Option<u16>) -> Why {
    const DENIED: [&str; 8] = [
        "AccessDenied",
        "UnrecognizedClient",
        "InvalidSignature",
        "InvalidClientTokenId",
        "IncompleteSignature",
        "ExpiredToken",
        "InvalidToken",
        "DecryptionFailure",
    ];
    const MISSING: [&str; 2] = ["ResourceNotFound", "NoSuch"];
    if matches!(status, Some(401 | 403)) || DENIED.iter().any(|denied| code.starts_with(denied)) {
        Why::Unauthorized
    } else if status == Some(404) || MISSING.iter().any(|missing| code.starts_with(missing)) {
        Why::Missing
    } else {
        Why::Wrong
    }
}

/// Returns the HTTP status of the answer, when there was one.
pub(crate) fn status<E>(error: &SdkError<E, HttpResponse>) -> Option<u16> {
    error
        .raw_response()
        .map(|response| response.status().as_u16())
}

/// Tells an error and its causes, each once: many repeat what lies beneath them.
fn chain(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !told.contains(&text) {
            told.push_str(": ");
            told.push_str(&text);
        }
        next = cause.source();
    }
    told
}
