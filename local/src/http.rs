//! An HTTP server that ends with its owner, its connections included.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A server on one address; dropping it closes the listener and every connection.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    _tasks: JoinSet<Infallible>,
}

impl HttpServer {
    /// Starts to serve routes; port 0 takes a free one.
    pub async fn start(listen: SocketAddr, routes: Router) -> anyhow::Result<Self> {
        Self::serve(listen, TowerToHyperService::new(routes)).await
    }

    /// Starts to serve any HTTP service; port 0 takes a free one.
    pub async fn serve<S, B>(listen: SocketAddr, service: S) -> anyhow::Result<Self>
    where
        S: HttpService<Incoming, ResBody = B> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr().context("a listener has no address")?;
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, service));
        Ok(Self {
            address,
            _tasks: tasks,
        })
    }

    /// Returns the address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address as a URL without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept<S, B>(listener: TcpListener, service: S) -> Infallible
where
    S: HttpService<Incoming, ResBody = B> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let connection = http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service.clone());
                    connections.spawn(async move {
                        if let Err(error) = connection.await {
                            tracing::debug!(error.message = %error, "a connection ended early");
                        }
                    });
                }
                Err(error) => tracing::warn!(error.message = %error, "cannot accept a connection"),
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}
