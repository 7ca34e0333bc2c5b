//! The state of one device's link, from the kernel's notifications. Makes no system calls.

use super::message::{attribute, u32_at};

/// `struct ifinfomsg`: family, type, index, flags, change.
const FIXED_BYTES: usize = 16;
/// The namespace to which a removed device was moved (`IFLA_NEW_NETNSID`; not in libc).
const NEW_NAMESPACE: u16 = 45;
/// A link that carries packets: it is administratively up, and has a carrier.
const RUNNING: u32 = (libc::IFF_UP | libc::IFF_RUNNING) as u32;

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkState {
    /// Packets are sent.
    Running,
    /// Administratively down, or without a carrier.
    Down,
    /// The device does not exist.
    #[default]
    Removed,
}

/// The result of polling a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkStatus {
    /// The current state.
    pub state: LinkState,
    /// The link was not running at some time since the last poll, or is not running now.
    pub was_down: bool,
}

/// A notification of the kernel about a link, or a response of the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notification<'a> {
    pub(super) index: u32,
    pub(super) name: Option<&'a [u8]>,
    pub(super) flags: u32,
    pub(super) mtu_bytes: Option<u32>,
    pub(super) is_removed: bool,
    /// Removed because it was moved to another network namespace.
    pub(super) is_moved: bool,
}

impl<'a> Notification<'a> {
    /// Parses a message; `None` if it is about something else, such as a port of a bridge.
    pub(super) fn parse(kind: u16, payload: &'a [u8]) -> Option<Self> {
        let is_removed = match kind {
            libc::RTM_NEWLINK => false,
            libc::RTM_DELLINK => true,
            _ => return None,
        };
        if i32::from(*payload.first()?) != libc::AF_UNSPEC {
            return None;
        }
        let all = payload.get(FIXED_BYTES..)?;
        let name = attribute(all, libc::IFLA_IFNAME);
        Some(Self {
            index: u32_at(payload, 4)?,
            name: name.map(|name| name.strip_suffix(&[0]).unwrap_or(name)),
            flags: u32_at(payload, 8)?,
            mtu_bytes: attribute(all, libc::IFLA_MTU).and_then(|it| u32_at(it, 0)),
            is_removed,
            is_moved: attribute(all, NEW_NAMESPACE).is_some(),
        })
    }
}

/// The state of the link of one device, which keeps its index when it is renamed. After it was
/// removed, the next device with its last name replaces it.
#[derive(Debug, Default)]
pub(super) struct LinkTracker {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) mtu_bytes: u32,
    /// The index of a device that must not replace it.
    pub(super) excluded: u32,
    pub(super) replacements: u64,
    pub(super) is_moved: bool,
    pub(super) state: LinkState,
    /// The link was not running since the last status, or notifications were lost.
    pub(super) was_down: bool,
}

impl LinkTracker {
    /// The initial state: the device does not exist.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Applies a notification. Notifications arrive in order, and only they set the state to
    /// running.
    pub(super) fn apply(&mut self, notification: Notification<'_>) {
        let name = notification.name.unwrap_or_default();
        if notification.index == self.index && self.index != 0 {
            if !name.is_empty() {
                self.name = String::from_utf8_lossy(name).into_owned();
            }
            if notification.is_removed {
                self.absent(notification.is_moved);
            } else {
                self.present(notification);
            }
        } else if self.index == 0
            && String::from_utf8_lossy(name) == self.name
            && !notification.is_removed
            && notification.index != self.excluded
        {
            self.was_down = true;
            self.replacements += 1;
            self.index = notification.index;
            self.present(notification);
        }
    }

    fn present(&mut self, notification: Notification<'_>) {
        self.mtu_bytes = notification.mtu_bytes.unwrap_or(self.mtu_bytes);
        self.set(notification.flags);
    }

    /// Records that the device is absent.
    pub(super) fn absent(&mut self, is_moved: bool) {
        self.is_moved = is_moved;
        self.was_down = true;
        self.state = LinkState::Removed;
        self.index = 0;
    }

    /// Applies flags read between notifications; `None` if the device is absent. They can show
    /// that the link is not running before its notification arrives, but never that it runs again.
    pub(super) fn flags(&mut self, flags: Option<u16>) {
        let is_down = match flags {
            // Its notification reports whether it was moved.
            None => self.state != LinkState::Removed,
            Some(flags) => {
                self.state == LinkState::Running && u32::from(flags) & RUNNING != RUNNING
            }
        };
        if is_down {
            self.set(0);
        }
    }

    /// Returns the status since the last call.
    pub(super) fn take(&mut self) -> LinkStatus {
        let state = self.state;
        // If it is not running now, it is not running at the start of the next poll.
        let still_down = state != LinkState::Running;
        let was_down = std::mem::replace(&mut self.was_down, still_down) || still_down;
        LinkStatus { state, was_down }
    }

    fn set(&mut self, flags: u32) {
        self.state = if flags & RUNNING == RUNNING {
            LinkState::Running
        } else {
            self.was_down = true;
            LinkState::Down
        };
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
