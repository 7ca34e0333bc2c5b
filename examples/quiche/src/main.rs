//! quiche under load, with a priority for the requests.

mod endpoint;
mod peers;
mod socket;

use std::net;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use quic_bench::{LimitName, Load, Options, PATIENCE, REQUEST_BYTES, WARM_UP, World, run};
use serde_json::Value;
use taut_path::AnyLimit;
use tokio::net::UdpSocket;
use tokio::{io, task, time};

use socket::Socket;

/// The default of the other QUIC adapters.
const CAP_NS: u64 = 250_000;

/// The only difference between a plain and a limited client is its socket.
fn socket(limit: LimitName, socket: net::UdpSocket) -> io::Result<Socket> {
    match limit {
        LimitName::Plain => plain(socket).map(Socket::Plain),
        LimitName::Dql => Socket::limited(socket, AnyLimit::dql(), 0),
        LimitName::Taut => Socket::limited(socket, AnyLimit::taut(), CAP_NS),
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
    let world = World::new(options.topology, options.rate.0)?;
    let [server, client] = peers::configs()?;
    let server_socket = plain(world.server_socket()?)?;
    let address = server_socket.local_addr()?;
    let received_bytes = Arc::<AtomicU64>::default();
    let count = Arc::clone(&received_bytes);
    task::spawn(async move {
        if let Err(error) = peers::serve(server_socket, server, count).await {
            eprintln!("taut-quiche: the server failed: {error:#}");
        }
    });

    let client_socket = world.client_socket()?;
    let local = client_socket.local_addr()?;
    let client_socket = socket(options.limit, client_socket)?;
    let connecting = peers::connect(client_socket, local, address, client);
    let endpoint = time::timeout(PATIENCE, connecting).await??;
    let (mut stream, requests) = io::duplex(REQUEST_BYTES);
    let sending = task::spawn(peers::send(endpoint, requests));
    time::sleep(WARM_UP).await;

    let duration = Duration::from_nanos(options.duration.0);
    let measured = Load::begin(&received_bytes)
        .measure(&mut stream, duration)
        .await;
    drop(stream);
    // An error of the sending task is the cause of that of its requests.
    let more = sending.await??;
    measured?.row("quiche", options, more)
}
