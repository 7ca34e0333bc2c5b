//! The two ends.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use quic_bench::REQUEST_BYTES;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig};
use quinn::{TokioRuntime, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Large enough that no receiver limits the sender.
const WINDOW_BYTES: u32 = 64 << 20;
/// Window of one stream, so that the bulk stream leaves room for the requests.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;

/// A server that answers requests, and counts the bytes of bulk data.
pub struct Server {
    pub address: SocketAddr,
    pub received_bytes: Arc<AtomicU64>,
    certificate: CertificateDer<'static>,
}

impl Server {
    pub fn start(socket: UdpSocket) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.key_pair.serialize_der());
        let key = key.map_err(|error| anyhow::anyhow!("{error}"))?;
        let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
        let mut transport = TransportConfig::default();
        transport
            .receive_window(WINDOW_BYTES.into())
            .stream_receive_window(STREAM_WINDOW_BYTES.into());
        config.transport_config(Arc::new(transport));
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)?;
        let address = endpoint.local_addr()?;
        let received_bytes = Arc::<AtomicU64>::default();
        let count = Arc::clone(&received_bytes);
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                if let Ok(connection) = incoming.await {
                    tokio::spawn(answer(connection.clone()));
                    tokio::spawn(receive(connection, Arc::clone(&count)));
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

async fn answer(connection: Connection) {
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        let mut request = [0; REQUEST_BYTES];
        while receive.read_exact(&mut request).await.is_ok() {
            if send.write_all(&request).await.is_err() {
                return;
            }
        }
    }
}

async fn receive(connection: Connection, count: Arc<AtomicU64>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(mut bulk) = connection.accept_uni().await {
        while let Ok(Some(bytes)) = bulk.read(&mut buffer).await {
            count.fetch_add(bytes as u64, Relaxed);
        }
    }
}

/// Returns the settings of a client that trusts `server`.
pub fn client_config(
    server: &Server,
    mut transport: TransportConfig,
) -> anyhow::Result<ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(server.certificate.clone())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    transport.send_window(WINDOW_BYTES.into());
    config.transport_config(Arc::new(transport));
    Ok(config)
}
