//! A rule that counts packets in place of bytes.

use core::fmt;

use super::named::NamedLimit;
use super::utilisation::Utilisation;
use super::{Limit, Unit};
use taut_dql::forward_limit;

/// A rule that learns how many packets may be in flight: for a device to which each packet is the same work,
/// however long it is. Rules know amounts only, so nothing else of it changes; its settings are in packets.
#[derive(Debug, Clone)]
pub struct PacketUnits<L>(L);

impl<L: Limit> PacketUnits<L> {
    /// `rule`, which counted bytes.
    pub fn new(rule: L) -> Self {
        Self(rule)
    }
}

impl<L: Limit> Limit for PacketUnits<L> {
    fn unit(&self) -> Unit {
        Unit::Packets
    }

    forward_limit!(self => self.0);
}

/// What makes a rule count packets, behind its name.
pub(super) const SUFFIX: &str = ":packets";

impl<L: fmt::Display> fmt::Display for PacketUnits<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SUFFIX}", self.0)
    }
}

impl<L: NamedLimit + Clone + 'static> NamedLimit for PacketUnits<L> {
    fn set_default_target(&mut self, utilisation: Utilisation) {
        self.0.set_default_target(utilisation);
    }
}
