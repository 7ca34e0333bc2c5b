//! Endpoints and links of the tests. Each test creates its own namespaces.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, Runtime, ServerConfig, TransportConfig,
};
use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, privilege};

/// Test timeout, far longer than on any busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Returns `true` if live tests can run here. With `CI=true`, it fails instead of returning
/// `false`.
pub fn allowed() -> bool {
    match privilege() {
        Ok(_) => true,
        Err(missing) if std::env::var("CI").as_deref() == Ok("true") => panic!("{missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            false
        }
    }
}

pub struct Link {
    pub near: NetNs,
    pub far: NetNs,
}

impl Link {
    /// Creates a link with this rate from the near to the far side.
    pub fn shaped(rate_bits_per_s: u64) -> Self {
        let (near, far) = (
            NetNs::new().expect("namespace"),
            NetNs::new().expect("namespace"),
        );
        link::add_veth_pair(&near, "near", &far, "far").expect("veth");
        let (near_mac, far_mac) = (MacAddress::local(1), MacAddress::local(2));
        for (ns, device, own, mac) in [(&near, "near", NEAR, near_mac), (&far, "far", FAR, far_mac)]
        {
            link::set_mac(ns, device, mac).expect("mac");
            link::add_address(ns, device, own, 24).expect("address");
            link::set_up(ns, device).expect("up");
        }
        let shaped = Self { near, far };
        shaped.neighbours();
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 5_000,
            limit_bytes: 4 << 20,
        };
        link::set_root_qdisc(&shaped.near, "near", shaper).expect("shaper");
        shaped
    }

    pub fn neighbours(&self) {
        link::add_neighbour(&self.near, "near", FAR, MacAddress::local(2)).expect("neighbour");
        link::add_neighbour(&self.far, "far", NEAR, MacAddress::local(1)).expect("neighbour");
    }

    pub fn near_socket(&self) -> UdpSocket {
        let socket = self.near.run(|| UdpSocket::bind((NEAR, 0)));
        socket.expect("thread").expect("socket")
    }

    pub fn far_socket(&self) -> UdpSocket {
        let socket = self.far.run(|| UdpSocket::bind((FAR, 0)));
        socket.expect("thread").expect("socket")
    }
}

/// A server that reads every stream to its end and returns the length, and a client that trusts it.
pub struct Pair {
    pub client: Endpoint,
    pub server: SocketAddr,
}

impl Pair {
    /// Opens another connection of the client.
    pub async fn connect(&self) -> Connection {
        let connecting = self.client.connect(self.server, "localhost");
        connecting.expect("connects").await.expect("connected")
    }
}

pub fn pair(
    near: UdpSocket,
    far: UdpSocket,
    runtime: Arc<dyn Runtime>,
    transport: TransportConfig,
) -> Pair {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.key_pair.serialize_der());
    let certificate = made.cert.der().clone();
    let server_config =
        ServerConfig::with_single_cert(vec![certificate.clone()], key.expect("key"));
    let server = Endpoint::new(
        EndpointConfig::default(),
        Some(server_config.expect("server")),
        far,
        Arc::new(quinn::TokioRuntime),
    )
    .expect("endpoint");
    let address = server.local_addr().expect("address");
    tokio::spawn(serve(server));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("tls")));
    config.transport_config(Arc::new(transport));
    let mut client =
        Endpoint::new(EndpointConfig::default(), None, near, runtime).expect("endpoint");
    client.set_default_client_config(config);
    Pair {
        client,
        server: address,
    }
}

async fn serve(server: Endpoint) {
    while let Some(incoming) = server.accept().await {
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else {
                return;
            };
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                tokio::spawn(async move {
                    let mut count = 0_u64;
                    while let Ok(Some(chunk)) = receive.read_chunk(usize::MAX, false).await {
                        count += chunk.bytes.len() as u64;
                    }
                    let _ = send.write_all(&count.to_be_bytes()).await;
                    let _ = send.finish();
                });
            }
        });
    }
}

/// Uploads `bytes`, and returns how many the server counted.
pub async fn upload(connection: &quinn::Connection, bytes: usize) -> u64 {
    let (mut send, mut receive) = connection.open_bi().await.expect("stream");
    send.write_all(&vec![7; bytes]).await.expect("writes");
    send.finish().expect("open");
    let mut count = [0; 8];
    receive.read_exact(&mut count).await.expect("answer");
    u64::from_be_bytes(count)
}

pub fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("runtime")
}
