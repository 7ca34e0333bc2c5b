//! Bulk streams: one thread fills all sockets, one empties them.

use std::io::{self, Read, Write};
use std::net::TcpStream as StdStream;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::control::Control;

/// What one call writes or reads: large enough that calls cost little beside the bytes.
const CHUNK_BYTES: usize = 128 * 1024;

/// A receiver is woken for this much: waking it for each frame costs more than the frame does.
pub const READ_BYTES: i32 = 64 * 1024;

/// Events taken at once.
const EVENTS: usize = 256;

/// Writes into every socket as much as it takes.
pub fn send(sockets: Vec<StdStream>, control: &Control) -> anyhow::Result<()> {
    let chunk = vec![0x5a; CHUNK_BYTES];
    each_ready(sockets, Interest::WRITABLE, control, |socket| {
        socket.write(&chunk)
    })
}

/// Reads whatever arrives, and counts it.
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
    let mut sockets = register(&poll, sockets, interest)?;
    while !control.is_stopped() {
        match poll.poll(&mut events, Some(Control::CHECK_INTERVAL)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            polled => polled?,
        }
        for event in &events {
            let socket = &mut sockets[event.token().0];
            // Edge-triggered: what is left undone is not reported again.
            while !control.is_stopped() {
                match work(socket) {
                    Ok(bytes) if bytes > 0 => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // When the row is over, the other end goes away first or last.
                    _ if control.is_stopped() => break,
                    Ok(_) => anyhow::bail!("a bulk stream was closed by its other end"),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(())
}

fn register(
    poll: &Poll,
    sockets: Vec<StdStream>,
    interest: Interest,
) -> io::Result<Vec<TcpStream>> {
    let register_one = |(index, socket): (usize, StdStream)| {
        socket.set_nonblocking(true)?;
        let mut socket = TcpStream::from_std(socket);
        poll.registry()
            .register(&mut socket, Token(index), interest)?;
        Ok(socket)
    };
    sockets.into_iter().enumerate().map(register_one).collect()
}
