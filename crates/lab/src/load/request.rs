//! The request/response: one byte in each direction, one request at a time.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use anyhow::Context;
use hdrhistogram::Histogram;
use socket2::SockRef;
use taut_linux::sched;
use taut_measure::meter::histogram_ns;

use super::connect::{connect_one, listen};
use crate::control::Control;
use crate::world::Hosts;

/// Port of the request/response.
const PORT: u16 = 5002;
/// Type of service of the request/response: low delay, priority 6, the first band.
const LOW_DELAY_TOS: u32 = 0x10;

/// The work of a thread, until the row ends.
type ThreadWork<T> = Box<dyn FnOnce(&Control) -> anyhow::Result<T> + Send>;

/// The traffic whose latency is measured, with its two threads.
pub struct MeasuredTraffic {
    /// Name of the requesting thread.
    pub name: &'static str,
    pub request: ThreadWork<Requests>,
    pub respond: ThreadWork<()>,
}

/// The measurements of the requests while the row was recorded.
#[derive(Debug)]
pub struct Requests {
    pub transactions: u64,
    /// From the request's write to the response's read, in ns.
    pub latency_ns: Histogram<u64>,
    /// Requests without a response.
    pub lost: u64,
    /// Lateness of timed requests, in ns.
    pub late_ns: Histogram<u64>,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            transactions: 0,
            latency_ns: histogram_ns(),
            lost: 0,
            late_ns: histogram_ns(),
        }
    }
}

/// Connects the request/response: one byte in each direction over TCP at high priority, one request
/// at a time.
pub fn requests(hosts: &Hosts) -> anyhow::Result<MeasuredTraffic> {
    let listener = listen(hosts, PORT).context("listen for requests")?;
    let connected = hosts.client.run(|| connect_one(&listener))?;
    let (client, server) = connected.context("connect for requests")?;
    for socket in [&client, &server] {
        SockRef::from(socket).set_tos_v4(LOW_DELAY_TOS)?;
        socket.set_nodelay(true)?;
    }
    Ok(MeasuredTraffic {
        name: "request",
        request: Box::new(move |control| request(&client, control)),
        respond: Box::new(move |control| respond(&server, control)),
    })
}

/// Sends requests until the row ends.
fn request(mut socket: &TcpStream, control: &Control) -> anyhow::Result<Requests> {
    socket.set_read_timeout(Some(Control::CHECK_INTERVAL))?;
    let mut requests = Requests::default();
    while !control.is_stopped() {
        let start_ns = sched::monotonic_ns();
        let recorded = control.is_recording();
        let sent = socket.write_all(&[1]);
        let exchanged = sent.and_then(|()| read_byte(socket, control));
        if !succeeded(exchanged, control)? {
            break;
        }
        let end_ns = sched::monotonic_ns();
        control.transactions.add(1);
        if recorded && control.is_recording() {
            requests.transactions += 1;
            requests.latency_ns.saturating_record(end_ns - start_ns);
        }
    }
    Ok(requests)
}

/// Answers each request.
fn respond(mut socket: &TcpStream, control: &Control) -> anyhow::Result<()> {
    socket.set_read_timeout(Some(Control::CHECK_INTERVAL))?;
    loop {
        let received = read_byte(socket, control);
        let exchanged = received.and_then(|()| socket.write_all(&[1]));
        if !succeeded(exchanged, control)? {
            return Ok(());
        }
    }
}

/// Reads one byte. A timeout is an error only after the end of the row.
fn read_byte(mut socket: &TcpStream, control: &Control) -> io::Result<()> {
    loop {
        match socket.read_exact(&mut [0]) {
            Err(error) if is_timeout(&error) && !control.is_stopped() => {}
            read => return read,
        }
    }
}

/// Returns `false` if the row is over and the exchange failed: the peer can have closed already.
fn succeeded(exchanged: io::Result<()>, control: &Control) -> io::Result<bool> {
    match exchanged {
        Err(_) if control.is_stopped() => Ok(false),
        exchanged => exchanged.map(|()| true),
    }
}

/// Returns `true` for a timeout.
pub fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
