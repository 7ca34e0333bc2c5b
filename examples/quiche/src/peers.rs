//! The two ends.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use quic_bench::REQUEST_BYTES;
use quiche::{Config, ConnectionId, PROTOCOL_VERSION};
use serde_json::{Value, json};
use taut_udp::Snapshot;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::UdpSocket;

use crate::endpoint::Endpoint;
use crate::socket::{DATAGRAM_BYTES, Socket};

/// The first bidirectional and the first unidirectional stream of a client.
const REQUESTS: u64 = 0;
const BULK: u64 = 2;
/// Large enough that no receiver limits the sender.
const WINDOW_BYTES: u64 = 64 << 20;
/// Window of one stream, so that the bulk stream leaves room for the requests.
const STREAM_WINDOW_BYTES: u64 = 16 << 20;
const BUFFER_BYTES: usize = 1 << 16;
static BULK_DATA: [u8; BUFFER_BYTES] = [7; BUFFER_BYTES];
/// Each socket has one connection, so that the id need not be unique.
const ID: ConnectionId<'static> = ConnectionId::from_ref(&[1; 16]);

/// Returns the settings of the server, and of a client that trusts it.
pub fn configs() -> anyhow::Result<[Config; 2]> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let directory = tempfile::tempdir()?;
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
    fs::write(&certificate, made.cert.pem())?;
    fs::write(&key, made.key_pair.serialize_pem())?;
    let certificate = certificate.to_str().context("a path that is not UTF-8")?;
    let (mut server, mut client) = (config()?, config()?);
    server.load_cert_chain_from_pem_file(certificate)?;
    server.load_priv_key_from_pem_file(key.to_str().context("a path that is not UTF-8")?)?;
    client.load_verify_locations_from_file(certificate)?;
    client.verify_peer(true);
    Ok([server, client])
}

fn config() -> quiche::Result<Config> {
    let mut config = Config::new(PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"load"])?;
    config.set_max_send_udp_payload_size(DATAGRAM_BYTES);
    config.set_initial_max_data(WINDOW_BYTES);
    config.set_max_connection_window(WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_local(STREAM_WINDOW_BYTES);
    config.set_initial_max_stream_data_bidi_remote(STREAM_WINDOW_BYTES);
    config.set_initial_max_stream_data_uni(STREAM_WINDOW_BYTES);
    config.set_initial_max_streams_bidi(1);
    config.set_initial_max_streams_uni(1);
    Ok(config)
}

/// Answers the requests of one client, and counts the bytes of its bulk data.
pub async fn serve(
    socket: UdpSocket,
    mut config: Config,
    count: Arc<AtomicU64>,
) -> anyhow::Result<()> {
    let local = socket.local_addr()?;
    let peer = socket.peek_sender().await?;
    let connection = quiche::accept(&ID, None, local, peer, &mut config)?;
    let mut endpoint = Endpoint::new(connection, Socket::Plain(socket), local);
    let (mut answers, mut buffer) = (Vec::new(), vec![0; BUFFER_BYTES]);
    loop {
        endpoint.step().await?;
        while let Some(stream) = endpoint.connection.stream_readable_next() {
            while let Ok((bytes, _)) = endpoint.connection.stream_recv(stream, &mut buffer) {
                if stream == BULK {
                    count.fetch_add(bytes as u64, Relaxed);
                } else {
                    answers.extend_from_slice(&buffer[..bytes]);
                }
            }
        }
        let written = endpoint.write(REQUESTS, &answers)?;
        answers.drain(..written);
    }
}

/// Connects a client with `server`.
pub async fn connect(
    socket: Socket,
    local: SocketAddr,
    server: SocketAddr,
    mut config: Config,
) -> anyhow::Result<Endpoint> {
    let connection = quiche::connect(Some("localhost"), &ID, local, server, &mut config)?;
    let mut endpoint = Endpoint::new(connection, socket, local);
    endpoint.establish().await?;
    Ok(endpoint)
}

/// Sends bulk data and the `requests` until those are closed. Returns the state of the limit, and
/// its part of the row.
pub async fn send(
    mut endpoint: Endpoint,
    mut requests: DuplexStream,
) -> anyhow::Result<(Option<Snapshot>, Value)> {
    let mut before = None;
    let (mut waiting, mut buffer) = (Vec::new(), vec![0; BUFFER_BYTES]);
    // The lower number has priority; the default is 127.
    endpoint.connection.stream_priority(REQUESTS, 0, false)?;
    endpoint.connection.stream_priority(BULK, 127, false)?;
    loop {
        let written = endpoint.write(REQUESTS, &waiting)?;
        waiting.drain(..written);
        let capacity = endpoint.connection.stream_capacity(BULK)?;
        let bulk = capacity
            .saturating_sub(endpoint.socket.reserved_bytes())
            .min(BUFFER_BYTES);
        endpoint.write(BULK, &BULK_DATA[..bulk])?;

        let mut request = [0; REQUEST_BYTES];
        tokio::select! {
            read = requests.read(&mut request) => match read? {
                0 => break,
                bytes => {
                    before.get_or_insert(endpoint.connection.stats());
                    waiting.extend_from_slice(&request[..bytes]);
                }
            },
            stepped = endpoint.step() => stepped?,
        }
        while let Ok((bytes, _)) = endpoint.connection.stream_recv(REQUESTS, &mut buffer) {
            // If the requests are closed, the next read ends the loop.
            let _ = requests.write_all(&buffer[..bytes]).await;
        }
    }
    let (before, after) = (before.unwrap_or_default(), endpoint.connection.stats());
    let more = json!({
        "datagrams": after.sent - before.sent,
        "all_datagrams": after.sent,
        "lost_datagrams": after.lost - before.lost,
        "window_bytes": endpoint.connection.path_stats().next().map(|it| it.cwnd),
    });
    Ok((endpoint.socket.snapshot(), more))
}
