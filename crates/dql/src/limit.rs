//! The interface of limit rules.
//!
//! A rule receives a record of each completion batch and returns the limit from then on. A rule
//! counts nothing itself: the [`Ledger`](crate::ledger::Ledger) does, for all rules.

use crate::{Config, Error};

/// What a limit counts. Only taut-path reads it; a rule for another unit returns either variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes. taut-path counts a packet of 0 bytes as 1.
    Bytes,
    /// Packets.
    Packets,
}

/// A completion batch, as passed to a limit rule. Units are those of [`Limit::unit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionBatch {
    /// The time of the batch, in ns.
    pub now_ns: u64,
    /// Units completed: at most `in_flight`, and 0 only to close a reap, see `more_pending`.
    pub units: u32,
    /// Units in flight before the batch.
    pub in_flight: u32,
    /// Size of the object queued last, in units.
    pub last_object: u32,
    /// The reap stopped at its budget with completions pending. If the next reap finds nothing, a
    /// batch of 0 units without this flag closes it.
    pub more_pending: bool,
    /// If the ring filled before the limit did: the units in flight at that time, minus the last
    /// object. A higher limit has no effect. Otherwise `u32::MAX`.
    pub ring_units: u32,
    /// Time at which the sender returned, in ns: it queued its first object after the last request
    /// for this time. `None` if it has not returned yet. The time is requested at the start, after
    /// a reset, and when [`Needs::return_time`] is set. For a rule without [`Needs::sender`] it is
    /// always `None`.
    pub sender_returned_ns: Option<u64>,
    /// Times that the limit had no room for a packet that was ready to be sent, since the last
    /// reset, wrapping. For a rule without [`Needs::sender`] it is always 0.
    pub times_blocked: u32,
    /// The rate of the device in units per second; 0 while it is unknown, and for a rule without
    /// [`Needs::rate`]. See [`RateMeter`](crate::rate::RateMeter).
    pub rate_per_s: u64,
}

/// The parts of a completion batch that a rule needs beyond those that every rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Needs {
    /// [`CompletionBatch::sender_returned_ns`] and [`CompletionBatch::times_blocked`]. It never
    /// changes.
    pub sender: bool,
    /// A new request for [`CompletionBatch::sender_returned_ns`]: the time at which the sender
    /// queues its next object. It is read after each batch, and only if `sender` is set.
    pub return_time: bool,
    /// [`CompletionBatch::rate_per_s`]. It never changes.
    pub rate: bool,
}

/// A limit rule.
///
/// The limit is soft: a queue may exceed it by one object, so a limit of 0 still lets one through.
/// A hard limit of n packets therefore returns n - 1 from [`limit`](Self::limit), and n in
/// [`config`](Self::config). A rule without settings implements `limit`,
/// [`completed`](Self::completed) and [`reset`](Self::reset).
pub trait Limit {
    /// What the limit counts.
    fn unit(&self) -> Unit {
        Unit::Bytes
    }

    /// Starts at `now_ns`, with nothing in flight.
    fn begin(&mut self, now_ns: u64) {
        let _ = now_ns;
    }

    /// The current limit in units, as the queue applies it: a queue may exceed it by one object.
    /// More than [`MAX_LIMIT`](crate::MAX_LIMIT) counts as `MAX_LIMIT`.
    fn limit(&self) -> u32;

    /// Processes a completion batch. Returns the limit from now on, as [`limit`](Self::limit) does.
    fn completed(&mut self, batch: &CompletionBatch) -> u32;

    /// The parts of a batch that this rule needs.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Forgets all history, because nothing is in flight any more. The bounds and the hold time
    /// stay; the limit can start again.
    fn reset(&mut self, now_ns: u64);

    /// Begins a new interval with `in_flight` units in flight, because completions were lost or
    /// counted twice. The limit must stay. By default the rule is reset and its settings are
    /// restored, with the limit. A rule without settings keeps its limit and its history.
    fn repair(&mut self, in_flight: u32, now_ns: u64) {
        let _ = in_flight;
        let config = self.config();
        // A rule without settings could not restore its limit after a reset.
        if self.set_config(config).is_ok() {
            self.reset(now_ns);
            let _ = self.set_config(config);
        }
    }

    /// The settings, for an operator. `limit` is the current limit. It is one more than
    /// [`limit`](Self::limit) if no object may exceed it.
    fn config(&self) -> Config {
        Config {
            limit: self.limit(),
            ..Config::default()
        }
    }

    /// Changes the settings. An explicitly set limit is effective until the rule changes it.
    ///
    /// # Errors
    /// If the settings contradict each other or are outside of the allowed ranges; nothing changes.
    /// [`Error::NotSettable`] for a rule without settings.
    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        let _ = config;
        Err(Error::NotSettable)
    }
}

/// Implements all methods of [`Limit`] except [`Limit::unit`] by those of another rule, inside an
/// `impl Limit` block: `forward_limit!(self => self.rule)`.
#[macro_export]
macro_rules! forward_limit {
    ($self:ident => $rule:expr) => {
        fn begin(&mut $self, now_ns: u64) {
            $crate::limit::Limit::begin(&mut $rule, now_ns);
        }

        #[inline]
        fn limit(&$self) -> u32 {
            $crate::limit::Limit::limit(&$rule)
        }

        #[inline]
        fn completed(&mut $self, batch: &$crate::limit::CompletionBatch) -> u32 {
            $crate::limit::Limit::completed(&mut $rule, batch)
        }

        #[inline]
        fn needs(&$self) -> $crate::limit::Needs {
            $crate::limit::Limit::needs(&$rule)
        }

        fn reset(&mut $self, now_ns: u64) {
            $crate::limit::Limit::reset(&mut $rule, now_ns);
        }

        fn repair(&mut $self, in_flight: u32, now_ns: u64) {
            $crate::limit::Limit::repair(&mut $rule, in_flight, now_ns);
        }

        fn config(&$self) -> $crate::Config {
            $crate::limit::Limit::config(&$rule)
        }

        fn set_config(&mut $self, config: $crate::Config) -> Result<(), $crate::Error> {
            $crate::limit::Limit::set_config(&mut $rule, config)
        }
    };
}
