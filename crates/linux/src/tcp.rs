//! Statistics of a TCP connection, and a socket option.

use std::io;
use std::os::fd::AsFd;

use crate::error::Context;
use crate::sys;

/// Offsets in `struct tcp_info`, in words of 4 bytes. The kernel only ever appends to it.
const SND_MSS: usize = 4;
const DELIVERED: usize = 48;
const WORDS: usize = 49;

/// Some fields of `TCP_INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// Payload of a full segment, in bytes.
    pub mss_bytes: u32,
    /// Segments that arrived at the other end, including those out of order, each counted once,
    /// wrapping.
    pub delivered_segments: u32,
}

impl TcpInfo {
    /// Reads them from a connected socket. Kernels before 4.18 do not count delivered segments and
    /// return 0.
    ///
    /// # Errors
    /// The error of `getsockopt`.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let info: [u32; WORDS] = sys::socket::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO)
            .context("getsockopt TCP_INFO", "socket")?;
        Ok(Self {
            mss_bytes: info[SND_MSS],
            delivered_segments: info[DELIVERED],
        })
    }
}

/// Wakes the socket's reader only when at least `bytes` wait (`SO_RCVLOWAT`), or the window is
/// almost full. Acknowledgements are not affected.
///
/// # Errors
/// The error of `setsockopt`.
pub fn set_receive_low_water(socket: impl AsFd, bytes: i32) -> io::Result<()> {
    sys::socket::set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
        .context("setsockopt SO_RCVLOWAT", "socket")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn acknowledged_segments_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = TcpInfo::of(&client).unwrap();
        let mut byte = [0];
        for _ in 0..10 {
            client.write_all(&[1]).unwrap();
            server.read_exact(&mut byte).unwrap();
            // The response carries the acknowledgement.
            server.write_all(&byte).unwrap();
            client.read_exact(&mut byte).unwrap();
        }
        let after = TcpInfo::of(&client).unwrap();
        assert_eq!(
            after
                .delivered_segments
                .wrapping_sub(before.delivered_segments),
            10
        );
        assert!(
            (500..=65_535).contains(&after.mss_bytes),
            "{}",
            after.mss_bytes
        );
    }
}
