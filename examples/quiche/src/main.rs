//! quiche under load, with a priority for the requests.

mod endpoint;
mod peers;
mod socket;

use std::net;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use quic_bench::{LimitName, Options, PATIENCE, REQUEST_BYTES, WARM_UP, World, run};
use serde_json::Value;
use tokio::net::UdpSocket;
use tokio::{io, task, time};

use socket::Socket;

/// The only difference between a plain and a limited client is its socket.
fn socket(limit: LimitName, socket: net::UdpSocket) -> io::Result<Socket> {
    match limit.sockets() {
        Some(sockets) => sockets.async_udp(socket).map(Socket::Limited),
        None => plain(socket).map(Socket::Plain),
    }
}

fn plain(socket: net::UdpSocket) -> io::Result<UdpSocket> {
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    run("taut-quiche", measure).await
}

async fn measure(options: &Options) -> anyhow::Result<Value> {
    options.require_common()?;
    let world = World::new(options)?;
    let [server, client] = peers::configs()?;
    let server_socket = plain(world.server_socket()?)?;
    let address = world.address(server_socket.local_addr()?, options)?;
    let received_bytes = Arc::<AtomicU64>::default();
    let count = Arc::clone(&received_bytes);
    task::spawn(async move {
        if let Err(error) = peers::serve(server_socket, server, count).await {
            eprintln!("taut-quiche: the server failed: {error:#}");
        }
    });

    let client_socket = world.client_socket(options)?;
    let local = client_socket.local_addr()?;
    let client_socket = socket(options.limit, client_socket)?;
    let connecting = peers::connect(client_socket, local, address, client);
    let endpoint = time::timeout(PATIENCE, connecting).await??;
    let (mut stream, requests) = io::duplex(REQUEST_BYTES);
    let sending = task::spawn(peers::send(endpoint, requests));
    time::sleep(WARM_UP).await;

    let measured = quic_bench::measure(&mut stream, &received_bytes, &world, options).await;
    drop(stream);
    // An error of the sending task is the cause of that of its requests.
    let (limit, more) = sending.await??;
    measured?.row("quiche", options, limit, more)
}
