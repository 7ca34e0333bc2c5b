//! The device that a direction sends to: its link, and whether its ring must be reopened.

use std::io;

use taut_linux::NetNs;
use taut_linux::link::{DeviceClaim, LinkMonitor, LinkState};

use crate::run_control::Event;
use crate::source::Renewal;

/// The device at the end of a direction, which it follows when the device is renamed.
#[derive(Debug)]
pub struct Egress {
    pub(crate) monitor: LinkMonitor,
    snapshot: DeviceSnapshot,
    /// Keeps other processes from forwarding its frames.
    claim: Option<DeviceClaim>,
    /// The ring must be reopened, not before this time, in ns.
    pub(crate) reopen: Option<(Renewal, u64)>,
    /// Start of the current series of failed reopens, in ns.
    pub(crate) failed_since_ns: Option<u64>,
    /// Time of the last removal, in ns; valid while the device is removed.
    pub(crate) removed_since_ns: Option<u64>,
    pub(crate) consecutive_stalls: u32,
    /// An `Up` event that is reported when the ring is open.
    pub(crate) up_unreported: bool,
}

impl Egress {
    /// Monitors a device from its current state on.
    pub fn new(monitor: LinkMonitor) -> Self {
        let snapshot = DeviceSnapshot::new(&monitor);
        Self {
            monitor,
            snapshot,
            claim: None,
            reopen: None,
            failed_since_ns: None,
            removed_since_ns: None,
            consecutive_stalls: 0,
            up_unreported: false,
        }
    }

    /// Keeps other processes from forwarding the frames of the device.
    pub(crate) fn claim(&mut self, ns: &NetNs) -> io::Result<()> {
        let (name, index) = (self.monitor.device(), self.monitor.index());
        self.claim = Some(DeviceClaim::new(ns, name, index)?);
        Ok(())
    }

    /// Claims the device that is there now, if the first one was claimed.
    pub(crate) fn renew_claim(&mut self) -> io::Result<()> {
        let (name, index) = (self.monitor.device(), self.monitor.index());
        let claim = self.claim.as_mut();
        claim.map_or(Ok(()), |claim| claim.replace(name, index))
    }

    pub(crate) fn state(&self) -> LinkState {
        self.snapshot.state
    }

    pub(crate) fn mtu_bytes(&self) -> u32 {
        self.snapshot.mtu_bytes
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state() == LinkState::Running
    }

    /// Returns `true` if frames can be sent.
    pub(crate) fn is_open(&self) -> bool {
        self.is_up() && self.reopen.is_none()
    }

    /// Requests that the ring is reopened.
    pub(crate) fn request_reopen(&mut self, renewal: Renewal, now_ns: u64) {
        let renewal = match self.reopen {
            Some((Renewal::AnotherDevice, _)) => Renewal::AnotherDevice,
            _ => renewal,
        };
        self.reopen = Some((renewal, now_ns));
    }

    /// Polls the link, without blocking. Returns its events in chronological order, and `true` if
    /// the link was not up at some time since the last poll, or is not now. Packets that were
    /// returned in the meantime might then never have been sent.
    pub(crate) fn poll(&mut self) -> io::Result<(bool, Vec<Event<'static>>)> {
        let status = self.monitor.poll()?;
        let current = DeviceSnapshot::new(&self.monitor);
        Ok((status.was_down, self.snapshot.update(current)))
    }
}

/// The state of a device at a poll.
#[derive(Debug, Clone)]
struct DeviceSnapshot {
    name: String,
    /// How many devices have replaced a removed one.
    replacements: u64,
    mtu_bytes: u32,
    state: LinkState,
    is_moved: bool,
}

impl DeviceSnapshot {
    fn new(monitor: &LinkMonitor) -> Self {
        Self {
            name: monitor.device().to_owned(),
            replacements: monitor.replacements(),
            mtu_bytes: monitor.mtu_bytes(),
            state: monitor.state(),
            is_moved: monitor.is_moved(),
        }
    }

    /// Stores the current state, and returns the changes.
    fn update(&mut self, current: Self) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        let was_present = self.state != LinkState::Removed;
        let is_another = !was_present || current.replacements != self.replacements;
        let is_moved = current.is_moved;
        if current.state == LinkState::Removed {
            self.state = LinkState::Removed;
            events.extend(was_present.then_some(Event::Removed { is_moved }));
            return events;
        }
        let before = std::mem::replace(self, current);
        if self.name != before.name {
            events.push(Event::Renamed(before.name));
        }
        if is_another {
            events.extend(was_present.then_some(Event::Removed { is_moved }));
            events.push(Event::Returned);
        } else if self.mtu_bytes != before.mtu_bytes {
            events.push(Event::Mtu(self.mtu_bytes));
        }
        // Also for a recreated device, whose link can be up or down.
        if is_another || self.state != before.state {
            events.push(match self.state {
                LinkState::Running => Event::Up,
                _ => Event::Down,
            });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_reported_once_and_in_order() {
        let up = DeviceSnapshot {
            name: "eth0".to_owned(),
            replacements: 1,
            mtu_bytes: 1500,
            state: LinkState::Running,
            is_moved: false,
        };
        let mut snapshot = up.clone();
        let (down, removed) = (LinkState::Down, LinkState::Removed);
        let of = |replacements, state| DeviceSnapshot {
            replacements,
            state,
            ..up.clone()
        };
        let jumbo = DeviceSnapshot {
            mtu_bytes: 9000,
            ..of(3, up.state)
        };
        let renamed = DeviceSnapshot {
            name: "wan0".to_owned(),
            ..of(3, up.state)
        };
        let gone = "Removed { is_moved: false }";
        for (current, events) in [
            (up.clone(), "".to_owned()),
            (of(1, down), "Down".to_owned()),
            (of(1, down), "".to_owned()),
            (up.clone(), "Up".to_owned()),
            (of(1, removed), gone.to_owned()),
            (of(1, removed), "".to_owned()),
            (of(2, down), "Returned, Down".to_owned()),
            (of(2, up.state), "Up".to_owned()),
            (of(3, up.state), format!("{gone}, Returned, Up")),
            (jumbo, "Mtu(9000)".to_owned()),
            (renamed, "Renamed(\"eth0\"), Mtu(1500)".to_owned()),
        ] {
            let found = format!("{:?}", snapshot.update(current.clone()));
            assert_eq!(found, format!("[{events}]"), "{current:?}");
        }
    }
}
