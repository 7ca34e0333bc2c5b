//! Bulk streams: one thread writes to all sockets, one reads from them.

use std::io::{self, Read, Write};
use std::net::TcpStream as StdStream;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::control::Control;

/// Bytes of one call: large enough that the cost of the call is small.
const CHUNK_BYTES: usize = 128 * 1024;

/// Bytes for which a receiver is woken: a wake-up for each frame costs more than the frame.
pub const READ_BYTES: i32 = 64 * 1024;

/// Events per poll.
const EVENTS: usize = 256;

/// Writes to every socket until it would block.
pub fn send(sockets: Vec<StdStream>, control: &Control) -> anyhow::Result<()> {
    let chunk = vec![0x5a; CHUNK_BYTES];
    each_ready(sockets, Interest::WRITABLE, control, |socket| {
        socket.write(&chunk)
    })
}

/// Reads and counts all received bytes.
pub fn receive(sockets: Vec<StdStream>, control: &Control) -> anyhow::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    each_ready(sockets, Interest::READABLE, control, |socket| {
        let bytes = socket.read(&mut chunk)?;
        control.received_bytes.add(bytes as u64);
        Ok(bytes)
    })
}

/// Calls `work` on each socket that is ready, until it would block or the row is over.
fn each_ready(
    sockets: Vec<StdStream>,
    interest: Interest,
    control: &Control,
    mut work: impl FnMut(&mut TcpStream) -> io::Result<usize>,
) -> anyhow::Result<()> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(EVENTS);
    let mut registered = Vec::new();
    for (index, socket) in sockets.into_iter().enumerate() {
        socket.set_nonblocking(true)?;
        let mut socket = TcpStream::from_std(socket);
        let registry = poll.registry();
        registry.register(&mut socket, Token(index), interest)?;
        registered.push(socket);
    }
    while !control.is_stopped() {
        match poll.poll(&mut events, Some(Control::CHECK_INTERVAL)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        for event in &events {
            let socket = &mut registered[event.token().0];
            // Edge-triggered: remaining data is not reported again.
            while !control.is_stopped() {
                match work(socket) {
                    Ok(bytes) if bytes > 0 => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // At the end of the row, either end can close first.
                    _ if control.is_stopped() => break,
                    Ok(_) => anyhow::bail!("a bulk stream was closed by its peer"),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(())
}
