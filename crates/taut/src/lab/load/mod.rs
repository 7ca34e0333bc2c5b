//! The load: bulk TCP streams and, beside them, one request/response or pings, by taut itself.

mod bulk;
mod ping;
mod request;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use socket2::{Domain, SockRef, Socket, Type};
use taut_linux::NetNs;
use taut_linux::tcp::{self, TcpInfo};

use super::control::Control;
pub use request::Requests;

/// Port of the bulk streams, any that is free in a namespace of our own.
const BULK_PORT: u16 = 5001;
/// Port of the request/response.
const REQUEST_PORT: u16 = 5002;

/// Type of service of the request/response: low delay, priority 6, the first band.
const LOW_DELAY_TOS: u32 = 0x10;

/// How long a connection may take to be made, over an idle link.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a thread that waits for the network looks whether the row is over.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// The congestion control of all streams. The system's default may be another, such as bbr, whose
/// pacing would stay with a socket that is switched after it connected.
const CONGESTION_CONTROL: &[u8] = b"cubic";

/// What goes to and fro beside the bulk streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// A byte each way over TCP at high priority, one after the other.
    Requests,
    /// Datagrams of best effort at fixed intervals, which are echoed.
    Pings,
}

/// The sockets of it: of who asks and of who answers.
enum Asking {
    Requests(TcpStream, TcpStream),
    Pings(UdpSocket, UdpSocket),
}

/// Connections that are made and do not send yet.
pub struct Connected {
    bulk: Vec<(TcpStream, TcpStream)>,
    asking: Asking,
}

/// Makes `streams` bulk connections, and what goes `beside` them, from `client` to `server`, which
/// listens at `address`.
pub fn connect(
    client: &NetNs,
    server: &NetNs,
    address: Ipv4Addr,
    streams: u32,
    beside: Beside,
) -> anyhow::Result<Connected> {
    let bulk_address = SocketAddr::from((address, BULK_PORT));
    let listen = |address| server.run(move || listener(address))?;
    let bulk_listener = listen(bulk_address).context("listen for bulk streams")?;
    let asking = match beside {
        Beside::Requests => {
            let address = SocketAddr::from((address, REQUEST_PORT));
            requests(
                client,
                listen(address).context("listen for requests")?,
                address,
            )?
        }
        Beside::Pings => ping::sockets(client, server, address)
            .map(|(client, server)| Asking::Pings(client, server))?,
    };
    client.run(move || {
        let bulk = (0..streams)
            .map(|n| {
                connect_one(&bulk_listener, bulk_address)
                    .with_context(|| format!("connect bulk stream {} of {streams}", n + 1))
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Connected { bulk, asking })
    })?
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

/// A socket that will use our congestion control from its first packet on.
fn socket() -> anyhow::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket
        .set_tcp_congestion(CONGESTION_CONTROL)
        .context("this kernel has no cubic congestion control")?;
    Ok(socket)
}

/// A listening socket; what it accepts inherits its congestion control.
fn listener(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = socket()?;
    socket.bind(&address.into())?;
    // Connections are made one at a time.
    socket.listen(1)?;
    Ok(socket.into())
}

fn connect_one(
    listener: &TcpListener,
    address: SocketAddr,
) -> anyhow::Result<(TcpStream, TcpStream)> {
    let client = socket()?;
    client.connect_timeout(&address.into(), CONNECT_TIMEOUT)?;
    Ok((client.into(), accept(listener)?))
}

/// Accepts with a timeout: a handshake that was lost must not hang the lab.
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = Instant::now() + CONNECT_TIMEOUT;
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // The connection is made already; it only has to appear in the queue.
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// A running load.
pub struct Load {
    /// The bulk senders' sockets, to ask the kernel about them.
    senders: Vec<TcpStream>,
    bulk: [JoinHandle<anyhow::Result<()>>; 2],
    echo: JoinHandle<anyhow::Result<()>>,
    requests: JoinHandle<anyhow::Result<Requests>>,
}

impl Connected {
    /// Starts all of it, until `control` stops the row.
    pub fn start(self, control: &Arc<Control>) -> anyhow::Result<Load> {
        let (senders, receivers): (Vec<_>, Vec<_>) = self.bulk.into_iter().unzip();
        for receiver in &receivers {
            tcp::set_receive_low_water(receiver, bulk::READ_BYTES)?;
        }
        let (echo, requests) = match self.asking {
            Asking::Requests(client, server) => (
                spawn("echo", control, move |control| {
                    request::answer(server, control)
                })?,
                spawn("request", control, move |control| {
                    request::ask(client, control)
                })?,
            ),
            Asking::Pings(client, server) => (
                spawn("echo", control, move |control| {
                    ping::answer(&server, control)
                })?,
                spawn("ping", control, move |control| ping::ask(&client, control))?,
            ),
        };
        Ok(Load {
            senders: senders
                .iter()
                .map(TcpStream::try_clone)
                .collect::<io::Result<_>>()?,
            bulk: [
                spawn("bulk-send", control, move |control| {
                    bulk::send(senders, control)
                })?,
                spawn("bulk-receive", control, move |control| {
                    bulk::receive(receivers, control)
                })?,
            ],
            echo,
            requests,
        })
    }
}

/// What the bulk streams had delivered at one moment.
pub struct Delivered(Vec<TcpInfo>);

impl Delivered {
    /// Payload bytes that arrived since `before`.
    pub fn bytes_since(&self, before: &Self) -> u64 {
        let segments = |(now, before): (&TcpInfo, &TcpInfo)| {
            let segments = now
                .delivered_segments
                .wrapping_sub(before.delivered_segments);
            u64::from(segments) * u64::from(now.mss_bytes)
        };
        self.0.iter().zip(&before.0).map(segments).sum()
    }
}

impl Load {
    /// What arrived so far, each segment counted once and those behind a hole included. What the
    /// receiving application reads stands still while a hole is repaired and leaps afterwards,
    /// which over some seconds is more noise than signal.
    pub fn delivered(&self) -> io::Result<Delivered> {
        self.senders
            .iter()
            .map(TcpInfo::of)
            .collect::<io::Result<_>>()
            .map(Delivered)
    }

    /// Waits for every thread, and gives what the requests measured.
    pub fn join(self) -> anyhow::Result<Requests> {
        for thread in self.bulk.into_iter().chain([self.echo]) {
            join(thread)?;
        }
        join(self.requests)
    }
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    control: &Arc<Control>,
    work: impl FnOnce(&Control) -> anyhow::Result<T> + Send + 'static,
) -> io::Result<JoinHandle<anyhow::Result<T>>> {
    let control = Arc::clone(control);
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let _stop = super::control::StopOnDrop(&control);
            work(&control).with_context(|| format!("thread {name}"))
        })
}

fn join<T>(thread: JoinHandle<anyhow::Result<T>>) -> anyhow::Result<T> {
    thread
        .join()
        .map_err(|_| anyhow!("a thread of the load panicked"))?
}
