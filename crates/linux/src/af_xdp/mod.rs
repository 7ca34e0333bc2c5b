//! Drives a device's queue over an AF_XDP socket, without libbpf or libxdp.
//!
//! Behaviour of the socket, measured on Linux 6.18:
//! - Sending needs no program on the device. In copy mode the device's own discipline is bypassed,
//!   and a completion is reported when the packet's memory is released.
//! - On a veth whose other end is a port of a bridge, or on a macvlan, completions come when the
//!   shaper of the lower device sends the packet. On a veth whose peer polls in its own thread,
//!   they come when the peer receives it.
//! - On a plain veth, and on a bridge itself, completions come within the send call, wherever the
//!   packet is then. [`CompletionStatus`](taut_path::driver::CompletionStatus) detects these early
//!   completions, and the queue then applies no limit.
//! - One send moves the whole ring since Linux 6.18, and 32 frames before. The remaining frames
//!   stay in the ring (`EAGAIN`), and the doorbell is repeated, by the next reap if necessary.
//! - A queue stays busy for about 10 ms after its socket is closed. A socket is closed when its
//!   rings are no longer mapped and none of its packets is in flight. If a shaper never releases a
//!   packet, the queue stays busy for all programs. So a ring that is restarted keeps its socket,
//!   and frames that the kernel still owns are used again only when it releases them.
//! - A frame that is in the ring when the device goes down is completed and lost.
//!
//! Zero-copy was **never run on hardware**: no device was available, and the rings were tested
//! against a mock.

mod bind;
mod config;
mod line;
#[cfg(all(test, not(loom)))]
mod mock;
mod open;
mod program;
mod receiver;
mod ring;
mod socket;
#[cfg(all(test, not(loom)))]
mod tests;
mod umem;

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::error::Context;

pub use config::{Redirect, XdpConfig, XdpMode};
pub use receiver::{AfXdpReceiver, ReceiveCounters};
pub use ring::AfXdp;
pub use umem::UmemFrames;

/// Raises the limit of locked memory (`RLIMIT_MEMLOCK`) permanently, because frames are locked
/// memory. Opening a socket does it too, if permitted. A program that drops its capabilities must
/// call this before.
///
/// # Errors
/// `PermissionDenied` without CAP_SYS_RESOURCE if the limit is not that high already. Then a socket
/// with many frames needs CAP_IPC_LOCK each time that it is opened.
pub fn raise_locked_memory() -> io::Result<()> {
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    setrlimit(Resource::Memlock, unlimited).context("setrlimit", "RLIMIT_MEMLOCK")
}
