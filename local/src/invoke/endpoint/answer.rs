//! What an endpoint answered, and what it means.

use bytes::{Bytes, BytesMut};
use reqwest::Response;
use serde_json::Value;

use super::unreachable;
use crate::invoke::{Fault, Outcome};
use crate::lambda_api::MAX_ANSWER_BYTES;

/// How much of a body that explains a refusal is repeated, in characters.
const MOST_REPEATED: usize = 300;

/// An answer that came whole.
#[derive(Debug)]
pub(super) struct Received {
    status: u16,
    function_error: Option<String>,
    body: Bytes,
}

/// Lambda's report of a function's error.
struct ErrorReport {
    error_type: String,
    message: String,
}

impl Received {
    /// Reads an answer whole, unless it is larger than Lambda's may be.
    pub(super) async fn read(mut response: Response) -> Result<Self, Fault> {
        let status = response.status().as_u16();
        let function_error = response
            .headers()
            .get("x-amz-function-error")
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len().saturating_add(chunk.len()) > MAX_ANSWER_BYTES {
                return Err(Fault::AnswerTooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Self {
            status,
            function_error,
            body: body.freeze(),
        })
    }

    /// Tells what it means for the invocation.
    ///
    /// Lambda answers 200 with `X-Amz-Function-Error` when the function failed. `cargo lambda watch` answers 500 with the report, and
    /// 200 with it, but without the header, when the function reported that it cannot start.
    pub(super) fn outcome(self) -> Outcome {
        let report = ErrorReport::read(&self.body);
        let fault = match (self.status, self.function_error, report) {
            (200, None, None) => return Outcome::Answered(self.body),
            (200 | 500, _, Some(report)) => Fault::Error {
                error_type: report.error_type,
                message: report.message,
            },
            (200, Some(error_type), None) => Fault::Error {
                error_type,
                message: explanation(&self.body),
            },
            (429, _, _) => Fault::Throttled(explanation(&self.body)),
            (status, _, _) => Fault::Endpoint(format!("{status}: {}", explanation(&self.body))),
        };
        Outcome::Failed(fault)
    }
}

impl ErrorReport {
    /// Reads a report; an answer to a batch is none, whatever else it holds.
    fn read(body: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(body).ok()?;
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        if value.get("batchItemFailures").is_some() {
            return None;
        }
        Some(Self {
            error_type: text("errorType")?,
            message: text("errorMessage")?,
        })
    }
}

/// Returns what a body says of a refusal: its message where it has one, else the beginning of it, on one line.
fn explanation(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    // AWS's own, its services' other spelling, and that of `cargo lambda watch`.
    let told = ["Message", "message", "detail", "errorMessage", "title"]
        .iter()
        .find_map(|name| value.get(*name)?.as_str());
    let text = told.map_or_else(|| String::from_utf8_lossy(body), Into::into);
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return "without a reason".to_owned();
    }
    words.join(" ").chars().take(MOST_REPEATED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: u16, function_error: Option<&str>, body: &str) -> Outcome {
        Received {
            status,
            function_error: function_error.map(str::to_owned),
            body: Bytes::copy_from_slice(body.as_bytes()),
        }
        .outcome()
    }

    fn check(status: u16, function_error: Option<&str>, body: &str, expected: &Fault) {
        let outcome = outcome(status, function_error, body);
        assert_eq!(
            outcome,
            Outcome::Failed(expected.clone()),
            "{status} {body}"
        );
    }

    fn error(error_type: &str, message: &str) -> Fault {
        Fault::Error {
            error_type: error_type.to_owned(),
            message: message.to_owned(),
        }
    }

    const REPORT: &str = r#"{"errorType":"Out","errorMessage":"of luck"}"#;

    #[test]
    fn an_answer_comes_back_as_it_is() {
        for body in [
            "",
            "null",
            "not json",
            r#"{"batchItemFailures":[]}"#,
            r#"{"errorType":"only"}"#,
            r#"{"errorType":"a","errorMessage":"b","batchItemFailures":[]}"#,
        ] {
            let bytes = Bytes::copy_from_slice(body.as_bytes());
            assert_eq!(outcome(200, None, body), Outcome::Answered(bytes), "{body}");
        }
    }

    #[test]
    fn a_function_that_failed_is_told_by_the_header_or_by_its_report() {
        check(200, Some("Unhandled"), REPORT, &error("Out", "of luck"));
        check(200, Some("Unhandled"), "what", &error("Unhandled", "what"));
        check(500, None, REPORT, &error("Out", "of luck"));
        check(200, None, REPORT, &error("Out", "of luck"));
    }

    #[test]
    fn a_refusal_tells_its_status_and_why() {
        let refused = |text: &str| Fault::Endpoint(text.to_owned());
        let missing = r#"{"title":"Missing function","detail":"that function doesn't exist"}"#;
        check(
            404,
            None,
            missing,
            &refused("404: that function doesn't exist"),
        );
        let aws = r#"{"Type":"User","Message":"Function not found"}"#;
        check(404, None, aws, &refused("404: Function not found"));
        let internal = r#"{"status":500,"title":"Internal Server Error"}"#;
        check(500, None, internal, &refused("500: Internal Server Error"));
        check(408, None, "", &refused("408: without a reason"));
        check(202, None, "a\n b", &refused("202: a b"));
        check(404, None, REPORT, &refused("404: of luck"));
        check(
            429,
            None,
            r#"{"message":"Rate Exceeded."}"#,
            &Fault::Throttled("Rate Exceeded.".to_owned()),
        );
    }

    #[test]
    fn of_a_long_refusal_only_the_beginning_is_repeated() {
        let long = "x".repeat(1_000);
        let Outcome::Failed(Fault::Endpoint(text)) = outcome(502, None, &long) else {
            panic!("it is refused");
        };
        assert_eq!(text.len(), "502: ".len() + MOST_REPEATED);
    }
}
