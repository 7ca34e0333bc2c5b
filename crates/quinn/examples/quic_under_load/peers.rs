//! The two ends.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime};
use quinn::{Runtime, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Large enough that no receiver limits the sender.
const RECEIVE_WINDOW_BYTES: u32 = 64 << 20;

/// Window of one stream, so that the bulk stream leaves room for the requests.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;

pub const REQUEST_BYTES: usize = 100;

/// A server that answers requests and counts all received bytes, requests included: a client with
/// faster answers sends more of them.
pub struct Server {
    pub address: SocketAddr,
    pub received_bytes: Arc<AtomicU64>,
    certificate: CertificateDer<'static>,
}

impl Server {
    /// Starts it in the current runtime.
    pub fn start(socket: UdpSocket) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.key_pair.serialize_der());
        let key = key.map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
        let mut transport = TransportConfig::default();
        transport
            .receive_window(RECEIVE_WINDOW_BYTES.into())
            .stream_receive_window(STREAM_WINDOW_BYTES.into());
        config.transport_config(Arc::new(transport));
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)?;
        let address = endpoint.local_addr()?;
        let received_bytes = Arc::<AtomicU64>::default();
        let count = Arc::clone(&received_bytes);
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                if let Ok(connecting) = incoming.accept() {
                    let count = Arc::clone(&count);
                    tokio::spawn(async move {
                        if let Ok(connection) = connecting.await {
                            serve(connection, count).await;
                        }
                    });
                }
            }
        });
        Ok(Self {
            address,
            received_bytes,
            certificate,
        })
    }
}

async fn serve(connection: Connection, count: Arc<AtomicU64>) {
    let (requests, answered) = (connection.clone(), Arc::clone(&count));
    tokio::spawn(async move {
        while let Ok((mut send, mut receive)) = requests.accept_bi().await {
            let mut request = [0; REQUEST_BYTES];
            while receive.read_exact(&mut request).await.is_ok() {
                answered.fetch_add(REQUEST_BYTES as u64, Relaxed);
                if send.write_all(&request).await.is_err() {
                    break;
                }
            }
        }
    });
    while let Ok(mut bulk) = connection.accept_uni().await {
        let count = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok(Some(chunk)) = bulk.read_chunk(1 << 20, false).await {
                count.fetch_add(chunk.bytes.len() as u64, Relaxed);
            }
        });
    }
}

/// Returns an endpoint of the client that trusts `server`.
pub fn client(
    server: &Server,
    socket: UdpSocket,
    runtime: Arc<dyn Runtime>,
    mut transport: TransportConfig,
) -> anyhow::Result<Endpoint> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(server.certificate.clone())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    transport.send_window(RECEIVE_WINDOW_BYTES.into());
    let tls = QuicClientConfig::try_from(tls).context("TLS 1.3 for QUIC")?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::new(EndpointConfig::default(), None, socket, runtime)?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}
