//! Changes of the device that a direction sends to.

use std::io;

use taut_linux::link::{LinkMonitor, LinkState};
use taut_linux::{NetNs, errno};

/// A change of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Up,
    Down,
    Removed,
    /// The device was recreated, or another one has its name.
    Returned,
    /// The device had this name before.
    Renamed(String),
    /// The MTU changed, in bytes.
    Mtu(u32),
}

/// The link of a device, which it follows when the device is renamed.
#[derive(Debug)]
pub struct Link {
    pub(crate) monitor: LinkMonitor,
    snapshot: DeviceSnapshot,
}

/// Changes of a link since the last poll.
#[derive(Debug)]
pub(crate) struct LinkChanges {
    /// The link was not up at some time since the last poll, or is not now. Packets that were
    /// returned in the meantime might never have been sent.
    pub was_down: bool,
    /// In chronological order.
    pub changes: Vec<Change>,
}

impl Link {
    /// Monitors a device from its current state on.
    ///
    /// # Errors
    /// Returns an error if there is no such device.
    pub fn open(ns: &NetNs, name: &str) -> io::Result<Self> {
        Self::of(LinkMonitor::open(ns, name)?)
    }

    /// Uses the device of a monitor.
    ///
    /// # Errors
    /// Returns an error if there is no such device.
    pub fn of(monitor: LinkMonitor) -> io::Result<Self> {
        let mut snapshot = DeviceSnapshot {
            name: monitor.device().to_owned(),
            replacements: monitor.replacements(),
            mtu_bytes: monitor.mtu_bytes()?,
            state: LinkState::Down,
        };
        snapshot.compare(snapshot.clone().with_link(monitor.state()));
        Ok(Self { monitor, snapshot })
    }

    pub fn state(&self) -> LinkState {
        self.snapshot.state
    }

    pub fn mtu_bytes(&self) -> u32 {
        self.snapshot.mtu_bytes
    }

    /// Polls for changes, without blocking.
    pub(crate) fn poll(&mut self) -> io::Result<LinkChanges> {
        let status = self.monitor.poll()?;
        let mut current = DeviceSnapshot {
            name: self.monitor.device().to_owned(),
            replacements: self.monitor.replacements(),
            ..self.snapshot
        };
        match self.monitor.mtu_bytes() {
            Ok(mtu_bytes) => current.mtu_bytes = mtu_bytes,
            // The next poll finds it removed.
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(LinkChanges {
            was_down: status.was_down,
            changes: self.snapshot.compare(current.with_link(status.state)),
        })
    }
}

/// The state of a device at a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DeviceSnapshot {
    name: String,
    /// How many devices have replaced a removed one.
    replacements: u64,
    mtu_bytes: u32,
    state: LinkState,
}

impl DeviceSnapshot {
    /// Returns a copy in this link state; `None` if the device is absent.
    fn with_link(self, link: LinkState) -> Option<Self> {
        let is_present = link != LinkState::Removed;
        is_present.then_some(Self {
            state: link,
            ..self
        })
    }

    /// Stores the new state, and returns the changes.
    fn compare(&mut self, current: Option<Self>) -> Vec<Change> {
        let mut changes = Vec::new();
        let before = self.clone();
        let Some(current) = current else {
            if before.state != LinkState::Removed {
                changes.push(Change::Removed);
            }
            self.state = LinkState::Removed;
            return changes;
        };
        if current.name != before.name {
            changes.push(Change::Renamed(before.name));
        }
        let is_another =
            before.state == LinkState::Removed || current.replacements != before.replacements;
        if is_another {
            if before.state != LinkState::Removed {
                changes.push(Change::Removed);
            }
            changes.push(Change::Returned);
        } else if current.mtu_bytes != before.mtu_bytes {
            changes.push(Change::Mtu(current.mtu_bytes));
        }
        // Also for a recreated device, whose link can be up or down.
        if is_another || current.state != before.state {
            changes.push(match current.state {
                LinkState::Running => Change::Up,
                _ => Change::Down,
            });
        }
        *self = current;
        changes
    }
}

/// Returns `true` if there is no such device.
pub fn is_missing(error: &io::Error) -> bool {
    /// `ENODEV`, for which `ErrorKind` has no value.
    const NO_DEVICE: i32 = 19;
    error.kind() == io::ErrorKind::NotFound || errno(error) == Some(NO_DEVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up() -> DeviceSnapshot {
        DeviceSnapshot {
            name: "eth0".to_owned(),
            replacements: 1,
            mtu_bytes: 1500,
            state: LinkState::Running,
        }
    }

    #[test]
    fn changes_are_reported_once_and_in_order() {
        let mut snapshot = up();
        let down = DeviceSnapshot {
            state: LinkState::Down,
            ..up()
        };
        let replaced = |snapshot, replacements| DeviceSnapshot {
            replacements,
            ..snapshot
        };
        let jumbo = DeviceSnapshot {
            mtu_bytes: 9000,
            ..up()
        };
        let renamed = DeviceSnapshot {
            name: "wan0".to_owned(),
            ..up()
        };
        for (current, changes) in [
            (Some(up()), vec![]),
            (Some(down.clone()), vec![Change::Down]),
            (Some(down.clone()), vec![]),
            (Some(up()), vec![Change::Up]),
            (None, vec![Change::Removed]),
            (None, vec![]),
            (
                Some(replaced(down, 2)),
                vec![Change::Returned, Change::Down],
            ),
            (Some(replaced(up(), 2)), vec![Change::Up]),
            (
                Some(replaced(up(), 3)),
                vec![Change::Removed, Change::Returned, Change::Up],
            ),
            (Some(replaced(jumbo, 3)), vec![Change::Mtu(9000)]),
            (
                Some(replaced(renamed, 3)),
                vec![Change::Renamed("eth0".to_owned()), Change::Mtu(1500)],
            ),
        ] {
            assert_eq!(snapshot.compare(current.clone()), changes, "{current:?}");
        }
    }
}
