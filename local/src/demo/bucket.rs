//! The demo's own bucket, read over S3's protocol.

use anyhow::Context;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use pipeline::Incident;

use crate::function::REGION;
use crate::s3::{ACCESS_KEY, S3Server, SECRET_KEY};

/// The name of the bucket.
pub(super) const BUCKET: &str = "brew-incidents";

/// Reads every incident, in the order of their keys.
///
/// The client is the server's own, whatever credentials the environment holds.
pub(super) async fn incidents(server: &S3Server) -> anyhow::Result<Vec<Incident>> {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(server.url())
        .force_path_style(true)
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new(ACCESS_KEY, SECRET_KEY, None, None, "demo"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    let client = Client::from_conf(config);
    let mut pages = client
        .list_objects_v2()
        .bucket(BUCKET)
        .prefix("incidents/")
        .into_paginator()
        .send();
    let mut incidents = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.context("the bucket cannot be listed")?;
        for key in page.contents.unwrap_or_default() {
            let key = key.key.context("an object has no key")?;
            let object = client.get_object().bucket(BUCKET).key(&key).send();
            let body = async { anyhow::Ok(object.await?.body.collect().await?) };
            let body = body
                .await
                .with_context(|| format!("{key} cannot be read"))?;
            incidents.push(Incident::from_json(&key, &body.into_bytes())?);
        }
    }
    Ok(incidents)
}
