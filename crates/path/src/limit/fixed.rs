//! Limits that do not move: none, so many bytes, so many packets.

use alloc::sync::Arc;

use taut_dql::{Completer, Config, Error, MAX_LIMIT, Producer, Shared, Snapshot};

use super::{Done, Limit, LimitCompleter, LimitKnob, LimitSender};

/// What one queued packet counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte,
    Packet,
}

/// A limit that stays where it was put.
///
/// It is the estimator with its floor and ceiling at the same number, as an operator would pin it;
/// so the ledger, its errors and its epochs are the same code for every limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    unit: Unit,
    units: u32,
}

impl Fixed {
    /// No limit: only the ring holds the queue back. In flight is counted in bytes.
    pub const fn off() -> Self {
        Self::bytes(MAX_LIMIT)
    }

    /// At most `limit_bytes` in flight, exceeded by one packet at most.
    pub const fn bytes(limit_bytes: u32) -> Self {
        Self {
            unit: Unit::Byte,
            units: limit_bytes,
        }
    }

    /// At most `depth_packets` packets in flight; at least 1.
    pub const fn packets(depth_packets: u32) -> Self {
        // A limit of n admits n + 1 objects: the test is "room is not negative". A depth counts
        // whole packets, so it can be exact.
        Self {
            unit: Unit::Packet,
            units: depth_packets.saturating_sub(1),
        }
    }

    fn config(self) -> Config {
        Config {
            limit: self.units,
            min_limit: self.units,
            max_limit: self.units,
            ..Config::default()
        }
    }
}

/// Sender's half of [`Fixed`].
#[derive(Debug)]
pub struct FixedSender {
    producer: Producer<Arc<Shared>>,
    unit: Unit,
}

/// Completer's half of [`Fixed`].
#[derive(Debug)]
pub struct FixedCompleter {
    completer: Completer<Arc<Shared>>,
    unit: Unit,
}

impl Limit for Fixed {
    type Sender = FixedSender;
    type Completer = FixedCompleter;

    fn counts_bytes(&self) -> bool {
        self.unit == Unit::Byte
    }

    fn split(self, now_ns: u64) -> Result<(FixedSender, FixedCompleter), Error> {
        let shared = Arc::new(Shared::new());
        let (producer, completer) = taut_dql::split(shared, self.config(), now_ns)?;
        let unit = self.unit;
        Ok((
            FixedSender { producer, unit },
            FixedCompleter { completer, unit },
        ))
    }

    fn reset(
        sender: &mut FixedSender,
        completer: &mut FixedCompleter,
        now_ns: u64,
    ) -> Result<(), Error> {
        taut_dql::reset(&mut sender.producer, &mut completer.completer, now_ns)
    }
}

impl LimitSender for FixedSender {
    #[inline]
    fn queued(&mut self, bytes: u32, _now_ns: u64) -> Result<(), Error> {
        self.producer.queued(match self.unit {
            Unit::Byte => bytes,
            Unit::Packet => 1,
        })
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.producer.has_room()
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.producer.in_flight()
    }

    #[inline]
    fn epoch(&self) -> u32 {
        self.producer.epoch()
    }
}

impl LimitCompleter for FixedCompleter {
    fn completed(&mut self, done: Done, now_ns: u64, _more: bool) -> Result<(), Error> {
        let units = match self.unit {
            Unit::Byte => done.bytes,
            Unit::Packet => done.packets,
        };
        self.completer.completed(units, now_ns)
    }

    fn has_room(&self) -> bool {
        self.completer.has_room()
    }

    fn epoch(&self) -> u32 {
        self.completer.epoch()
    }

    /// The limit and its bounds are the depth that was asked for, not the units that hold it.
    fn snapshot(&self) -> Snapshot {
        let counters = self.completer.snapshot();
        let depth = |units: u32| match self.unit {
            Unit::Byte => units,
            Unit::Packet => units + 1,
        };
        Snapshot {
            limit: depth(counters.limit),
            min_limit: depth(counters.min_limit),
            max_limit: depth(counters.max_limit),
            ..counters
        }
    }

    /// Any of the three moves the one number that this limit has.
    fn set(&mut self, _knob: LimitKnob, units: u32) -> Result<(), Error> {
        if units > MAX_LIMIT {
            return Err(Error::LimitTooLarge { limit: units });
        }
        let units = match self.unit {
            Unit::Byte => units,
            Unit::Packet => units.saturating_sub(1),
        };
        if units >= self.completer.snapshot().max_limit {
            self.completer.set_max_limit(units)?;
            self.completer.set_min_limit(units)
        } else {
            self.completer.set_min_limit(units)?;
            self.completer.set_max_limit(units)
        }
    }

    fn set_hold_time_ns(&mut self, _hold_time_ns: u64) {}
}
