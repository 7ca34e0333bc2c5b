//! Sampling one queue.

use std::fs::File;
use std::io;

use super::number;
use super::sysfs::{Sysfs, explained};

/// A queue at one moment, in bytes. The two values are read one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// The limit.
    pub limit: u64,
    /// Queued and not yet reported complete.
    pub in_flight: u64,
}

/// Holds the two frequently changing files of a queue open. It keeps its device if that is renamed.
#[derive(Debug)]
pub struct QueueSampler {
    limit: File,
    in_flight: File,
}

impl QueueSampler {
    /// # Errors
    /// `NotFound` if there is no such device, queue or byte limit; the error of opening.
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

    /// Reads both values, in about a microsecond.
    ///
    /// # Errors
    /// `InvalidData` if a file does not contain a number; the kernel's error (`ENODEV`) after the
    /// device was removed.
    pub fn sample(&self) -> io::Result<Sample> {
        // Read the faster changing value first.
        let in_flight = number::of_file(&self.in_flight)?;
        let limit = number::limit_of_file(&self.limit)?;
        Ok(Sample { limit, in_flight })
    }
}
