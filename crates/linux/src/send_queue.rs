//! How much of what a socket sent is still on the host.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// Memory of what `socket` has sent and what has not left the host, in bytes: for a datagram socket
/// more than the datagrams' own (2,304 for one of 1,472). 0 at once where nothing below holds packets
/// by their owner: loopback, a TAP, a veth without a shaper.
///
/// # Errors
/// If it is no socket.
pub fn send_queue_bytes(socket: impl AsFd) -> io::Result<u32> {
    let bytes = sys::socket::send_queue_bytes(socket.as_fd())?;
    Ok(u32::try_from(bytes).unwrap_or(0))
}
