//! The object store, and what lies in it.

use std::net::SocketAddr;
use std::path::PathBuf;

use aws::{Bucket, Endpoint, Keys, Sdk};
use local::s3::{ACCESS_KEY, S3Server, SECRET_KEY};
use serde_json::Value;
use tempfile::TempDir;

/// The bucket of every test: each test has a store of its own.
const BUCKET: &str = "brew-incidents";

/// An S3 server that can be away for a while and come back with what it had.
#[derive(Debug)]
pub(crate) struct Store {
    server: Option<S3Server>,
    address: SocketAddr,
    folder: TempDir,
}

impl Store {
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let objects = Some(folder.path().to_owned());
        let server = S3Server::start_on(anywhere, BUCKET, objects).await.unwrap();
        Self {
            address: server.address(),
            server: Some(server),
            folder,
        }
    }

    /// Closes the server and every connection.
    pub(crate) fn go_away(&mut self) {
        self.server = None;
    }

    pub(crate) async fn come_back(&mut self) {
        let objects: Option<PathBuf> = Some(self.folder.path().to_owned());
        let server = S3Server::start_on(self.address, BUCKET, objects).await;
        self.server = Some(server.unwrap());
    }

    /// Returns the variables that tell functions of the bucket.
    pub(crate) fn env(&self) -> [(&'static str, String); 2] {
        [
            ("AWS_ENDPOINT_URL_S3", format!("http://{}", self.address)),
            ("INCIDENT_BUCKET", BUCKET.to_owned()),
        ]
    }

    /// Returns the folder in which the objects lie.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    /// Returns the keys of all objects of a prefix.
    pub(crate) async fn keys(&self, prefix: &str) -> Vec<String> {
        let listed = self.bucket().list(prefix).await.unwrap().into_iter();
        listed.map(|object| object.key).collect()
    }

    /// Returns every object of a prefix, key and JSON, in the order of keys.
    pub(crate) async fn objects(&self, prefix: &str) -> Vec<(String, Value)> {
        let bucket = self.bucket();
        let mut objects = Vec::new();
        for listed in bucket.list(prefix).await.unwrap() {
            let object = bucket.get(&listed.key).await.unwrap().unwrap();
            objects.push((listed.key, serde_json::from_slice(&object.body).unwrap()));
        }
        objects.sort_by(|one, other| one.0.cmp(&other.0));
        objects
    }

    fn bucket(&self) -> Bucket {
        let endpoint: Endpoint = format!("http://{}", self.address).parse().unwrap();
        let keys = Keys {
            id: ACCESS_KEY.to_owned(),
            secret: SECRET_KEY.to_owned(),
        };
        Bucket::new(
            BUCKET.parse().unwrap(),
            Sdk::new(Some(endpoint)).or_keys(keys),
        )
    }

    pub(crate) async fn incidents(&self) -> Vec<Value> {
        let objects = self.objects("incidents/").await.into_iter();
        objects.map(|(_, incident)| incident).collect()
    }
}
