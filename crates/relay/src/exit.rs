//! The device that the frames of a direction go to: its link, and whether its ring must be opened again.

use crate::link::{Link, State};
use crate::parts::Renewal;

/// Between two attempts to open a ring again, in ns.
const REOPEN_NS: u64 = 20_000_000;

/// The far end of a direction.
#[derive(Debug)]
pub struct Exit {
    pub(crate) link: Link,
    /// The ring must be opened again, not before this time, in ns.
    reopen: Option<(Renewal, u64)>,
    /// Since when opening the ring fails, and since when there is no device, in ns.
    failed_since_ns: Option<u64>,
    removed_since_ns: Option<u64>,
    /// Stalls without a completion in between.
    stalls_in_a_row: u32,
    /// The link came up, which is reported once its ring is open.
    is_new: bool,
}

impl Exit {
    pub fn new(link: Link) -> Self {
        Self {
            link,
            reopen: None,
            failed_since_ns: None,
            removed_since_ns: None,
            stalls_in_a_row: 0,
            is_new: false,
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.link.state() == State::Up
    }

    /// Whether frames can be sent.
    pub(crate) fn is_open(&self) -> bool {
        self.is_up() && self.reopen.is_none()
    }

    /// The ring must be opened again.
    pub(crate) fn ask_reopen(&mut self, renewal: Renewal, now_ns: u64) {
        let renewal = match self.reopen {
            Some((Renewal::AnotherDevice, _)) => Renewal::AnotherDevice,
            _ => renewal,
        };
        self.reopen = Some((renewal, now_ns));
    }

    /// Whether that is due, now that the link is up.
    pub(crate) fn reopen_due(&self, now_ns: u64) -> Option<Renewal> {
        let (renewal, at_ns) = self.reopen?;
        (self.is_up() && at_ns <= now_ns).then_some(renewal)
    }

    pub(crate) fn reopened(&mut self) {
        self.reopen = None;
        self.failed_since_ns = None;
    }

    /// The ring could not be opened. Returns for how long that is so, in ns.
    pub(crate) fn reopen_failed(&mut self, now_ns: u64) -> u64 {
        if let Some((_, at_ns)) = &mut self.reopen {
            *at_ns = now_ns + REOPEN_NS;
        }
        now_ns - *self.failed_since_ns.get_or_insert(now_ns)
    }

    pub(crate) fn came_up(&mut self) {
        self.is_new = true;
    }

    pub(crate) fn went_down(&mut self) {
        self.is_new = false;
    }

    /// Whether frames can be sent again, since this was last asked.
    pub(crate) fn take_new(&mut self) -> bool {
        self.is_open() && std::mem::take(&mut self.is_new)
    }

    pub(crate) fn removed(&mut self, now_ns: u64) {
        self.went_down();
        self.removed_since_ns = Some(now_ns);
    }

    /// For how long there is no device, in ns.
    pub(crate) fn removed_ns(&self, now_ns: u64) -> Option<u64> {
        let since_ns = self.removed_since_ns?;
        (self.link.state() == State::Gone).then_some(now_ns - since_ns)
    }

    pub(crate) fn stalled(&mut self) {
        self.stalls_in_a_row += 1;
    }

    pub(crate) fn completed(&mut self) {
        self.stalls_in_a_row = 0;
    }

    pub(crate) fn stalls_in_a_row(&self) -> u32 {
        self.stalls_in_a_row
    }
}
