//! Looking at the kernel's own transmit queues and their byte limits.
//!
//! [`Sysfs`] reads a device with all its queues once; a [`QueueSampler`] reads one queue again and
//! again, for a microsecond each time. Nothing here changes anything.
//!
//! A file may be missing (an older kernel), forbidden, or hold garbage, and a device may vanish while
//! it is read. What cannot be had is `None`, and [`Device::problems`] says why.

mod device;
mod number;
mod sampler;
mod sysfs;

pub use device::{ByteLimits, Device, Queue, WhyNone};
pub use sampler::{QueueSampler, Sample};
pub use sysfs::Sysfs;

/// What `limit_max` holds when nobody set it, in bytes.
pub const LIMIT_MAX_UNSET: u64 = 1_879_048_192;
