//! s2n-quic under load. It has no priorities of streams.

use std::net::UdpSocket;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use quic_bench::{LimitName, Options, PATIENCE, REQUEST_BYTES, WARM_UP, World, run};
use s2n_quic::client::Connect;
use s2n_quic::provider::io::tokio as plain;
use s2n_quic::{Client, Server};
use serde_json::{Value, json};
use taut_s2n_quic::Io;
use taut_udp::quic::SocketLimiter;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::{task, time};

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    run("taut-s2n-quic", measure).await
}

async fn measure(options: &Options) -> anyhow::Result<Value> {
    options.require_common()?;
    let world = World::new(options)?;
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let (certificate, key) = (made.cert.pem(), made.key_pair.serialize_pem());
    let socket = world.server_socket()?;
    let address = world.address(socket.local_addr()?, options)?;
    let io = plain::Provider::builder().with_rx_socket(socket)?.build()?;
    let server = Server::builder()
        .with_tls((certificate.as_str(), key.as_str()))?
        .with_io(io)?
        .start()?;
    let received_bytes = Arc::<AtomicU64>::default();
    task::spawn(serve(server, Arc::clone(&received_bytes)));

    let client_socket = world.client_socket(options)?;
    let (client, sockets) = client(options.limit, client_socket, &certificate)?;
    let connect = Connect::new(address).with_server_name("localhost");
    let mut connection = time::timeout(PATIENCE, client.connect(connect)).await??;
    let mut bulk = connection.open_send_stream().await?;
    task::spawn(async move { while bulk.write_all(&[7; 1 << 16]).await.is_ok() {} });
    time::sleep(WARM_UP).await;

    let mut stream = connection.open_bidirectional_stream().await?;
    let measured = quic_bench::measure(&mut stream, &received_bytes, &world, options).await?;
    let limit = sockets.and_then(|it| it.stats()).map(|it| it.socket);
    measured.row("s2n-quic", options, limit, json!({}))
}

/// The only difference between a plain and a limited client is its IO provider.
fn client(
    limit: LimitName,
    socket: UdpSocket,
    certificate: &str,
) -> anyhow::Result<(Client, Option<SocketLimiter>)> {
    let builder = Client::builder().with_tls(certificate)?;
    if let Some(sockets) = limit.sockets() {
        let io = Io::with_sockets(socket, sockets.clone());
        return Ok((builder.with_io(io)?.start()?, Some(sockets)));
    }
    let io = plain::Provider::builder().with_rx_socket(socket)?.build()?;
    Ok((builder.with_io(io)?.start()?, None))
}

/// Answers requests, and counts the bytes of bulk data.
async fn serve(mut server: Server, count: Arc<AtomicU64>) {
    while let Some(connection) = server.accept().await {
        let (_, mut acceptor) = connection.split();
        let count = Arc::clone(&count);
        task::spawn(async move {
            while let Ok(Some(stream)) = acceptor.accept().await {
                let count = Arc::clone(&count);
                match stream {
                    s2n_quic::stream::PeerStream::Receive(mut bulk) => task::spawn(async move {
                        while let Ok(Some(chunk)) = bulk.receive().await {
                            count.fetch_add(chunk.len() as u64, Relaxed);
                        }
                    }),
                    s2n_quic::stream::PeerStream::Bidirectional(mut requests) => {
                        task::spawn(async move {
                            let mut request = [0; REQUEST_BYTES];
                            while requests.read_exact(&mut request).await.is_ok()
                                && requests.write_all(&request).await.is_ok()
                                && requests.flush().await.is_ok()
                            {}
                        })
                    }
                };
            }
        });
    }
}
