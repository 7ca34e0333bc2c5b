//! The device that a direction sends to: its link, and whether its ring must be reopened.

use std::io;

use taut_linux::link::{DeviceClaim, LinkState};

use crate::link::Link;
use crate::parts::Renewal;

/// The device at the end of a direction.
#[derive(Debug)]
pub struct Egress {
    pub(crate) link: Link,
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
    pub fn new(link: Link) -> Self {
        Self {
            link,
            claim: None,
            reopen: None,
            failed_since_ns: None,
            removed_since_ns: None,
            consecutive_stalls: 0,
            up_unreported: false,
        }
    }

    pub(crate) fn with_claim(self, claim: Option<DeviceClaim>) -> Self {
        Self { claim, ..self }
    }

    /// Claims the device that is there now, if the first one was claimed.
    pub(crate) fn renew_claim(&mut self) -> io::Result<()> {
        let (name, index) = (self.link.monitor.device(), self.link.monitor.index());
        let claim = self.claim.as_mut();
        claim.map_or(Ok(()), |claim| claim.replace(name, index))
    }

    pub(crate) fn is_up(&self) -> bool {
        self.link.state() == LinkState::Running
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
}
