//! A device and its queues, read once.

use std::fs;
use std::io;
use std::path::Path;

use super::kind::{self, DeviceKind};
use super::number;

/// A device in sysfs at one moment. Each value is consistent, the set is not atomic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The driver of the hardware; `None` for a device without hardware.
    pub driver: Option<String>,
    /// Its kind.
    pub kind: DeviceKind,
    /// The devices that it sends through, if it has no ring of its own.
    pub lower: Vec<String>,
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
    /// Queued and not yet reported complete, in bytes; 2^31 or more if the driver completed more
    /// than it queued ([`excess_bytes`]).
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

/// Returns the bytes that a driver completed without having queued them; `None` if there are none.
///
/// The kernel's difference has 32 bits, so a negative one reads as 2^31 or more.
pub fn excess_bytes(in_flight: u64) -> Option<u64> {
    let difference = u32::try_from(in_flight).ok()?.cast_signed();
    (difference < 0).then(|| difference.unsigned_abs().into())
}

/// Why a device has no effective byte limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLimitReason {
    /// The device has no transmit queue.
    NoQueue,
    /// The kernel has no limit for it, because it is a virtual device that passes packets on
    /// immediately, to the devices `over`.
    Virtual {
        /// Names of the devices below; empty if there are none.
        over: Vec<String>,
    },
    /// Wi-Fi: the kernel limits airtime.
    Wifi,
    /// A port of a switch has no ring: its packets are in the ring of the conduit.
    SwitchPort {
        /// Names of the conduits; empty if they are not known.
        conduits: Vec<String>,
    },
    /// The kernel has no limit for the hardware: it was built without BQL, or the driver does its
    /// own locking and bypasses the kernel's queue.
    Hardware,
    /// `limit_max` is set to 0 on every queue.
    MaxIsZero,
    /// There is a limit and packets were sent, but the limit never changed: the driver does not
    /// report completions.
    NeverReports,
    /// There is a limit, but no packet was sent yet.
    Idle,
}

impl NoLimitReason {
    /// Returns the reason, as a predicate.
    pub fn text(&self) -> String {
        let text = match self {
            Self::NoQueue => "has no transmit queue",
            Self::Virtual { over } if !over.is_empty() => {
                let over = over.join(", ");
                return format!("virtual device: no ring of its own; it sends through {over}");
            }
            Self::Virtual { .. } => "virtual device: no ring of its own, so no byte limit",
            Self::Wifi => "Wi-Fi: the kernel limits airtime, not bytes",
            Self::SwitchPort { conduits } if !conduits.is_empty() => {
                let conduits = conduits.join(", ");
                return format!("switch port: no ring of its own; see its conduit {conduits}");
            }
            Self::SwitchPort { .. } => {
                "switch port: no ring of its own; see its conduit (ip -d link shows it)"
            }
            Self::Hardware => {
                "no byte limit: kernel built without (CONFIG_BQL), or a driver that \
                 bypasses the kernel's queue"
            }
            Self::MaxIsZero => "limit_max is set to 0, which keeps the limit at 0",
            Self::NeverReports => {
                "driver never reports: the limit stayed 0 while packets were sent"
            }
            Self::Idle => "limit 0: nothing was sent yet",
        };
        text.to_owned()
    }

    /// Returns `true` if the device has no ring in which a byte limit could apply.
    pub fn is_structural(&self) -> bool {
        matches!(
            self,
            Self::NoQueue | Self::Virtual { .. } | Self::Wifi | Self::SwitchPort { .. }
        )
    }
}

impl Device {
    /// Returns why none of its queues has an effective limit; `None` if one has.
    pub fn no_limit_reason(&self) -> Option<NoLimitReason> {
        if self.queues.is_empty() {
            return Some(NoLimitReason::NoQueue);
        }
        let limits: Vec<&ByteLimits> = self
            .queues
            .iter()
            .filter_map(|it| it.limits.as_ref())
            .collect();
        // An unreadable value allows no conclusion.
        let all = |holds: fn(&ByteLimits) -> bool| limits.iter().all(|it| holds(it));
        // Limits of every device are shown before Linux 6.9, also where they have no effect.
        let is_unused = all(|it| it.limit == Some(0) && it.in_flight == Some(0));
        if is_unused {
            let lower = self.lower.clone();
            match self.kind {
                DeviceKind::Virtual => return Some(NoLimitReason::Virtual { over: lower }),
                DeviceKind::Wifi => return Some(NoLimitReason::Wifi),
                DeviceKind::SwitchPort => {
                    return Some(NoLimitReason::SwitchPort { conduits: lower });
                }
                DeviceKind::Hardware if limits.is_empty() => return Some(NoLimitReason::Hardware),
                DeviceKind::Hardware => {}
            }
        }
        if all(|it| it.limit == Some(0) && it.limit_max == Some(0)) {
            return Some(NoLimitReason::MaxIsZero);
        }
        match self.tx_packets {
            _ if !is_unused => None,
            None | Some(0) => Some(NoLimitReason::Idle),
            // A single packet is enough for the kernel's rule to leave 0.
            Some(_) => Some(NoLimitReason::NeverReports),
        }
    }
}

pub(super) fn read(directory: &Path, name: &str) -> io::Result<Device> {
    let mut problems = Vec::new();
    let optional = |file: &str| number::of_path(&directory.join(file)).ok();
    let flags = number::text(&directory.join("flags")).unwrap_or_default();
    let kind = DeviceKind::of(directory);
    let queues = queues(directory, &mut problems);
    let device = Device {
        name: name.to_owned(),
        driver: driver(directory),
        kind,
        lower: kind::lower(directory, kind),
        is_up: is_up(&flags),
        // In Mbit/s; -1 or an error where there is none.
        speed_bits_per_s: optional("speed").and_then(speed_bits_per_s),
        mtu_bytes: optional("mtu"),
        tx_packets: optional("statistics/tx_packets"),
        tx_bytes: optional("statistics/tx_bytes"),
        queues,
        problems,
    };
    // The device might have been removed while it was read.
    fs::metadata(directory)?;
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

fn queues(directory: &Path, problems: &mut Vec<String>) -> Vec<Queue> {
    let path = directory.join("queues");
    let names = kind::names(&path).unwrap_or_else(|error| {
        note(problems, "queues", &error);
        Vec::new()
    });
    let number = |name: &String| number::parse(name.strip_prefix("tx-")?.as_bytes());
    let mut numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| u32::try_from(number(name)?).ok())
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

fn limits(directory: &Path, problems: &mut Vec<String>) -> Option<ByteLimits> {
    if !directory.is_dir() {
        return None;
    }
    type Read = fn(&Path) -> io::Result<u64>;
    let mut required = |read: Read, file: &'static str| {
        let read = read(&directory.join(file));
        read.map_err(|error| note(problems, file, &error)).ok()
    };
    let mut limits = ByteLimits {
        limit: required(number::limit_of_path, "limit"),
        in_flight: required(number::of_path_32, "inflight"),
        limit_min: required(number::limit_of_path, "limit_min"),
        limit_max: required(number::limit_of_path, "limit_max"),
        hold_time_ms: required(number::of_path, "hold_time"),
        ..ByteLimits::default()
    };
    let mut since_6_9 = |file: &'static str| match number::of_path(&directory.join(file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => read.map_err(|error| note(problems, file, &error)).ok(),
    };
    limits.stall_threshold_ms = since_6_9("stall_thrs");
    limits.stalls = since_6_9("stall_cnt");
    limits.longest_stall_ms = since_6_9("stall_max");
    Some(limits)
}

fn note(problems: &mut Vec<String>, file: &str, error: &io::Error) {
    let problem = format!("cannot read {file}: {error}");
    // Every queue would add the same entry.
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: DeviceKind, limit: Option<u64>, tx_packets: u64) -> Device {
        let limits = |limit| ByteLimits {
            limit: Some(limit),
            in_flight: Some(0),
            ..ByteLimits::default()
        };
        Device {
            kind,
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
        use DeviceKind::{Hardware, SwitchPort, Virtual, Wifi};
        let over = || NoLimitReason::Virtual { over: Vec::new() };
        let port = NoLimitReason::SwitchPort {
            conduits: Vec::new(),
        };
        let mut max_zero = device(Hardware, Some(0), 9);
        if let Some(limits) = &mut max_zero.queues[0].limits {
            (limits.limit_max, limits.in_flight) = (Some(0), Some(1514));
        }
        for (device, why) in [
            (Device::default(), Some(NoLimitReason::NoQueue)),
            (max_zero, Some(NoLimitReason::MaxIsZero)),
            (device(Virtual, None, 9), Some(over())),
            (device(Virtual, Some(0), 9), Some(over())),
            (device(Virtual, Some(66), 9), None),
            (device(Wifi, None, 9), Some(NoLimitReason::Wifi)),
            (device(SwitchPort, Some(0), 9), Some(port)),
            (device(Hardware, None, 9), Some(NoLimitReason::Hardware)),
            (device(Hardware, Some(0), 0), Some(NoLimitReason::Idle)),
            (
                device(Hardware, Some(0), 1),
                Some(NoLimitReason::NeverReports),
            ),
            (device(Hardware, Some(66), 1), None),
        ] {
            assert_eq!(device.no_limit_reason(), why, "{device:?}");
        }
    }

    #[test]
    fn negative_bytes_in_flight_are_an_excess() {
        assert_eq!(excess_bytes(4_294_965_782), Some(1514));
        assert_eq!(excess_bytes(1 << 31), Some(1 << 31));
        for in_flight in [0, 1514, (1 << 31) - 1, 1 << 32, u64::MAX] {
            assert_eq!(excess_bytes(in_flight), None, "{in_flight}");
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
