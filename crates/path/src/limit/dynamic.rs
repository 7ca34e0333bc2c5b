//! Linux's rule: the dynamic queue limit, in bytes, with an optional cadence.

use alloc::sync::Arc;

use taut_dql::{Cadence, Completer, Config, Error, Producer, Shared, Snapshot};

use super::{Done, Limit, LimitCompleter, LimitKnob, LimitSender};

/// Dynamic queue limits over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dynamic {
    /// Bounds and hold time.
    pub config: Config,
    /// How far apart completions are handed to the estimator, in ns; 0 hands on each at once.
    pub cadence_ns: u64,
}

/// Sender's half of [`Dynamic`].
pub type DynamicSender = Producer<Arc<Shared>>;

/// Completer's half of [`Dynamic`].
#[derive(Debug)]
pub struct DynamicCompleter {
    dql: Completer<Arc<Shared>>,
    cadence: Cadence,
}

impl Limit for Dynamic {
    type Sender = DynamicSender;
    type Completer = DynamicCompleter;

    fn split(self, now_ns: u64) -> Result<(DynamicSender, DynamicCompleter), Error> {
        let (producer, dql) = taut_dql::split(Arc::new(Shared::new()), self.config, now_ns)?;
        Ok((
            producer,
            DynamicCompleter {
                dql,
                cadence: Cadence::new(self.cadence_ns),
            },
        ))
    }

    fn reset(
        sender: &mut DynamicSender,
        completer: &mut DynamicCompleter,
        now_ns: u64,
    ) -> Result<(), Error> {
        taut_dql::reset(sender, &mut completer.dql, now_ns)?;
        completer.cadence.reset();
        Ok(())
    }
}

impl LimitSender for DynamicSender {
    #[inline]
    fn queued(&mut self, bytes: u32, _now_ns: u64) -> Result<(), Error> {
        Producer::queued(self, bytes)
    }

    #[inline]
    fn has_room(&self) -> bool {
        Producer::has_room(self)
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        Producer::in_flight(self)
    }

    #[inline]
    fn epoch(&self) -> u32 {
        Producer::epoch(self)
    }
}

impl DynamicCompleter {
    fn hand_on(&mut self, bytes: Option<u32>, now_ns: u64) -> Result<(), Error> {
        match bytes {
            Some(bytes) => self.dql.completed(bytes, now_ns),
            None => Ok(()),
        }
    }
}

impl LimitCompleter for DynamicCompleter {
    fn completed(&mut self, done: Done, now_ns: u64, _more: bool) -> Result<(), Error> {
        let in_flight = self.dql.in_flight().saturating_sub(self.cadence.pending());
        if done.bytes > in_flight {
            return Err(Error::OverCompletion {
                units: done.bytes,
                in_flight,
            });
        }
        let bytes = self.cadence.add(done.bytes, self.dql.limit(), now_ns);
        self.hand_on(bytes, now_ns)
    }

    fn has_room(&self) -> bool {
        self.dql.has_room()
    }

    fn tick(&mut self, now_ns: u64) -> Result<(), Error> {
        let bytes = self.cadence.due(now_ns);
        self.hand_on(bytes, now_ns)
    }

    fn next_wakeup(&self) -> Option<u64> {
        self.cadence.next_wakeup()
    }

    fn epoch(&self) -> u32 {
        self.dql.epoch()
    }

    fn snapshot(&self) -> Snapshot {
        self.dql.snapshot()
    }

    fn set(&mut self, knob: LimitKnob, bytes: u32) -> Result<(), Error> {
        match knob {
            LimitKnob::Limit => self.dql.set_limit(bytes),
            LimitKnob::LimitMin => self.dql.set_min_limit(bytes),
            LimitKnob::LimitMax => self.dql.set_max_limit(bytes),
        }
    }

    fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        self.dql.set_hold_time_ns(hold_time_ns);
    }
}
