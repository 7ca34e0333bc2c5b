//! What the kernel knows of a TCP connection.

use std::io;
use std::os::fd::AsFd;

use crate::error::failed;
use crate::sys;

/// Offsets within `struct tcp_info`, which the kernel only ever appends to.
const SND_MSS: usize = 16;
const DELIVERED: usize = 192;
const USED_BYTES: usize = 196;

/// Some fields of `TCP_INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// Payload of a full segment, in bytes.
    pub mss_bytes: u32,
    /// Segments that arrived at the other end, those out of order included and each counted once,
    /// wrapping.
    pub delivered_segments: u32,
}

impl TcpInfo {
    /// Asks about a connected socket.
    ///
    /// # Errors
    /// `Unsupported` on a kernel before 4.18, which does not count what is delivered; else what
    /// `getsockopt` fails with.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut info = [0; USED_BYTES];
        let written = sys::tcp_info::get(socket.as_fd(), &mut info)
            .map_err(|cause| failed("getsockopt TCP_INFO", "socket", cause))?;
        if written < USED_BYTES {
            let why = "getsockopt TCP_INFO: this kernel does not count delivered segments";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let field =
            |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
        Ok(Self {
            mss_bytes: field(SND_MSS),
            delivered_segments: field(DELIVERED),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_the_other_end_acknowledged_is_counted_in_segments() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = TcpInfo::of(&client).unwrap();
        let mut byte = [0];
        for _ in 0..10 {
            client.write_all(&[1]).unwrap();
            server.read_exact(&mut byte).unwrap();
            // The answer carries the acknowledgement.
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
