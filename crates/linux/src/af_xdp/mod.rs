//! A device's queue driven over an AF_XDP socket, without libbpf or libxdp.
//!
//! What the socket does, found by trying on Linux 6.18:
//! - Sending needs no program on the device. In copy mode the device's own discipline is bypassed,
//!   and a completion comes when the packet's memory is let go of: on a veth whose other end is a
//!   port of a bridge, or on a macvlan, when the shaper of the device behind sends it; on a veth
//!   whose peer polls in a thread of its own when the peer took it. On a plain veth, and on a
//!   bridge itself, it comes within the send call, wherever the packet is then:
//!   [`CompletionStatus`](taut_path::driver::CompletionStatus) finds that out from the packets, and
//!   the queue holds to no limit while it is so.
//! - One send moves 32 frames, or what [`XdpConfig::budget_packets`] says; the rest is `EAGAIN`,
//!   stays in the ring, and the doorbell is rung again, by the completion half if need be.
//! - A queue stays busy for some 10 ms after its socket is closed, and a socket is closed when
//!   nobody has its rings mapped any more, and no packet of it is on its way: with one that waits
//!   in a shaper for ever the queue is busy for ever, also for other programs. So a ring that is
//!   begun anew then keeps its socket, and frames that the kernel still has are used again only
//!   when it lets go of them.
//! - A frame that is in the ring when the device goes down is completed and gone.
//!
//! Zero-copy was **never run on hardware**: no device here has it, and the rings were tested
//! against a mock of one.

mod bind;
mod completions;
mod config;
mod line;
#[cfg(all(test, not(loom)))]
mod mock;
mod open;
mod opener;
mod program;
mod receiver;
mod socket;
#[cfg(all(test, not(loom)))]
mod tests;
mod tx;
mod umem;

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::error::naming;

pub use completions::AfXdpCompletions;
pub use config::{Redirect, XdpConfig, XdpMode};
pub use line::XdpCounters;
pub use open::{AfXdp, Halves};
pub use receiver::{AfXdpReceiver, ReceiveCounters};
pub use tx::AfXdpTx;
pub use umem::{ChecksumRefused, UmemFrames};

/// Lets the process lock as much memory as it wants, for good: frames are locked memory. Opening
/// does it too, as far as it may; a program that gives up its capabilities does it before.
///
/// # Errors
/// `PermissionDenied` without CAP_SYS_RESOURCE, where the limit is not that high already. Then
/// CAP_IPC_LOCK is what a socket with many frames needs each time that it is opened.
pub fn raise_locked_memory() -> io::Result<()> {
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    setrlimit(Resource::Memlock, unlimited).map_err(naming("setrlimit", "RLIMIT_MEMLOCK"))
}

/// The Ethernet header, the least that is a frame.
const ETHERNET_HEADER_BYTES: u32 = 14;
