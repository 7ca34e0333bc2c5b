//! Limits a quinn endpoint in bytes, so that quinn assembles its packets at the last moment.
//!
//! quinn passes a datagram to the socket as soon as its congestion window allows it. Datagrams that
//! wait in the kernel are already assembled and encrypted, and data of an urgent stream waits
//! behind all of them. With a limit, quinn waits instead of its packets, and selects the data of
//! the next packet when there is room for it.
//!
//! One changed line:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use quinn::{Endpoint, EndpointConfig};
//! # fn main() -> std::io::Result<()> {
//! # let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
//! # let server = None;
//! let limited = taut_quinn::Limited::new();
//! let (config, runtime) = (EndpointConfig::default(), Arc::new(limited.clone()));
//! let endpoint = Endpoint::new(config, server, socket, runtime)?;
//! // Later: its state.
//! println!("{:?}", limited.stats());
//! # Ok(())
//! # }
//! ```
//!
//! It replaces the *runtime*, so an endpoint that is [rebound](quinn::Endpoint::rebind) stays
//! limited: each socket gets a limit of its own.
//!
//! # Source of completions
//! Zero-copy notifications come first, because only they see a queue beyond a container's own link.
//! If the kernel rejects them, or they show no queue, the level of the socket is used, and then
//! transmit timestamps. [`SocketLimiter::source`] selects
//! another. [`Stats::socket`] has the quality of completions. Over loopback, all datagrams complete
//! immediately, so no limit applies.
//!
//! # The window
//! quinn does not count a local limit as limited by the application. Its congestion window would
//! grow without need, and if the link fails, all of it is sent at once and lost. [`Utilised`] wraps
//! the congestion controller and lets the window grow only while it is used (RFC 9002, section
//! 7.8):
//!
//! ```
//! # use std::sync::Arc;
//! let mut transport = quinn::TransportConfig::default();
//! let cubic = quinn::congestion::CubicConfig::default();
//! transport.congestion_controller_factory(Arc::new(taut_quinn::Utilised::new(cubic)));
//! ```
//!
//! # Supported features
//! ECN, IPv6, source addresses, GSO (a send is at most what the path carries in 0.25 ms,
//! so that an urgent packet does not wait longer), path MTU discovery, several endpoints. Stateless
//! replies (retry, version negotiation, reset) are sent even without room, because quinn does not
//! retry them. Connections that wait for room are served in FIFO order.
//!
//! A bottleneck beyond this host is not detected, see [`taut_udp`].
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod datagram;
mod limited;
mod socket;
mod utilised;

pub use limited::Limited;
pub use taut_udp::quic::{SocketLimiter, Stats};
pub use taut_udp::{AnyLimit, CompletionQuality, Source};
pub use utilised::Utilised;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
