//! A way to a TLS listener that is cut while a client makes itself known.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The type of TLS's encrypted records (RFC 8446, 5.1).
const ENCRYPTED: u8 = 23;

/// Which of a client's encrypted records is the last: the end of the handshake, the questions for versions and mechanisms, a proof.
const LAST: usize = 4;

/// The way; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Severed {
    address: String,
    _links: JoinSet<()>,
}

impl Severed {
    /// Listens before a listener.
    pub(crate) async fn before(listener: &str) -> Self {
        let here = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = here.local_addr().unwrap().to_string();
        let listener = listener.to_owned();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut links = JoinSet::new();
            loop {
                let (client, _) = here.accept().await.unwrap();
                links.spawn(link(client, listener.clone()));
            }
        });
        Self {
            address,
            _links: accepting,
        }
    }

    /// Returns its host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// Passes on what both say until the client's last record, which is kept back.
async fn link(mut client: TcpStream, listener: String) {
    let mut broker = TcpStream::connect(listener).await.unwrap();
    let (mut from_client, mut to_client) = client.split();
    let (mut from_broker, mut to_broker) = broker.split();
    let forth = async {
        let mut encrypted = 0;
        while let Ok(record) = record(&mut from_client).await {
            encrypted += usize::from(record[0] == ENCRYPTED);
            if encrypted == LAST {
                return;
            }
            to_broker.write_all(&record).await.unwrap();
        }
    };
    tokio::select! {
        () = forth => {}
        _ = copy(&mut from_broker, &mut to_client) => {}
    }
}

/// Reads one record of TLS: its type, its version, its length and so many bytes.
async fn record(from: &mut (impl AsyncReadExt + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut record = vec![0; 5];
    from.read_exact(&mut record).await?;
    let length = u16::from_be_bytes([record[3], record[4]]);
    record.resize(5 + usize::from(length), 0);
    from.read_exact(&mut record[5..]).await?;
    Ok(record)
}
