//! An S3 server in this process, for local use.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::sync::Mutex;

use crate::folder::Folder;
use crate::http::HttpServer;

/// The access key of the local server, and of functions that are given none.
pub const ACCESS_KEY: &str = "brew-local";

/// The secret key that belongs to [`ACCESS_KEY`]; it opens nothing but a server on this machine.
pub const SECRET_KEY: &str = "brew-local-secret";

/// A server that speaks S3's protocol and keeps its objects in a folder; dropping it ends it.
///
/// It honours `If-None-Match: *` and `If-Match`, also for writes at the same time.
#[derive(Debug)]
pub struct S3Server {
    server: HttpServer,
    folder: Folder,
}

impl S3Server {
    /// Starts the server on a free port with its objects in a temporary folder that is removed with it.
    pub async fn start(bucket: &str) -> anyhow::Result<Self> {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), bucket, None).await
    }

    /// Starts the server on an address with its objects in a folder, so that it can be started again with what it had.
    pub async fn start_on(
        listen: SocketAddr,
        bucket: &str,
        folder: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let folder = Folder::make(folder, "s3")?;
        let bucket_folder = folder.path().join(bucket);
        tokio::fs::create_dir_all(&bucket_folder)
            .await
            .with_context(|| format!("cannot make {}", bucket_folder.display()))?;
        let files = FileSystem::new(folder.path()).map_err(|error| {
            anyhow::anyhow!(
                "cannot keep objects in {}: {error:?}",
                folder.path().display()
            )
        })?;
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let service = builder.build();
        let conditional = Arc::new(Mutex::new(()));
        let answer =
            move |request| answer_in_turn(service.clone(), Arc::clone(&conditional), request);
        let server = HttpServer::serve(listen, service_fn(answer)).await?;
        Ok(Self { server, folder })
    }

    /// Returns the endpoint's URL, for `AWS_ENDPOINT_URL_S3`.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Returns the address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the folder that holds the buckets.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the variables that make an AWS SDK use this server.
    pub fn env(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL_S3", self.url()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
            ("AWS_REGION", crate::function::REGION.to_owned()),
        ]
    }
}

/// Answers a request; conditional writes take turns, since the store looks first and writes then.
async fn answer_in_turn(
    service: S3Service,
    conditional: Arc<Mutex<()>>,
    request: Request<Incoming>,
) -> Result<Response<s3s::Body>, s3s::HttpError> {
    let is_conditional = matches!(*request.method(), Method::PUT | Method::POST)
        && ["if-none-match", "if-match"]
            .iter()
            .any(|name| request.headers().contains_key(*name));
    let _turn = if is_conditional {
        Some(conditional.lock().await)
    } else {
        None
    };
    service.call(request.map(s3s::Body::from)).await
}
