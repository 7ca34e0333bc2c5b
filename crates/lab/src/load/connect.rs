//! The connections of the load.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use anyhow::Context;
use socket2::{Domain, SockRef, Socket, Type};
use taut_linux::NetNs;

use super::request::Requests;
use super::{ping, request};
use crate::control::Control;
use crate::world::{Hosts, SERVER_ADDRESS};

/// Port of the bulk streams; any port is free in a new namespace.
const BULK_PORT: u16 = 5001;
/// Port of the request/response.
const REQUEST_PORT: u16 = 5002;

/// Type of service of the request/response: low delay, priority 6, the first band.
const LOW_DELAY_TOS: u32 = 0x10;

/// Timeout of a connection over an idle link.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The congestion control of all streams. The default of the system can be bbr, whose pacing would
/// remain on a socket that is switched after it connected.
const CONGESTION_CONTROL: &[u8] = b"cubic";

/// The traffic in parallel to the bulk streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// One byte in each direction over TCP at high priority, one request at a time.
    Requests,
    /// Best-effort datagrams at fixed intervals, and their echoes.
    Pings,
}

/// The sockets of that traffic: the requester and the responder.
pub enum Asking {
    Requests(TcpStream, TcpStream),
    Pings(UdpSocket, UdpSocket),
}

impl Asking {
    /// Returns the name of the requesting thread.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Requests(..) => "request",
            Self::Pings(..) => "ping",
        }
    }

    /// Sends requests or pings until the row ends.
    pub fn ask(&self, control: &Control) -> anyhow::Result<Requests> {
        match self {
            Self::Requests(client, _) => request::ask(client, control),
            Self::Pings(client, _) => ping::ask(client, control),
        }
    }

    /// Answers them until the row ends.
    pub fn answer(&self, control: &Control) -> anyhow::Result<()> {
        match self {
            Self::Requests(_, server) => request::answer(server, control),
            Self::Pings(_, server) => ping::answer(server, control),
        }
    }
}

/// The sockets of a connection: the client's and the server's.
type Connection = (TcpStream, TcpStream);

/// Connects `streams` bulk streams, and the traffic `beside` them, from the client to the server.
/// None of them sends yet.
pub fn connect(
    hosts: &Hosts,
    streams: u32,
    beside: Beside,
) -> anyhow::Result<(Vec<Connection>, Asking)> {
    let Hosts { client, server } = hosts;
    let bulk_address = SocketAddr::from((SERVER_ADDRESS, BULK_PORT));
    let listen = |address| server.run(move || listener(address))?;
    let bulk_listener = listen(bulk_address).context("listen for bulk streams")?;
    let asking = match beside {
        Beside::Requests => {
            let address = SocketAddr::from((SERVER_ADDRESS, REQUEST_PORT));
            let listener = listen(address).context("listen for requests")?;
            requests(client, listener, address)?
        }
        Beside::Pings => {
            let (client, server) = ping::sockets(hosts)?;
            Asking::Pings(client, server)
        }
    };
    let connect_bulk = |n| {
        connect_one(&bulk_listener, bulk_address)
            .with_context(|| format!("connect bulk stream {n} of {streams}"))
    };
    let bulk = client.run(|| {
        (1..=streams)
            .map(connect_bulk)
            .collect::<anyhow::Result<_>>()
    })??;
    Ok((bulk, asking))
}

fn requests(client: &NetNs, listener: TcpListener, address: SocketAddr) -> anyhow::Result<Asking> {
    let connected = client.run(move || connect_one(&listener, address))?;
    let (client, server) = connected.context("connect for requests")?;
    for socket in [&client, &server] {
        SockRef::from(socket).set_tos_v4(LOW_DELAY_TOS)?;
        socket.set_nodelay(true)?;
    }
    Ok(Asking::Requests(client, server))
}

/// Returns a socket that uses the congestion control from its first packet on.
fn socket() -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket
        .set_tcp_congestion(CONGESTION_CONTROL)
        .context("this kernel has no cubic congestion control")?;
    Ok(socket)
}

/// Returns a listening socket; accepted sockets inherit its congestion control and its
/// timeout of reads. It accepts with that timeout, so that a lost handshake does not block the lab.
fn listener(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = socket()?;
    socket.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    socket.bind(&address.into())?;
    // Connections are established one at a time.
    socket.listen(1)?;
    Ok(socket.into())
}

fn connect_one(listener: &TcpListener, address: SocketAddr) -> anyhow::Result<Connection> {
    let client = socket()?;
    client.connect_timeout(&address.into(), CONNECT_TIMEOUT)?;
    // A read timeout of `accept` ends with EAGAIN.
    let (server, _) = listener.accept().map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
        _ => error,
    })?;
    Ok((client.into(), server))
}
