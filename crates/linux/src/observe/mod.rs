//! Reading the kernel's transmit queues and their byte limits.
//!
//! [`Sysfs`] reads a device with all its queues once; a [`QueueSampler`] samples one queue
//! repeatedly, in about a microsecond each time. [`qdiscs`] and [`offload`] read attributes that
//! sysfs lacks, over netlink and ethtool. Only [`write_tunable`] and
//! [`Sysfs::set_threaded_polling`] change anything.
//!
//! A file can be missing (an older kernel), forbidden or malformed, and a device can be removed
//! while it is read. Such a value is `None`, and [`Device::problems`] has the reason.

mod byte_limit;
mod device;
mod kind;
mod number;
mod offload;
mod qdiscs;
mod sockets;
mod sysfs;

pub use byte_limit::{QueueSampler, Sample, read_tunable, write_tunable};
pub use device::{ByteLimits, Device, NoLimitReason, Queue, excess_bytes};
pub use kind::DeviceKind;
pub use offload::{Offload, offload};
pub use qdiscs::{Qdisc, qdiscs};
pub use sockets::{Protocol, Socket, addresses, sockets};
pub use sysfs::Sysfs;

/// Value of `limit_max` if it was never set, in bytes.
pub const LIMIT_MAX_UNSET: u64 = 1_879_048_192;
