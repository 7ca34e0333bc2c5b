//! The control of a run: its policy, its end and its events.

use std::io;

use crate::direction::Direction;
use crate::source::Source;

/// How a relay handles failing links.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Drop the backlog when the link goes down or the run ends, because its packets would be
    /// outdated. Otherwise they are kept until they can be sent.
    pub drops_waiting: bool,
    /// How long a device can be removed, or a ring fail to open, before the run fails, in ns.
    /// `None`: without end; then no stall ends the run either.
    pub link_timeout_ns: Option<u64>,
    /// How long the end of a run waits for packets in the devices, in ns.
    pub drain_ns: u64,
    /// Reopen a ring when the MTU of its device changes.
    pub follows_mtu: bool,
}

/// An event of a device.
#[derive(Debug)]
pub enum Event<'a> {
    /// The link is up, and its ring is open.
    Up,
    Down,
    /// Deleted, or moved to another network namespace.
    Removed {
        is_moved: bool,
    },
    /// The device was renamed; this was its name before.
    Renamed(String),
    /// Recreated, or replaced by another of its name; the ring is open.
    Returned,
    Mtu(u32),
    /// Stall: the oldest of `packets` in the device is too old. The ring is reopened.
    Stalled {
        age_ns: u64,
        packets: u64,
    },
    /// A call failed, or reopening the ring, and is retried.
    Failed(&'a io::Error),
    /// No more packets are accepted; this many have not ended.
    Stopping {
        packets: u64,
    },
}

impl Event<'_> {
    /// Returns the message of an event of `device`, if it has one.
    pub fn message(&self, device: &str) -> Option<String> {
        Some(match self {
            Self::Up => format!("{device} is up"),
            Self::Down => format!(
                "{device} is down, or has no carrier; waiting. Packets in flight are uncertain"
            ),
            Self::Removed { is_moved } => {
                let what = match is_moved {
                    true => "device moved to another network namespace",
                    false => "device removed",
                };
                format!(
                    "{device}: {what}; waiting for one of this name. Packets in flight are \
                     uncertain"
                )
            }
            Self::Renamed(former_name) => {
                format!("{former_name}: renamed to {device}; the run continues")
            }
            Self::Returned => format!("{device}: device added again"),
            Self::Mtu(mtu_bytes) => format!("{device}: MTU is now {mtu_bytes} bytes"),
            Self::Stalled { age_ns, packets } => format!(
                "{device}: stalled, the oldest of {packets} packets in flight is {} ms old; they \
                 are uncertain, and the ring is reopened",
                age_ns / 1_000_000
            ),
            Self::Failed(error) => format!("{error}; retrying"),
            Self::Stopping { .. } => return None,
        })
    }
}

/// Ends a run, and receives its events.
pub trait RunControl {
    /// Called at the beginning of each iteration. Returns `true` to accept no more packets.
    fn is_over<S: Source>(&mut self, now_ns: u64, directions: &mut [Direction<S>]) -> bool {
        let _ = (now_ns, directions);
        false
    }

    /// Receives an event of `device`.
    fn event(&mut self, device: &str, event: Event<'_>) {
        let _ = (device, event);
    }
}

/// Never ends a run, and ignores its events.
impl RunControl for () {}
