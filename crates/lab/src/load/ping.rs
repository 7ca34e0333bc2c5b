//! Pings: small datagrams at fixed intervals, echoed by the peer.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::Context;
use taut_linux::sched;

use super::request::{MeasuredTraffic, Requests, is_timeout};
use crate::control::Control;
use crate::world::{Hosts, SERVER_ADDRESS};

/// Port of the echo.
const PORT: u16 = 5003;
/// Ping interval: enough pings for a quantile, and little load on a slow link (1 % of 10 Mbit/s).
const INTERVAL_NS: u64 = 5_000_000;
/// A ping contains only its number; with its headers it has the minimum size of a frame.
const BYTES: usize = 18;

/// Binds the sockets of the pings: best-effort datagrams at fixed intervals, and their echoes.
pub fn pings(hosts: &Hosts) -> anyhow::Result<MeasuredTraffic> {
    let at = SocketAddr::from((SERVER_ADDRESS, PORT));
    let server = hosts
        .server
        .run(|| UdpSocket::bind(at))?
        .context("bind for pings")?;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let client = hosts.client.run(|| {
        let socket = UdpSocket::bind(any)?;
        socket.connect(at)?;
        io::Result::Ok(socket)
    })?;
    let client = client.context("connect for pings")?;
    Ok(MeasuredTraffic {
        name: "ping",
        request: Box::new(move |control| request(&client, control)),
        respond: Box::new(move |control| respond(&server, control)),
    })
}

/// Sends a ping every [`INTERVAL_NS`], independently of the previous echo.
fn request(socket: &UdpSocket, control: &Control) -> anyhow::Result<Requests> {
    let mut requests = Requests::default();
    // Time of sending of each ping; `None` if it was not recorded, and after its echo.
    let mut sent: Vec<Option<u64>> = Vec::new();
    let mut next_ns = sched::monotonic_ns();
    while !control.is_stopped() {
        let now_ns = sched::monotonic_ns();
        if now_ns >= next_ns {
            // If the socket would block, this ping is lost.
            let mut bytes = [0; BYTES];
            bytes[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
            let _ = socket.send(&bytes);
            if control.is_recording() {
                requests.late_ns.saturating_record(now_ns - next_ns);
            }
            sent.push(Some(now_ns).filter(|_| control.is_recording()));
            next_ns = (next_ns + INTERVAL_NS).max(now_ns);
        }
        let Some(number) = wait_for_answer(socket, next_ns)? else {
            continue;
        };
        let sent_ns = sent.get_mut(number as usize).and_then(Option::take);
        if let Some(sent_ns) = sent_ns {
            let latency_ns = sched::monotonic_ns() - sent_ns;
            control.transactions.add(1);
            requests.transactions += 1;
            requests.latency_ns.saturating_record(latency_ns);
        }
    }
    // The latest pings can still be in flight: only older ones are lost.
    let longest_ns = requests.latency_ns.max();
    let now_ns = sched::monotonic_ns();
    let old = sent
        .iter()
        .flatten()
        .filter(|&&at_ns| at_ns + longest_ns < now_ns);
    requests.lost += old.count() as u64;
    Ok(requests)
}

/// Returns the number of an echo that arrives before `until_ns`.
fn wait_for_answer(socket: &UdpSocket, until_ns: u64) -> io::Result<Option<u64>> {
    let left_ns = until_ns.saturating_sub(sched::monotonic_ns());
    if left_ns == 0 {
        return Ok(None);
    }
    socket.set_read_timeout(Some(Duration::from_nanos(left_ns.max(1_000))))?;
    let mut bytes = [0; BYTES];
    match socket.recv(&mut bytes) {
        Ok(BYTES) => Ok(bytes.first_chunk().copied().map(u64::from_be_bytes)),
        Ok(_) => Ok(None),
        Err(error) if is_nothing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Echoes each ping.
fn respond(socket: &UdpSocket, control: &Control) -> anyhow::Result<()> {
    socket.set_read_timeout(Some(Control::CHECK_INTERVAL))?;
    let mut bytes = [0; BYTES];
    while !control.is_stopped() {
        match socket.recv_from(&mut bytes) {
            // If the socket would block, the echo is lost.
            Ok((length, from)) => drop(socket.send_to(&bytes[..length], from)),
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns `true` for a timeout, and if the peer does not listen yet.
fn is_nothing(error: &io::Error) -> bool {
    is_timeout(error) || error.kind() == io::ErrorKind::ConnectionRefused
}
