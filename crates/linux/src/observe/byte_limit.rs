//! The files of one queue's byte limit: reading, changing and sampling them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use taut_path::tunables::{Setting, Tunable};

use super::number;
use super::sysfs::Sysfs;
use crate::error::Context;

/// Reads a tunable of a queue, in its own unit: bytes, ms or stalls.
///
/// # Errors
/// `NotFound` without the device, queue, byte limit or file; `InvalidData` if its content
/// is not a number.
pub fn read_tunable(sysfs: &Sysfs, device: &str, queue: u32, tunable: Tunable) -> io::Result<u64> {
    let path = sysfs.limits_of(device, queue)?.join(tunable.name());
    let file = File::open(&path).context("open", &path)?;
    let value = match tunable {
        Tunable::Limit | Tunable::LimitMin | Tunable::LimitMax => number::limit_of_file(&file),
        _ => number::of_file(&file),
    };
    value.context("read", &path)
}

/// Writes a tunable of a queue. The kernel might round a time to the resolution of its clock.
///
/// # Errors
/// As [`read_tunable`]; `PermissionDenied` without CAP_NET_ADMIN; the error of the kernel if it
/// rejects the value.
pub fn write_tunable(sysfs: &Sysfs, device: &str, queue: u32, setting: Setting) -> io::Result<()> {
    let path = sysfs.limits_of(device, queue)?.join(setting.tunable.name());
    let file = OpenOptions::new().write(true).truncate(true).open(&path);
    let mut file = file.context("open", &path)?;
    // In one write, because the kernel parses each write as a whole number.
    file.write_all(format!("{}\n", setting.value).as_bytes())
        .context("write", &path)
}

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
    /// `NotFound` without the device, queue or byte limit; the error of opening.
    pub fn open(sysfs: &Sysfs, device: &str, queue: u32) -> io::Result<Self> {
        let directory = sysfs.limits_of(device, queue)?;
        let open = |name: &str| {
            let path = directory.join(name);
            File::open(&path).context("open", &path)
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
