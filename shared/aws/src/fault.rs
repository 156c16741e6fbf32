//! What went wrong with a call, on one line: AWS's code, the HTTP status and the cause.

use std::error::Error;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

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
