//! A bucket of S3, written so that no object overwrites another.

mod age;
mod name;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration};
use lambda::{Objects, Put, SettingsReader, StoreFault};
use tokio::sync::OnceCell;
use uuid::Uuid;

use self::age::AnswerDate;
pub use self::name::{BucketName, BucketNameError};
use crate::config::{Endpoint, Sdk};
use crate::fault;

/// The field of an object's metadata that names the attempt which made it.
const ATTEMPT: &str = "attempt";

/// How long to wait before the next try when another write of the same object is under way, in milliseconds.
const CONFLICT_WAITS_MS: [u64; 5] = [50, 100, 200, 400, 800];

/// The most bytes that an object may have to be read.
const MOST_BYTES: i64 = 16 << 20;

/// Of how many writes with an unknown end the attempts are remembered.
const REMEMBERED: usize = 10_000;

/// One bucket; connected at first need.
#[derive(Debug)]
pub struct Bucket {
    name: BucketName,
    sdk: Sdk,
    client: OnceCell<Client>,
    /// Attempts of which it is not known whether they made their object, given up calls among them: the next try goes on under the same id.
    unsettled: Mutex<HashMap<String, Uuid>>,
}

/// An object that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it holds.
    pub body: Vec<u8>,
    /// S3's tag of this content, to replace no other.
    pub etag: String,
    /// How long before the answer it was written, in milliseconds, both told by S3's own clock and to the second; `None` when S3 does not tell.
    pub age_ms: Option<i64>,
}

/// An object in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// How many bytes it holds.
    pub bytes: u64,
}

/// What came of replacing an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// It holds the new content, of this tag.
    Swapped(String),
    /// It is not, or no longer, of the tag that was given; nothing was written.
    Changed,
}

/// How one try to put an object ended.
enum Tried {
    Written(String),
    Refused,
    Conflict(String),
}

impl Bucket {
    /// Reads `INCIDENT_BUCKET` and `AWS_ENDPOINT_URL_S3`.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let name = reader.required("INCIDENT_BUCKET", str::parse::<BucketName>);
        let endpoint = reader.optional("AWS_ENDPOINT_URL_S3", str::parse::<Endpoint>);
        Some(Self::new(name?, Sdk::new(endpoint?)))
    }

    /// Names a bucket; an endpoint of one's own is spoken to in path style.
    pub fn new(name: BucketName, sdk: Sdk) -> Self {
        Self {
            name,
            sdk,
            client: OnceCell::new(),
            unsettled: Mutex::default(),
        }
    }

    /// Returns the name.
    pub const fn name(&self) -> &BucketName {
        &self.name
    }

    /// Returns the endpoint, when it is one's own and not AWS itself.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.sdk.endpoint()
    }

    /// Makes the bucket unless it is there and lets us in.
    pub async fn create(&self) -> Result<(), StoreFault> {
        let client = self.client().await;
        let name = self.name.as_str();
        let mut request = client.create_bucket().bucket(name);
        if self.sdk.endpoint().is_none()
            && let Some(place) = location(self.sdk.config().await)
        {
            request = request.create_bucket_configuration(place);
        }
        let Err(error) = request.send().await else {
            return Ok(());
        };
        if fault::status(&error) == Some(409)
            && client.head_bucket().bucket(name).send().await.is_ok()
        {
            return Ok(());
        }
        Err(self.fault("CreateBucket", "", &error))
    }

    /// Reads an object; `None` when there is none of this key.
    pub async fn get(&self, key: &str) -> Result<Option<Object>, StoreFault> {
        let client = self.client().await;
        let request = client.get_object().bucket(self.name.as_str()).key(key);
        let date = AnswerDate::default();
        let request = request.customize().interceptor(date.clone());
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) if error.code() == Some("NoSuchKey") => return Ok(None),
            Err(error) => return Err(self.fault("GetObject", key, &error)),
        };
        let etag = answer.e_tag.unwrap_or_default();
        let age_ms = answer
            .last_modified
            .and_then(|written| date.millis_since(&written));
        // What is longer is none of ours, and a small function could not hold it.
        if let Some(bytes) = answer.content_length.filter(|bytes| *bytes > MOST_BYTES) {
            let told = format!("it has {bytes} bytes, and none of ours has more than {MOST_BYTES}");
            return Err(self.fault_of("GetObject", key, &told));
        }
        match answer.body.collect().await {
            Ok(body) => Ok(Some(Object {
                body: body.to_vec(),
                etag,
                age_ms,
            })),
            Err(error) => {
                Err(self.fault_of("GetObject", key, &format!("the body broke off: {error}")))
            }
        }
    }

    /// Lists every object whose key begins so, in the order of keys.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreFault> {
        self.list_after(prefix, "").await
    }

    /// Lists every object whose key begins so and comes after another in the order of keys.
    pub async fn list_after(&self, prefix: &str, after: &str) -> Result<Vec<Listed>, StoreFault> {
        let client = self.client().await;
        let mut pages = client
            .list_objects_v2()
            .bucket(self.name.as_str())
            .prefix(prefix)
            .set_start_after((!after.is_empty()).then(|| after.to_owned()))
            .into_paginator()
            .send();
        let mut listed = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.fault("ListObjectsV2", prefix, &error))?;
            listed.extend(
                page.contents
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|object| {
                        Some(Listed {
                            key: object.key?,
                            bytes: object.size.and_then(|size| u64::try_from(size).ok())?,
                        })
                    }),
            );
        }
        Ok(listed)
    }

    /// Deletes an object; one that is not there is deleted already.
    pub async fn delete(&self, key: &str) -> Result<(), StoreFault> {
        let client = self.client().await;
        let request = client.delete_object().bucket(self.name.as_str()).key(key);
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.fault("DeleteObject", key, &error)),
        }
    }

    /// Replaces an object that still is of this tag.
    pub async fn put_if_match(
        &self,
        key: &str,
        body: Vec<u8>,
        etag: &str,
    ) -> Result<Swap, StoreFault> {
        let put = |put: PutObjectFluentBuilder| put.if_match(etag);
        Ok(match self.put(key, &body, put).await? {
            Tried::Written(etag) => Swap::Swapped(etag),
            Tried::Refused | Tried::Conflict(_) => Swap::Changed,
        })
    }

    /// Puts an object under a condition; tries again while another write of it is under way.
    async fn put(
        &self,
        key: &str,
        body: &[u8],
        condition: impl Fn(PutObjectFluentBuilder) -> PutObjectFluentBuilder,
    ) -> Result<Tried, StoreFault> {
        let client = self.client().await;
        let mut waits = CONFLICT_WAITS_MS.into_iter();
        loop {
            let put = client
                .put_object()
                .bucket(self.name.as_str())
                .key(key)
                .content_type("application/json")
                .body(ByteStream::from(body.to_vec()));
            let error = match condition(put).send().await {
                Ok(answer) => return Ok(Tried::Written(answer.e_tag.unwrap_or_default())),
                Err(error) => error,
            };
            match (fault::status(&error), waits.next()) {
                (Some(412), _) => return Ok(Tried::Refused),
                (Some(409), Some(wait)) => tokio::time::sleep(Duration::from_millis(wait)).await,
                (Some(409), None) => return Ok(Tried::Conflict(fault::told(&error))),
                (_, _) => return Err(self.fault("PutObject", key, &error)),
            }
        }
    }

    /// Tells whether the object that is there was made by this attempt, whose answer got lost.
    async fn is_ours(&self, key: &str, attempt: Uuid) -> Result<bool, StoreFault> {
        let client = self.client().await;
        let request = client.head_object().bucket(self.name.as_str()).key(key);
        let head = request
            .send()
            .await
            .map_err(|error| self.fault("HeadObject", key, &error))?;
        let made_by = head
            .metadata
            .as_ref()
            .and_then(|fields| fields.get(ATTEMPT));
        Ok(made_by.is_some_and(|made_by| *made_by == attempt.to_string()))
    }

    /// Returns the id of the next try at an object: a new one, or that of an earlier try whose end is not known.
    fn attempt_at(&self, key: &str) -> Uuid {
        let mut unsettled = self
            .unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = unsettled.get(key) {
            return *attempt;
        }
        let attempt = Uuid::new_v4();
        if unsettled.len() < REMEMBERED {
            unsettled.insert(key.to_owned(), attempt);
        }
        attempt
    }

    fn settle(&self, key: &str) {
        self.unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    pub(crate) const fn sdk(&self) -> &Sdk {
        &self.sdk
    }

    pub(crate) async fn client(&self) -> &Client {
        let connect = async || {
            let mut config = aws_sdk_s3::config::Builder::from(self.sdk.config().await);
            if let Some(endpoint) = self.sdk.endpoint() {
                config = config
                    .endpoint_url(endpoint.as_str())
                    .force_path_style(true);
            }
            Client::from_conf(config.build())
        };
        self.client.get_or_init(connect).await
    }

    fn fault<E>(&self, call: &str, key: &str, error: &SdkError<E, HttpResponse>) -> StoreFault
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        self.fault_of(call, key, &fault::told(error))
    }

    fn fault_of(&self, call: &str, key: &str, why: &str) -> StoreFault {
        let at = self
            .sdk
            .endpoint()
            .map(|endpoint| format!(" at {endpoint}"))
            .unwrap_or_default();
        let space = if key.is_empty() { "" } else { " " };
        StoreFault(format!(
            "bucket {}{at}: {call}{space}{key}: {why}",
            self.name
        ))
    }
}

/// Names the region for a new bucket; us-east-1 is where S3 makes it without one, and must not be named.
fn location(config: &SdkConfig) -> Option<CreateBucketConfiguration> {
    let region = config.region()?.as_ref();
    let constraint = (region != "us-east-1").then(|| BucketLocationConstraint::from(region))?;
    let place = CreateBucketConfiguration::builder().location_constraint(constraint);
    Some(place.build())
}

impl Objects for Bucket {
    /// Puts with `If-None-Match: *`. A 412 may be the answer to our own write, when the first answer was lost and the SDK sent it again:
    /// the attempt's id in the object's metadata tells.
    async fn put_new(&self, key: &str, body: Vec<u8>) -> Result<Put, StoreFault> {
        let attempt = self.attempt_at(key);
        let put = self.put_attempt(key, &body, attempt).await?;
        self.settle(key);
        Ok(put)
    }
}

impl Bucket {
    async fn put_attempt(&self, key: &str, body: &[u8], attempt: Uuid) -> Result<Put, StoreFault> {
        let condition = |put: PutObjectFluentBuilder| {
            put.if_none_match("*")
                .metadata(ATTEMPT, attempt.to_string())
        };
        match self.put(key, body, condition).await? {
            Tried::Written(_) => Ok(Put::Created),
            Tried::Refused if self.is_ours(key, attempt).await? => Ok(Put::Created),
            Tried::Refused => Ok(Put::Existed),
            Tried::Conflict(why) => Err(self.fault_of("PutObject", key, &why)),
        }
    }
}
