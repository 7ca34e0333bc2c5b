//! Who runs a relay: what it decides, and what it receives.

use std::io;

use crate::direction::Direction;
use crate::parts::Parts;

/// What a relay does about links that fail.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Packets that wait when the link goes down or the run ends are dropped: they would be stale. If
    /// not, they are kept until they can be sent.
    pub drops_waiting: bool,
    /// For how long a device may be removed, or a ring fail to open, before the run fails, in ns. `None`:
    /// for ever; then no stall ends the run either.
    pub patience_ns: Option<u64>,
    /// For how long the end of a run waits for what is in the devices, in ns.
    pub drain_ns: u64,
    /// A ring is opened again when the MTU of its device changes.
    pub follows_mtu: bool,
}

/// What happened to a device.
#[derive(Debug)]
pub enum Event<'a> {
    /// Up, and its ring is open.
    Up,
    Down,
    Removed,
    /// There again, or replaced by another of its name; the ring is open.
    Back,
    Mtu(u32),
    /// The oldest of `packets` in the device is too old. The ring is opened again.
    Stalled {
        age_ns: u64,
        packets: u64,
    },
    /// A call failed; it is tried again.
    Failed(&'a io::Error),
    /// The ring could not be opened again; it is tried again.
    NotReopened(&'a io::Error),
    /// Nothing more is taken in; these have not ended.
    Stopping {
        packets: u64,
    },
}

/// Who runs a relay.
pub trait Operator<K: Parts> {
    /// Called at the beginning of each turn. Returns whether to take in nothing more.
    fn is_over(&mut self, now_ns: u64, directions: &mut [Direction<K>]) -> bool;

    /// Something happened to `device`.
    fn event(&mut self, device: &str, event: Event<'_>);
}
