//! What the provider answers.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

/// A status with a JSON body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn new(status: u16, body: &Value) -> Self {
        Self {
            status,
            body: body.to_string(),
        }
    }

    pub(super) fn error(status: u16, text: &str) -> Self {
        Self::new(status, &json!({ "error": text }))
    }

    pub(super) fn unavailable() -> Self {
        Self::error(503, "the provider is unavailable")
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(
            axum::http::header::CONTENT_TYPE,
            axum::http::HeaderValue::from_static("application/json"),
        );
        response
    }
}
