//! Whether a bucket and a secret can be reached with what the function's role allows it anyway.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::primitives::ByteStream;
use lambda::Checks;
use lambda::check::{Found, Thing, Unreached, Why};

use crate::bucket::Bucket;
use crate::config::Limits;
use crate::fault;
use crate::secrets::{Secret, value_in};

/// How long the calls of a check may take: less than a check, so that the cause is told and not only that it took too long.
const LIMITS: Limits = Limits {
    connect: Duration::from_millis(1_500),
    attempt: Duration::from_secs(2),
    operation: Duration::from_millis(4_500),
};

/// The name of the one object that a check leaves behind under a prefix. Listings of incidents pass it over, as they do all names
/// that do not begin with `dt=`.
const OBJECT: &str = "_check.json";

/// What that object holds, in every bucket and at all times.
const BODY: &[u8] = br#"{"check":true}"#;

/// A bucket by a client of its own: a check touches nothing that the function has open.
struct Place(Bucket);

impl Bucket {
    /// Adds whether objects can be put under a prefix and read again: what a function does with its incidents.
    ///
    /// It puts one small object there, only if it is not there yet (`If-None-Match: *`), and asks for it (`HEAD`). So the rights to put
    /// and to get are proved. After the first time nothing is written any more, and then the right to use a KMS key is not proved.
    pub fn check_puts(&self, checks: Checks, prefix: &'static str) -> Checks {
        let place = Arc::new(Place(self.checking()));
        checks.with(Thing::Bucket, self.place(prefix), move || {
            let place = Arc::clone(&place);
            // The SDK's futures are nested deeply; boxed, they count as one level.
            Box::pin(async move { place.put_and_head(prefix).await })
        })
    }

    /// Adds whether the keys of a prefix can be listed; its target ends with `*`.
    pub fn check_lists(&self, checks: Checks, prefix: &'static str) -> Checks {
        let place = Arc::new(Place(self.checking()));
        checks.with(
            Thing::Bucket,
            self.place(&format!("{prefix}*")),
            move || {
                let place = Arc::clone(&place);
                Box::pin(async move { place.list(prefix).await })
            },
        )
    }

    fn checking(&self) -> Self {
        Self::new(self.name().clone(), self.sdk().clone().within(LIMITS))
    }

    fn place(&self, prefix: &str) -> String {
        match self.endpoint() {
            Some(endpoint) => format!("{}/{prefix} at {endpoint}", self.name()),
            None => format!("{}/{prefix}", self.name()),
        }
    }
}

impl Place {
    async fn put_and_head(&self, prefix: &str) -> Result<Found, Unreached> {
        let (name, client) = (self.0.name().as_str(), self.0.client().await);
        let key = format!("{prefix}{OBJECT}");
        let put = client
            .put_object()
            .bucket(name)
            .key(&key)
            .if_none_match("*")
            .content_type("application/json")
            .body(ByteStream::from_static(BODY));
        match put.send().await {
            Ok(_) => {}
            // It is there, or another check puts it just now.
            Err(error) if matches!(fault::status(&error), Some(409 | 412)) => {}
            Err(error) => return Err(fault::unreached(&format!("PutObject {key}"), &error)),
        }
        let head = client.head_object().bucket(name).key(&key).send().await;
        head.map_err(|error| fault::unreached(&format!("HeadObject {key}"), &error))?;
        Ok(Found::default())
    }

    async fn list(&self, prefix: &str) -> Result<Found, Unreached> {
        let (name, client) = (self.0.name().as_str(), self.0.client().await);
        let list = client.list_objects_v2().bucket(name).prefix(prefix);
        let listed = list.max_keys(1).send().await;
        listed.map_err(|error| fault::unreached(&format!("ListObjectsV2 {prefix}"), &error))?;
        Ok(Found::default())
    }
}

impl Secret {
    /// Returns the same secret to be read by a check, at each time anew and in less time than a check may take.
    pub fn checking(&self) -> Self {
        self.within(LIMITS)
    }

    /// Reads its value for a check.
    pub async fn reach(&self) -> Result<Arc<str>, Unreached> {
        let text = self.reach_whole().await?;
        value_in(&text, self.field()).map_err(|why| Unreached::new(Why::Wrong, &why))
    }

    /// Reads all its text for a check.
    pub async fn reach_whole(&self) -> Result<String, Unreached> {
        let read = Box::pin(self.ask()).await;
        let text = read.map_err(|error| fault::unreached("GetSecretValue", &error))?;
        text.ok_or_else(|| Unreached::new(Why::Wrong, "it is binary"))
    }
}
