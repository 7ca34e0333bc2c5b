//! The front end that the rules share which size the limit by *need*.
//!
//! The **need** of an interval between two completions is the smallest limit with which the device
//! would not have run dry in it. A sender that refills at once needs what finished in the interval,
//! not twice that: right after a completion it fills up to the limit, and until the next one
//! nothing but that feeds the device.
//!
//! ```text
//!    completion        sender back                     completion
//! -------+-----------------+-------------------------------+---------> time
//!        |<--- latency --->|                               |
//!        |   rate x latency drains while nobody refills    |
//!        |<------------------ interval ------------------->|
//!                bytes that finish here must all be there at its start
//!
//!        need = bytes finished + rate x latency of the refill that follows
//! ```
//!
//! If the device ran dry, the bytes say too little; then need is what its measured rate could have
//! done. Intervals in which nobody was refused say nothing, since any limit would have done.
//!
//! The sender's half stays O(1): one load and, when the completer asked for it, the time of one
//! packet. All arithmetic is on the completer's half, and what a [`Sizer`] makes of the needs is
//! the difference between the rules.

mod interval;
mod rate;
mod signals;

use alloc::sync::Arc;

use taut_dql::{Completer, Config, Error, MAX_LIMIT, Producer, Shared, Snapshot};

use super::{Done, LimitCompleter, LimitKnob, LimitSender};
use interval::{Interval, Intervals, Measured, Sample};
use signals::{Asked, Signals, Told};

/// Makes a limit of needs.
pub trait Sizer {
    /// `bytes` finished in an interval in which nobody was refused. It must not raise the limit.
    fn unrefused(&mut self, bytes: u64);

    /// An interval needed `need_bytes`, at most [`MAX_LIMIT`]; `weight` says how much to make of
    /// it.
    fn needed(&mut self, need_bytes: u32, weight: u32, now_ns: u64);

    /// The device works at this rate.
    fn rate_is(&mut self, bytes_per_ms: u64);

    /// The limit that the needs make.
    fn limit_bytes(&self) -> u32;

    /// Puts the limit by hand, until the next need.
    fn put(&mut self, limit_bytes: u32);

    /// Sets how far back it looks, if that is a time, in ns.
    fn set_memory_ns(&mut self, memory_ns: u64);

    /// Forgets all needs.
    fn reset(&mut self, now_ns: u64);
}

/// Bounds of a rule's limit.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub min_limit: u32,
    pub max_limit: u32,
}

/// Sender's half of a rule that sizes by need.
#[derive(Debug)]
pub struct FrontSender {
    ledger: Producer<Arc<Shared>>,
    signals: Arc<Signals>,
    told: Told,
}

/// Completer's half of a rule that sizes by need.
#[derive(Debug)]
pub struct FrontCompleter<S> {
    ledger: Completer<Arc<Shared>>,
    signals: Arc<Signals>,
    asked: Asked,
    intervals: Intervals,
    /// What the rounds so far of an open chain finished, and what was in flight at its start.
    chain: Option<Chain>,
    sizer: S,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    finished_bytes: u64,
    in_flight_bytes: u32,
}

/// Both halves of a rule.
pub fn split<S: Sizer>(
    sizer: S,
    bounds: Bounds,
    now_ns: u64,
) -> Result<(FrontSender, FrontCompleter<S>), Error> {
    let config = Config {
        limit: bounds.min_limit,
        min_limit: bounds.min_limit,
        max_limit: bounds.max_limit,
        ..Config::default()
    };
    let (producer, completer) = taut_dql::split(Arc::new(Shared::new()), config, now_ns)?;
    let signals = Arc::new(Signals::new());
    Ok((
        FrontSender {
            ledger: producer,
            signals: signals.clone(),
            told: Told::default(),
        },
        FrontCompleter {
            ledger: completer,
            signals,
            asked: Asked::new(),
            intervals: Intervals::new(now_ns),
            chain: None,
            sizer,
        },
    ))
}

/// Forgets what is in flight and every need.
pub fn reset<S: Sizer>(
    sender: &mut FrontSender,
    completer: &mut FrontCompleter<S>,
    now_ns: u64,
) -> Result<(), Error> {
    taut_dql::reset(&mut sender.ledger, &mut completer.ledger, now_ns)?;
    signals::reset(&sender.signals, &mut sender.told, &mut completer.asked);
    completer.intervals = Intervals::new(now_ns);
    completer.chain = None;
    completer.sizer.reset(now_ns);
    Ok(())
}

impl LimitSender for FrontSender {
    fn queued(&mut self, bytes: u32, now_ns: u64) -> Result<(), Error> {
        // Also for a packet that is then refused: the sender is back all the same.
        self.told.queueing(&self.signals, now_ns);
        self.ledger.queued(bytes)
    }

    fn has_room(&self) -> bool {
        self.ledger.has_room()
    }

    fn in_flight(&self) -> u32 {
        self.ledger.in_flight()
    }

    fn epoch(&self) -> u32 {
        self.ledger.epoch()
    }

    fn refused(&mut self) {
        self.told.refused(&self.signals);
    }
}

impl<S: Sizer> FrontCompleter<S> {
    fn round(&mut self, bytes: u32, now_ns: u64, more: bool) -> Result<(), Error> {
        // Read once: the sender may queue more at any time.
        let in_flight_bytes = self.ledger.in_flight();
        if bytes > in_flight_bytes {
            return Err(Error::OverCompletion {
                units: bytes,
                in_flight: in_flight_bytes,
            });
        }
        let mut chain = self.chain.take().unwrap_or(Chain {
            finished_bytes: 0,
            in_flight_bytes,
        });
        chain.finished_bytes = chain.finished_bytes.saturating_add(u64::from(bytes));
        let left_bytes = in_flight_bytes - bytes;
        if more {
            self.chain = Some(chain);
            let limit_bytes = self.bounded_limit_bytes();
            self.intervals.round(now_ns, left_bytes, limit_bytes);
        } else {
            self.close(chain, left_bytes, now_ns);
        }
        self.ledger.completed_under(self.sizer.limit_bytes(), bytes)
    }

    /// The end of an interval: from needs to a limit.
    fn close(&mut self, chain: Chain, left_bytes: u32, now_ns: u64) {
        let mut interval = Interval {
            now_ns,
            finished_bytes: chain.finished_bytes,
            in_flight_bytes: chain.in_flight_bytes,
            left_bytes,
            came_back_ns: self.asked.came_back_ns(&self.signals),
            refused: false,
        };
        if self.intervals.sender_is_away(&interval) {
            return;
        }
        interval.refused = self.asked.take_refused(&self.signals) || self.intervals.still_refused();
        let latency_ns = self.intervals.latency_ns(&interval);
        if let Some(sample) = self.intervals.settle(latency_ns) {
            self.size(sample, now_ns);
        }
        let (measured, rate_is_new) = self.intervals.measure(&interval, latency_ns);
        match measured {
            Measured::Unrefused => self.sizer.unrefused(chain.finished_bytes),
            Measured::Pending => {}
            Measured::Dry(sample) => self.size(sample, now_ns),
        }
        if rate_is_new {
            let bytes_per_ms = self.intervals.rate().bytes(1_000_000);
            self.sizer.rate_is(bytes_per_ms);
        }
        if self.intervals.end(&interval, self.bounded_limit_bytes()) {
            self.asked.request(&self.signals);
        }
    }

    fn size(&mut self, sample: Sample, now_ns: u64) {
        // No limit above it can be set, so a larger need asks for nothing more.
        let need_bytes = u32::try_from(sample.need_bytes).unwrap_or(MAX_LIMIT);
        self.sizer
            .needed(need_bytes.min(MAX_LIMIT), sample.weight, now_ns);
    }

    fn bounded_limit_bytes(&self) -> u32 {
        let bounds = self.ledger.config();
        self.sizer
            .limit_bytes()
            .max(bounds.min_limit)
            .min(bounds.max_limit)
    }
}

impl<S: Sizer> LimitCompleter for FrontCompleter<S> {
    fn completed(&mut self, done: Done, now_ns: u64, more: bool) -> Result<(), Error> {
        self.round(done.bytes, now_ns, more)
    }

    fn has_room(&self) -> bool {
        self.ledger.has_room()
    }

    /// Closes a chain of rounds that nothing came to after all.
    fn tick(&mut self, now_ns: u64) -> Result<(), Error> {
        if self.chain.is_some() {
            self.round(0, now_ns, false)?;
        }
        Ok(())
    }

    fn epoch(&self) -> u32 {
        self.ledger.epoch()
    }

    fn snapshot(&self) -> Snapshot {
        self.ledger.snapshot()
    }

    fn set(&mut self, knob: LimitKnob, bytes: u32) -> Result<(), Error> {
        match knob {
            LimitKnob::Limit => {
                self.ledger.set_limit(bytes)?;
                self.sizer.put(bytes);
                Ok(())
            }
            LimitKnob::LimitMin => self.ledger.set_min_limit(bytes),
            LimitKnob::LimitMax => self.ledger.set_max_limit(bytes),
        }
    }

    fn set_hold_time_ns(&mut self, hold_time_ns: u64) {
        self.ledger.set_hold_time_ns(hold_time_ns);
        self.sizer.set_memory_ns(hold_time_ns);
    }
}
