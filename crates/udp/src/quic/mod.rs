//! The part of a limited QUIC endpoint that does not depend on the QUIC stack.
//!
//! An adapter for a stack wraps the stack's own socket for receiving, and sends through a
//! [`Socket`] from [`Sockets::limit`]. It spawns [`Socket::process_notifications`], and gives each
//! connection a [`Sender`], which waits for room in FIFO order. `taut-quinn` is such an adapter.
//!
//! Needs a context of tokio with I/O and time.

mod builder;
mod sender;
mod shared;
mod socket;
mod sockets;
mod stats;

pub use builder::EndpointBuilder;
pub use sender::Sender;
pub use socket::Socket;
pub use sockets::Sockets;
pub use stats::Stats;
