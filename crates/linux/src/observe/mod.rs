//! Looking at the kernel's own transmit queues and their byte limits.
//!
//! [`Sysfs`] reads a device with all its queues once; a [`QueueSampler`] reads one queue again and
//! again, for a microsecond each time. [`qdiscs`] and [`offload`] ask over netlink and ethtool for
//! what sysfs leaves out. Only [`write_tunable`] changes anything.
//!
//! A file may be missing (an older kernel), forbidden, or hold garbage, and a device may vanish
//! while it is read. What cannot be had is `None`, and [`Device::problems`] says why.

mod change;
mod device;
mod number;
mod offload;
mod qdiscs;
mod sampler;
mod sockets;
mod sysfs;

pub use change::{read_tunable, write_tunable};
pub use device::{ByteLimits, Device, NoLimitReason, Queue};
pub use offload::{Offload, offload};
pub use qdiscs::{Qdisc, qdiscs};
pub use sampler::{QueueSampler, Sample};
pub use sockets::{Protocol, Socket, addresses, sockets};
pub use sysfs::Sysfs;

/// What `limit_max` holds when nobody set it, in bytes.
pub const LIMIT_MAX_UNSET: u64 = 1_879_048_192;
