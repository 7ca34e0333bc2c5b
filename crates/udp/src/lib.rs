//! A byte limit for a UDP socket: the kernel queues only the bytes that keep the path busy, and the
//! crate reports how each datagram ended.
//!
//! A socket blocks only when its send buffer is full. By then the discipline and the card's ring
//! below it are full as well, and an urgent datagram waits behind all of that. [`LimitedUdp`]
//! counts the bytes that the kernel has not sent yet, from the completions in the socket's error
//! queue. It has room only while they are below a limit, which a rule of [`taut_path`] computes.
//!
//! ```
//! use std::net::UdpSocket;
//! use taut_udp::{Datagram, LimitedUdp, Stop};
//!
//! # fn main() -> std::io::Result<()> {
//! # let peer = UdpSocket::bind("127.0.0.1:0")?;
//! # let mut urgent = Vec::from([[1; 100]; 3]);
//! # let mut bulk = Vec::from([[0; 1200]; 20]);
//! let socket = UdpSocket::bind("127.0.0.1:0")?;
//! socket.connect(peer.local_addr()?)?;
//! let socket = LimitedUdp::new(socket)?;
//! loop {
//!     // Urgent datagrams go first: none waits behind bulk that the kernel already queued.
//!     let next = match (urgent.last(), bulk.last()) {
//!         (Some(payload), _) => Datagram::new(payload),
//!         (None, Some(payload)) => Datagram::new(payload),
//!         (None, None) => break,
//!     };
//!     let sent = socket.try_send(&[next])?;
//!     match sent.stop {
//!         // Sent, or rejected by the kernel, such as dropped by a discipline: continue.
//!         None | Some(Stop::Refused(_)) if urgent.is_empty() => drop(bulk.pop()),
//!         None | Some(Stop::Refused(_)) => drop(urgent.pop()),
//!         Some(Stop::NoRoom | Stop::BufferFull) => drop(socket.wait(None)?),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Ways to use it
//! - **A thread**: [`send`](LimitedUdp::send) and [`reserve`](LimitedUdp::reserve) wait for room,
//!   and read completions while they wait.
//! - **A poll loop**: [`try_send`](LimitedUdp::try_send) returns [`Stop::NoRoom`],
//!   [`try_reserve`](LimitedUdp::try_reserve) a [`Permit`] or `None`. Call
//!   [`complete`](LimitedUdp::complete) at `POLLERR` of the
//!   [descriptor](LimitedUdp#impl-AsFd-for-LimitedUdp) and at
//!   [`next_wakeup`](LimitedUdp::next_wakeup).
//! - **tokio** (feature `tokio`): `async_udp::AsyncUdp::send` and `async_udp::AsyncUdp::reserve`.
//!   A spawned task reads completions.
//! - **A QUIC stack** (feature `tokio`): `quic` has the part that all adapters share.
//! - **Another runtime**: [`Place::poll_reserve`] with a waker, and `complete` as in a poll loop.
//!
//! A [`Permit`] reserves room before the caller selects the datagrams. Waiting senders are served
//! in FIFO order, [urgent](Priority::Urgent) ones first. [`room`](LimitedUdp::room) and
//! [`Place::poll_room`] are advisory: they reserve nothing. A thread that waits in
//! [`send`](LimitedUdp::send) has no place in that order.
//!
//! Receiving is not affected: use [`socket`](LimitedUdp::socket), or
//! [`recv_from`](LimitedUdp::recv_from), which skips errors of sent datagrams.
//!
//! # Quality of completions
//! [`Snapshot::completion_quality`] is detected from the datagrams that are sent, and can change:
//! see [`CompletionQuality`]. If everything completes immediately, no limit applies. The [`Source`]
//! selects where completions come from; only zero-copy sees a queue beyond a container's own link.
//!
//! # Failures
//! An [`Observer`] receives each [`SocketIssue`], and [`Snapshot::issues`] counts them.
//! - A discipline or device drops the datagram (`ENOBUFS`): [`Stop::Refused`],
//!   [`SocketIssue::NoBufferSpace`].
//! - The send buffer is full before the limit (`EAGAIN`): if its own datagrams can occupy half of
//!   the buffer, the socket doubles it, up to 16 MB or `net.core.wmem_max`. Otherwise:
//!   [`Stop::BufferFull`].
//! - The datagram is too long (`EMSGSIZE`): [`Stop::Refused`], [`SocketIssue::TooLarge`].
//! - A peer's port is closed, or a route is missing: [`SocketIssue::Unreachable`], with the peer.
//! - Completions are lost, because a discipline was flushed, the receive buffer was full, or
//!   another reader took them from the error queue: [`SocketIssue::CompletionsLost`] and
//!   [`Departure::lost`], after a time that the table below gives. The rule does not use them.
//! - Most completions are lost: [`SocketIssue::QualityChanged`]. The socket uses the next source
//!   from then on, [`Source::Polled`] after the last.
//! - The path stalls: [`SocketIssue::Stalled`]. The socket sends one datagram per threshold.
//! - Too much is in flight for the kernel's notifications of zero-copy sends
//!   (`net.core.optmem_max`, for all sends of a socket): [`Stop::BufferFull`],
//!   [`SocketIssue::BufferFull`].
//! - The kernel rejects zero-copy, or another holder of the socket turned it off:
//!   [`SocketIssue::ZeroCopyRefused`]. The socket uses the next source from then on, timestamps
//!   after the last.
//!
//! A missing completion counts as lost after:
//!
//! | source | no notification, and the socket is empty | a later datagram completed |
//! |---|---|---|
//! | timestamps | 20 ms | 50 ms |
//! | zero-copy | twice the stall threshold | 0.5 s |
//!
//! Completions share memory with received datagrams: a socket that receives without being read
//! loses timestamps.
//!
//! The kernel numbers zero-copy sends from the creation of the socket. If another user of the
//! socket sent with zero-copy before, the next id is unknown. The first datagram is then sent
//! alone, and its notification gives the id. Until then no clone may send with zero-copy. The other
//! sources have no such restriction. The level of [`Source::Polled`] is that of all holders
//! together.
//!
//! # Units
//! An *object* is one [`Datagram`] value. It is one *datagram* on the wire, or several with GSO. A
//! limit counts bytes, or datagrams (a limit in packets).
//!
//! Bytes are bytes on an Ethernet wire: payload and 42 bytes of headers for each datagram over
//! IPv4, 62 over IPv6. Times are nanoseconds of `CLOCK_MONOTONIC`.
#![deny(unsafe_code, missing_docs)]
#![cfg(target_os = "linux")]

mod account;
#[cfg(feature = "tokio")]
pub mod async_udp;
#[doc(hidden)]
pub mod bare;
mod blocking;
mod builder;
mod control;
mod datagram;
mod error;
mod error_queue_entry;
mod events;
mod permit;
mod place;
mod pool;
mod quality;
#[cfg(feature = "tokio")]
pub mod quic;
#[cfg(feature = "tokio")]
mod reader;
mod sent;
mod snapshot;
mod socket;
mod socket_options;
mod state;
#[allow(unsafe_code)]
mod sys;

pub use account::{Completed, Departure, StallTimer, Totals};
pub use blocking::ThreadWaker;
pub use builder::Builder;
pub use datagram::Datagram;
pub use events::{IssueCounters, Observer, SocketIssue};
pub use permit::Permit;
pub use place::Place;
pub use quality::{CompletionQuality, Source};
pub use sent::{Sent, Stop};
pub use snapshot::Snapshot;
pub use socket::LimitedUdp;
pub use taut_dql::tasks::{Priority, TooManyWaiters};
pub use taut_path::AnyLimit;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
