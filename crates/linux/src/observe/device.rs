//! A device and its queues, read once.

use std::fs;
use std::io;
use std::path::Path;

use super::number;

/// Maximum number of directory entries read, devices or queues: far more than any machine has.
pub(super) const ENTRIES: usize = 16_384;

/// A device in sysfs at one moment. Each value is consistent, the set is not atomic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The driver of the hardware; `None` for a device without hardware.
    pub driver: Option<String>,
    /// The device has no hardware: veth, TAP, bridge, loopback.
    pub is_virtual: bool,
    /// The device is up, by its flags.
    pub is_up: bool,
    /// Speed of the link in bit/s; `None` without a link, or if the driver does not report it.
    pub speed_bits_per_s: Option<u64>,
    /// The MTU in bytes, without the Ethernet header.
    pub mtu_bytes: Option<u64>,
    /// Packets sent since the device was created.
    pub tx_packets: Option<u64>,
    /// Bytes sent since the device was created.
    pub tx_bytes: Option<u64>,
    /// Its transmit queues, by number.
    pub queues: Vec<Queue>,
    /// Files that could not be read, with the reason; at most one entry per file name.
    pub problems: Vec<String>,
}

/// One transmit queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queue {
    /// Its number.
    pub number: u32,
    /// Its byte limit, if it has one.
    pub limits: Option<ByteLimits>,
    /// Transmit timeouts detected by the watchdog.
    pub tx_timeouts: Option<u64>,
}

/// The files of `byte_queue_limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByteLimits {
    /// The limit in bytes.
    pub limit: Option<u64>,
    /// Queued and not yet reported complete, in bytes.
    pub in_flight: Option<u64>,
    /// Minimum limit, in bytes.
    pub limit_min: Option<u64>,
    /// Maximum limit, in bytes.
    pub limit_max: Option<u64>,
    /// How long slack is observed before the limit is decreased, in ms.
    pub hold_time_ms: Option<u64>,
    /// Stall threshold in ms; 0: off. Since Linux 6.9.
    pub stall_threshold_ms: Option<u64>,
    /// Stalls so far. Since Linux 6.9.
    pub stalls: Option<u64>,
    /// Longest stall, in ms. Since Linux 6.9.
    pub longest_stall_ms: Option<u64>,
}

/// Why a device has no effective byte limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLimitReason {
    /// The device has no transmit queue.
    NoQueue,
    /// The kernel has no limit for it, because it is a virtual device that passes packets on
    /// immediately.
    Virtual,
    /// The kernel has no limit for the hardware: it was built without BQL, or the driver does its
    /// own locking and bypasses the kernel's queue.
    Hardware,
    /// There is a limit and packets were sent, but the limit never changed: the driver does not
    /// report completions.
    NeverReports,
    /// There is a limit, but no packet was sent yet.
    Idle,
}

impl NoLimitReason {
    /// Returns the reason, as a predicate.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoQueue => "has no transmit queue",
            Self::Virtual => "virtual device: no ring below it, so no byte limit",
            Self::Hardware => {
                "no byte limit: kernel built without (CONFIG_BQL), or a driver that \
                 bypasses the kernel's queue"
            }
            Self::NeverReports => {
                "driver never reports: the limit stayed 0 while packets were sent"
            }
            Self::Idle => "limit 0: nothing was sent yet",
        }
    }
}

impl Device {
    /// Returns why none of its queues has an effective limit; `None` if one has.
    pub fn no_limit_reason(&self) -> Option<NoLimitReason> {
        if self.queues.is_empty() {
            return Some(NoLimitReason::NoQueue);
        }
        let mut limits = self.queues.iter().filter_map(|queue| queue.limits.as_ref());
        match limits.clone().next() {
            None if self.is_virtual => Some(NoLimitReason::Virtual),
            None => Some(NoLimitReason::Hardware),
            // An unreadable limit allows no conclusion.
            Some(_) if limits.any(|it| it.limit != Some(0) || it.in_flight != Some(0)) => None,
            Some(_) if self.tx_packets.is_none_or(|packets| packets == 0) => {
                Some(NoLimitReason::Idle)
            }
            // A single packet is enough for the kernel's rule to leave 0.
            Some(_) => Some(NoLimitReason::NeverReports),
        }
    }
}

pub(super) fn read(directory: &Path, name: &str) -> io::Result<Device> {
    let mut problems = Problems(Vec::new());
    let optional = |file: &str| number::of_path(&directory.join(file)).ok();
    let flags = number::text(&directory.join("flags")).unwrap_or_default();
    let mut device = Device {
        name: name.to_owned(),
        driver: driver(directory),
        is_virtual: !directory.join("device").exists(),
        is_up: is_up(&flags),
        // In Mbit/s; -1 or an error where there is none.
        speed_bits_per_s: optional("speed").and_then(speed_bits_per_s),
        mtu_bytes: optional("mtu"),
        tx_packets: optional("statistics/tx_packets"),
        tx_bytes: optional("statistics/tx_bytes"),
        queues: queues(directory, &mut problems),
        problems: Vec::new(),
    };
    // The device might have been removed while it was read.
    fs::metadata(directory)?;
    device.problems = problems.0;
    Ok(device)
}

fn driver(directory: &Path) -> Option<String> {
    let link = fs::read_link(directory.join("device/driver")).ok()?;
    link.file_name()?.to_str().map(str::to_owned)
}

fn is_up(flags: &str) -> bool {
    let digits = flags.strip_prefix("0x").unwrap_or(flags);
    u32::from_str_radix(digits, 16).is_ok_and(|flags| flags & libc::IFF_UP as u32 != 0)
}

/// Some drivers report all ones for "unknown".
fn speed_bits_per_s(mbit_per_s: u64) -> Option<u64> {
    let known = mbit_per_s > 0 && mbit_per_s < u64::from(u32::MAX);
    known.then(|| mbit_per_s * 1_000_000)
}

fn queues(directory: &Path, problems: &mut Problems) -> Vec<Queue> {
    let path = directory.join("queues");
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) => {
            problems.note("queues", &error);
            return Vec::new();
        }
    };
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name();
        number::parse(name.to_str()?.strip_prefix("tx-")?.as_bytes())
    };
    let mut numbers: Vec<u32> = entries
        .take(ENTRIES)
        .filter_map(|entry| u32::try_from(number(entry.ok()?)?).ok())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let queue = |number| {
        let directory = path.join(format!("tx-{number}"));
        Queue {
            number,
            limits: limits(&directory.join("byte_queue_limits"), problems),
            tx_timeouts: number::of_path(&directory.join("tx_timeout")).ok(),
        }
    };
    numbers.into_iter().map(queue).collect()
}

fn limits(directory: &Path, problems: &mut Problems) -> Option<ByteLimits> {
    if !directory.is_dir() {
        return None;
    }
    let mut required = |file: &'static str| {
        let read = number::of_path(&directory.join(file));
        read.map_err(|error| problems.note(file, &error)).ok()
    };
    let mut limits = ByteLimits {
        limit: required("limit"),
        in_flight: required("inflight"),
        limit_min: required("limit_min"),
        limit_max: required("limit_max"),
        hold_time_ms: required("hold_time"),
        ..ByteLimits::default()
    };
    let mut since_6_9 = |file: &'static str| match number::of_path(&directory.join(file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => read.map_err(|error| problems.note(file, &error)).ok(),
    };
    limits.stall_threshold_ms = since_6_9("stall_thrs");
    limits.stalls = since_6_9("stall_cnt");
    limits.longest_stall_ms = since_6_9("stall_max");
    Some(limits)
}

struct Problems(Vec<String>);

impl Problems {
    fn note(&mut self, file: &str, error: &io::Error) {
        let problem = format!("cannot read {file}: {error}");
        // Every queue would add the same entry.
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(is_virtual: bool, limit: Option<u64>, tx_packets: u64) -> Device {
        let limits = |limit| ByteLimits {
            limit: Some(limit),
            in_flight: Some(0),
            ..ByteLimits::default()
        };
        Device {
            is_virtual,
            tx_packets: Some(tx_packets),
            queues: vec![Queue {
                limits: limit.map(limits),
                ..Queue::default()
            }],
            ..Device::default()
        }
    }

    #[test]
    fn reasons_for_no_effective_limit() {
        for (device, why) in [
            (Device::default(), Some(NoLimitReason::NoQueue)),
            (device(true, None, 9), Some(NoLimitReason::Virtual)),
            (device(false, None, 9), Some(NoLimitReason::Hardware)),
            (device(false, Some(0), 0), Some(NoLimitReason::Idle)),
            (device(false, Some(0), 1), Some(NoLimitReason::NeverReports)),
            (device(false, Some(66), 1), None),
        ] {
            assert_eq!(device.no_limit_reason(), why, "{device:?}");
        }
    }

    #[test]
    fn unknown_speeds_are_none() {
        assert_eq!(speed_bits_per_s(1000), Some(1_000_000_000));
        assert_eq!(speed_bits_per_s(0), None);
        assert_eq!(speed_bits_per_s(u64::from(u32::MAX)), None);
        assert_eq!(speed_bits_per_s(u64::MAX), None);
    }

    #[test]
    fn flags_are_hexadecimal() {
        assert!(is_up("0x1003"));
        for down in ["0x1002", "", "0x", "zzz", "0xfffffffff"] {
            assert!(!is_up(down), "{down}");
        }
    }
}
