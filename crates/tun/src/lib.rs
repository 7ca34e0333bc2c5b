//! A queueing discipline and a byte limit for programs between a TUN device and a UDP socket, such
//! as VPNs.
//!
//! Such a program reads packets as fast as the TUN delivers them. They then wait in its own queues
//! and below its socket, where nothing can reorder, mark or drop them. With a [`Tunnel`], they wait
//! in a discipline (`fq_codel` by default). [`Tunnel::next_batch`] releases packets only while the
//! bytes released and not yet departed from the kernel are below a limit. These bytes can be in the
//! program's encryption and queues, or in the kernel's queue below the socket.
//!
//! # Parts
//! - [`Tunnel`]: the queue. [`push`](Tunnel::push) the packets of the TUN, and send the packets
//!   that [`next_batch`](Tunnel::next_batch) releases.
//! - `TunSocket` (feature `tokio`) and [`BlockingTunSocket`]: send datagrams, and report their
//!   departure. The sockets do not limit: the tunnel does, one step earlier.
//! - A tunnel has one *path*, or several with a limit each, for peers behind different links.
//!
//! # Features
//! `tokio`: `Tunnel::socket`, for tasks. Threads need no feature.
//!
//! # Matching
//! The program's buffers are its own, so the tunnel matches datagrams to released packets by order
//! and length. A released packet that the program never sends, because it has no session or no
//! route, is a *residual*. Residuals count against the limit until they expire
//! ([`PathCounters::expired_packets`]). If the program holds packets for 200 ms, the path pauses
//! until it holds none ([`PathCounters::pauses`]). With residuals, that takes up to 8 ms. A
//! residual can be sent after it expired ([`PathCounters::late_residuals`]).
#![deny(unsafe_code, missing_docs)]
#![cfg(target_os = "linux")]

mod blocking;
mod builder;
mod core;
mod gate;
#[cfg(test)]
mod gate_tests;
mod gates;
mod link;
mod publish;
mod queue;
mod released;
mod snapshot;
#[cfg(feature = "tokio")]
mod socket;
mod tunnel;

pub use blocking::BlockingTunSocket;
pub use builder::Builder;
pub use link::SendReport;
pub use snapshot::{KernelStall, PathCounters, QueueCounters, Snapshot};
#[cfg(feature = "tokio")]
pub use socket::TunSocket;
pub use tunnel::Tunnel;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
