//! When S3 answered, by its own clock: the SDK reads the header `Date` past us.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};

/// Notes the time of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerDate(Arc<Mutex<Option<DateTime>>>);

impl AnswerDate {
    /// Returns how long before the answer a moment was; `None` when the answer had no time.
    pub(super) fn millis_since(&self, earlier: &DateTime) -> Option<i64> {
        let date = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (date, earlier) = (date?.to_millis().ok()?, earlier.to_millis().ok()?);
        date.checked_sub(earlier)
    }
}

impl Intercept for AnswerDate {
    fn name(&self) -> &'static str {
        "AnswerDate"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|text| DateTime::from_str(text, DateTimeFormat::HttpDate).ok());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = date;
        Ok(())
    }
}
