//! One queue, read again and again.

use std::fs::File;
use std::io;

use super::number;
use super::sysfs::{Sysfs, explained};

/// A queue at one moment, in bytes. The two are read one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// How much may be in flight.
    pub limit: u64,
    /// Queued and not yet reported complete.
    pub in_flight: u64,
}

/// Keeps the two files of a queue open that change all the time. A device that is renamed stays the
/// same one.
#[derive(Debug)]
pub struct QueueSampler {
    limit: File,
    in_flight: File,
}

impl QueueSampler {
    /// # Errors
    /// `NotFound` if there is no such device, queue or byte limit; what opening fails with.
    pub fn open(sysfs: &Sysfs, device: &str, queue: u32) -> io::Result<Self> {
        let directory = sysfs.limits_of(device, queue)?;
        let open = |name: &str| {
            let path = directory.join(name);
            File::open(&path).map_err(|cause| explained("open", &path, cause))
        };
        Ok(Self {
            limit: open("limit")?,
            in_flight: open("inflight")?,
        })
    }

    /// Reads both: about a microsecond.
    ///
    /// # Errors
    /// `InvalidData` for what is no number; the kernel's own (`ENODEV`) once the device is gone.
    pub fn sample(&self) -> io::Result<Sample> {
        // First what changes fast.
        let in_flight = number::of_file(&self.in_flight)?;
        let limit = number::of_file(&self.limit)?;
        Ok(Sample { limit, in_flight })
    }
}
