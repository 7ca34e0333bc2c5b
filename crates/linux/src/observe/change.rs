//! Changing a queue's byte limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use taut_path::tunables::{Setting, Tunable};

use super::number;
use super::sysfs::{Sysfs, explained};

/// Reads a tunable of a queue, in its own unit: bytes, ms or stalls.
///
/// # Errors
/// `NotFound` if there is no such device, queue, byte limit or file; `InvalidData` if its content
/// is not a number.
pub fn read_tunable(sysfs: &Sysfs, device: &str, queue: u32, tunable: Tunable) -> io::Result<u64> {
    let path = sysfs.limits_of(device, queue)?.join(tunable.name());
    let file = File::open(&path).map_err(|cause| explained("open", &path, cause))?;
    let value = match tunable {
        Tunable::Limit | Tunable::LimitMin | Tunable::LimitMax => number::limit_of_file(&file),
        _ => number::of_file(&file),
    };
    value.map_err(|cause| explained("read", &path, cause))
}

/// Writes a tunable of a queue. The kernel might round a time to the resolution of its clock.
///
/// # Errors
/// As [`read_tunable`]; `PermissionDenied` without CAP_NET_ADMIN; the error of the kernel if it
/// rejects the value.
pub fn write_tunable(sysfs: &Sysfs, device: &str, queue: u32, setting: Setting) -> io::Result<()> {
    let path = sysfs
        .limits_of(device, queue)?
        .join(setting.tunable().name());
    let file = OpenOptions::new().write(true).truncate(true).open(&path);
    let mut file = file.map_err(|cause| explained("open", &path, cause))?;
    // In one write, because the kernel parses each write as a whole number.
    file.write_all(format!("{}\n", setting.value()).as_bytes())
        .map_err(|cause| explained("write", &path, cause))
}
