//! Limits a noq endpoint in bytes, so that noq assembles its packets at the last moment.
//!
//! One changed line: the endpoint gets [`Limited`] as its runtime.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! # let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
//! let limited = taut_noq::Limited::new();
//! let runtime = std::sync::Arc::new(limited.clone());
//! let endpoint = noq::Endpoint::new(noq::EndpointConfig::default(), None, socket, runtime)?;
//! println!("{:?}", limited.stats());
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

// The runtimes of both crates have the same trait.
extern crate noq as quinn;

#[path = "../../../crates/quinn/src/datagram.rs"]
mod datagram;
#[path = "../../../crates/quinn/src/limited.rs"]
mod limited;
mod socket;
mod utilised;

pub use limited::Limited;
pub use taut_udp::quic::{SocketLimiter, Stats};
pub use utilised::Utilised;
