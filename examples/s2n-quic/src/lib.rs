//! Limits an s2n-quic endpoint in bytes, through an IO provider.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
//! let client = s2n_quic::Client::builder().with_io(taut_s2n_quic::Io::new(socket))?;
//! # Ok(())
//! # }
//! ```
//!
//! The endpoint checks the capacity before it assembles a packet. Datagrams have 1,200 bytes, and a
//! send has as many of them as the limit allows. Received datagrams have no ECN marks and are not
//! coalesced.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod clock;
mod io;
mod rx;
mod tx;

pub use io::Io;
