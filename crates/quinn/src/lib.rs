//! Holds a quinn endpoint back under a byte limit, so that quinn cuts its packets at the last
//! moment.
//!
//! quinn gives a datagram to the socket as soon as its congestion window allows it. What then waits
//! in the kernel is cut and encrypted, and a stream of high priority that has something to say now
//! waits behind all of it. Under a limit quinn waits instead of its packets, and what it sends next
//! is chosen when there is room for it.
//!
//! One changed line:
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use quinn::{Endpoint, EndpointConfig, TokioRuntime};
//! # fn main() -> std::io::Result<()> {
//! # let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
//! # let server = None;
//! let limited = taut_quinn::Limited::new(TokioRuntime);
//! let (config, runtime) = (EndpointConfig::default(), Arc::new(limited.clone()));
//! let endpoint = Endpoint::new(config, server, socket, runtime)?;
//! // Later: what it does.
//! println!("{:?}", limited.stats());
//! # Ok(())
//! # }
//! ```
//!
//! It wraps the *runtime*, so an endpoint that is [rebound](quinn::Endpoint::rebind) stays limited:
//! each socket gets a limit of its own.
//!
//! # Where completions come from
//! Zero-copy notifications first: the only source that sees a queue beyond a container's own link.
//! Where the kernel gives none, or they tell nothing, the level of the socket, and then transmit
//! stamps. [`Builder::source`] says otherwise. What they are worth on this path is in
//! [`Stats::socket`]; over loopback, where all completes at once, nothing is limited.
//!
//! # The window
//! Held back locally, quinn does not think itself limited by the application: its congestion window
//! grows without need, and may be sent at once, and lost, when the link fails. [`Utilised`] around
//! the congestion controller lets it grow only while it is used (RFC 9002, section 7.8):
//!
//! ```
//! # use std::sync::Arc;
//! let mut transport = quinn::TransportConfig::default();
//! let cubic = quinn::congestion::CubicConfig::default();
//! transport.congestion_controller_factory(Arc::new(taut_quinn::Utilised::new(cubic)));
//! ```
//!
//! # What it keeps
//! ECN, IPv6, source addresses, GSO (a send has at most what the path moves in 0.25 ms, so that
//! what is urgent waits for no more), path MTU discovery, several endpoints. Stateless replies
//! (retry, version negotiation, reset) go out even while there is no room: quinn does not try them
//! again. Connections that wait for room get it in turn.
//!
//! A bottleneck beyond this host is not seen, see [`taut_udp`].
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod builder;
mod limited;
mod poller;
mod settings;
mod shared_socket;
mod socket;
mod stats;
mod utilised;

pub use builder::Builder;
pub use limited::Limited;
pub use stats::Stats;
pub use taut_path::AnyLimit;
pub use taut_udp::Source;
pub use utilised::Utilised;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
