//! What changes about the device that frames go to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_linux::link::{LinkMonitor, LinkState};
use taut_linux::{NetNs, errno};

/// How a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Up,
    Down,
    Gone,
}

/// What happened to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Up,
    Down,
    Gone,
    /// There again, or another one under the same name.
    Back,
    /// Its MTU is another, in bytes.
    Mtu(u32),
}

/// The link of a device, by its name.
#[derive(Debug)]
pub struct Link {
    watch: LinkMonitor,
    known: Known,
}

/// What changed at a link since the previous look.
#[derive(Debug)]
pub(crate) struct LinkChanges {
    /// The link was not up at some time since the previous look, or is not now: packets that were
    /// returned in the meantime might never have left.
    pub was_down: bool,
    /// In the order in which they happened.
    pub changes: Vec<Change>,
}

impl Link {
    /// Follows a device from its present state on.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn open(ns: &NetNs, name: &str) -> io::Result<Self> {
        Self::of(LinkMonitor::open(ns, name)?)
    }

    /// Follows the device of a watch.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn of(watch: LinkMonitor) -> io::Result<Self> {
        let mut known = Known {
            index: watch.index(),
            mtu_bytes: watch.mtu_bytes()?,
            state: State::Down,
        };
        known.compare(known.found(watch.state()));
        Ok(Self { watch, known })
    }

    pub fn name(&self) -> &str {
        self.watch.device()
    }

    pub fn state(&self) -> State {
        self.known.state
    }

    pub fn mtu_bytes(&self) -> u32 {
        self.known.mtu_bytes
    }

    /// Readable when something changed.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Finds out what changed, without waiting.
    pub(crate) fn look(&mut self) -> io::Result<LinkChanges> {
        let look = self.watch.poll()?;
        let mut found = Known {
            index: self.watch.index(),
            ..self.known
        };
        match self.watch.mtu_bytes() {
            Ok(mtu_bytes) => found.mtu_bytes = mtu_bytes,
            // The next look finds it removed.
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(LinkChanges {
            was_down: look.was_down,
            changes: self.known.compare(found.found(look.state)),
        })
    }
}

/// What is known of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    index: u32,
    mtu_bytes: u32,
    state: State,
}

impl Known {
    /// The same in this link state; `None` if it is not there.
    fn found(self, link: LinkState) -> Option<Self> {
        let state = match link {
            LinkState::Running => State::Up,
            LinkState::Down => State::Down,
            LinkState::Removed => return None,
        };
        Some(Self { state, ..self })
    }

    /// Takes over what was `found`, and says what is new.
    fn compare(&mut self, found: Option<Self>) -> Vec<Change> {
        let mut changes = Vec::new();
        let before = *self;
        let Some(found) = found else {
            if before.state != State::Gone {
                changes.push(Change::Gone);
            }
            self.state = State::Gone;
            return changes;
        };
        let is_another = before.state == State::Gone || found.index != before.index;
        if is_another {
            if before.state != State::Gone {
                changes.push(Change::Gone);
            }
            changes.push(Change::Back);
        } else if found.mtu_bytes != before.mtu_bytes {
            changes.push(Change::Mtu(found.mtu_bytes));
        }
        // Also after it came back, which says nothing of whether it is up.
        if is_another || found.state != before.state {
            changes.push(match found.state {
                State::Up => Change::Up,
                _ => Change::Down,
            });
        }
        *self = found;
        changes
    }
}

/// Whether there is no such device.
pub fn is_missing(error: &io::Error) -> bool {
    /// `ENODEV`, which has no kind of its own.
    const NO_DEVICE: i32 = 19;
    error.kind() == io::ErrorKind::NotFound || errno(error) == Some(NO_DEVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Known = Known {
        index: 3,
        mtu_bytes: 1500,
        state: State::Up,
    };

    #[test]
    fn changes_are_reported_once_and_in_order() {
        let mut known = UP;
        let down = Known {
            state: State::Down,
            ..UP
        };
        let of_index = |known, index| Known { index, ..known };
        let of_mtu = |known, mtu_bytes| Known { mtu_bytes, ..known };
        for (found, changes) in [
            (Some(UP), vec![]),
            (Some(down), vec![Change::Down]),
            (Some(down), vec![]),
            (Some(UP), vec![Change::Up]),
            (None, vec![Change::Gone]),
            (None, vec![]),
            (Some(of_index(down, 4)), vec![Change::Back, Change::Down]),
            (Some(of_index(UP, 4)), vec![Change::Up]),
            (Some(UP), vec![Change::Gone, Change::Back, Change::Up]),
            (Some(of_mtu(UP, 9000)), vec![Change::Mtu(9000)]),
        ] {
            assert_eq!(known.compare(found), changes, "{found:?}");
        }
        known.state = State::Gone;
        let again = known.compare(Some(of_mtu(UP, 9000)));
        assert_eq!(again, [Change::Back, Change::Up]);
    }
}
