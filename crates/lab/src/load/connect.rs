//! The TCP connections of the load.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::Context;
use socket2::{Domain, Socket, Type};

use crate::world::{Hosts, SERVER_ADDRESS};

/// Port of the bulk streams; any port is free in a new namespace.
const BULK_PORT: u16 = 5001;

/// Timeout of a connection over an idle link.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The congestion control of all streams. The default of the system can be bbr, whose pacing would
/// remain on a socket that is switched after it connected.
const CONGESTION_CONTROL: &[u8] = b"cubic";

/// The sockets of a connection: the client's and the server's.
pub type Connection = (TcpStream, TcpStream);

/// Connects `streams` bulk streams from the client to the server. None of them sends yet.
pub fn connect_bulk(hosts: &Hosts, streams: u32) -> anyhow::Result<Vec<Connection>> {
    let listener = listen(hosts, BULK_PORT).context("listen for bulk streams")?;
    let connect =
        |n| connect_one(&listener).with_context(|| format!("connect bulk stream {n} of {streams}"));
    hosts.client.run(|| (1..=streams).map(connect).collect())?
}

/// Returns a socket that uses the congestion control from its first packet on.
fn socket() -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket
        .set_tcp_congestion(CONGESTION_CONTROL)
        .context("this kernel has no cubic congestion control")?;
    Ok(socket)
}

/// Listens on a port of the server; accepted sockets inherit the congestion control and the
/// timeout of reads. It accepts with that timeout, so that a lost handshake does not block the lab.
pub fn listen(hosts: &Hosts, port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((SERVER_ADDRESS, port));
    hosts.server.run(|| {
        let socket = socket()?;
        socket.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        socket.bind(&address.into())?;
        // Connections are established one at a time.
        socket.listen(1)?;
        Ok(socket.into())
    })?
}

/// Connects to `listener`, in the namespace of the calling thread.
pub fn connect_one(listener: &TcpListener) -> anyhow::Result<Connection> {
    let client = socket()?;
    client.connect_timeout(&listener.local_addr()?.into(), CONNECT_TIMEOUT)?;
    // A read timeout of `accept` ends with EAGAIN.
    let (server, _) = listener.accept().map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    })?;
    Ok((client.into(), server))
}
