//! The part of a limited QUIC endpoint that does not depend on the QUIC stack.
//!
//! An adapter for a stack wraps the stack's own socket for receiving, and sends through a
//! [`Socket`] from [`SocketLimiter::socket`]. It gives each connection a [`Sender`], which waits
//! for room in FIFO order. `taut-quinn` is such an adapter. A program that sends the datagrams of
//! its stack itself uses [`SocketLimiter::async_udp`].
//!
//! Needs a tokio runtime with I/O and time.

mod sender;
mod socket;
mod socket_limiter;
mod stats;

pub use sender::Sender;
pub use socket::Socket;
pub use socket_limiter::SocketLimiter;
pub use stats::Stats;
