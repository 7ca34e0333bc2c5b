//! A rule that counts packets instead of bytes.

use core::fmt;

use super::{Limit, Unit};
use taut_dql::forward_limit;

/// A rule that limits the packets in flight: for a device with the same cost per packet, regardless
/// of its length. The settings of the rule are then in packets too.
#[derive(Debug, Clone)]
pub struct PacketUnits<L>(L);

impl<L: Limit> PacketUnits<L> {
    /// Wraps a rule so that it counts packets.
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

/// The suffix of a name that makes a rule count packets.
pub(super) const SUFFIX: &str = ":packets";

impl<L: fmt::Display> fmt::Display for PacketUnits<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SUFFIX}", self.0)
    }
}
