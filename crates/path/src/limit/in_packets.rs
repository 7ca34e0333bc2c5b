//! A rule that counts packets in place of bytes.

use core::fmt;

use taut_dql::{Config, Error};

use super::{Limit, NamedLimit, Round, Unit};

/// A rule that learns how many packets may be in flight: for a device to which each packet is the same work,
/// however long it is. Rules know amounts only, so nothing else of it changes; its settings are in packets.
#[derive(Debug, Clone)]
pub struct InPackets<L>(L);

impl<L: Limit> InPackets<L> {
    /// `rule`, which counted bytes.
    pub fn new(rule: L) -> Self {
        Self(rule)
    }
}

impl<L: Limit> Limit for InPackets<L> {
    fn unit(&self) -> Unit {
        Unit::Packets
    }

    fn begin(&mut self, now_ns: u64) {
        self.0.begin(now_ns);
    }

    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn completed(&mut self, round: &Round) -> u32 {
        self.0.completed(round)
    }

    fn asks_return(&self) -> bool {
        self.0.asks_return()
    }

    fn asks_rate(&self) -> bool {
        self.0.asks_rate()
    }

    fn reset(&mut self, now_ns: u64) {
        self.0.reset(now_ns);
    }

    fn config(&self) -> Config {
        self.0.config()
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.0.set_config(config)
    }
}

/// What makes a rule count packets, behind its name.
pub(super) const SUFFIX: &str = ":packets";

impl<L: fmt::Display> fmt::Display for InPackets<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{SUFFIX}", self.0)
    }
}

impl<L: NamedLimit + Clone + 'static> NamedLimit for InPackets<L> {}
