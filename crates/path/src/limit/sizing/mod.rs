//! What the rules have in common that size the limit by *need*.
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
//! The sender pays one load for each packet and, when the rule asked for it, the time of one. All
//! arithmetic is the completer's, and what a [`Sizer`] makes of the needs is the difference between
//! the rules.

mod chain;
mod interval;
mod lift;
mod rate;
mod rounds;

use taut_dql::{Config, Error, MAX_LIMIT};

use super::{CompletionBatch, Limit, Needs};
use chain::Chain;
use interval::{Interval, Intervals, Measured, Sample};
use lift::Lift;
use rounds::{Finished, Rounds};

/// The largest object is forgotten by a 64th each round: the last one queued is the one that crossed
/// the limit, so a large one among many small ones is seen every few rounds.
const OBJECT_FADES_SHIFT: u32 = 6;

/// Makes a limit of needs.
pub(crate) trait Sizer {
    /// `bytes` finished in an interval in which nobody was refused. It must not raise the limit.
    fn unrefused(&mut self, bytes: u64);

    /// An interval needed `need_bytes`, at most [`MAX_LIMIT`]; `weight` says how much to make of
    /// it.
    fn needed(&mut self, need_bytes: u32, weight: u32, now_ns: u64);

    /// The device works at this rate.
    fn rate_is(&mut self, bytes_per_ms: u64, now_ns: u64);

    /// The share that may be lost, over 2^20; 0 for none.
    fn may_lose(&self) -> u64 {
        0
    }

    /// The limit that the needs make.
    fn limit_bytes(&self) -> u32;

    /// Puts the limit by hand, until the next need.
    fn put(&mut self, limit_bytes: u32);

    /// Sets how far back it looks, if that is a time, in ns.
    fn set_memory_ns(&mut self, memory_ns: u64);

    /// Forgets all needs.
    fn reset(&mut self, now_ns: u64);
}

/// A rule that sizes by need.
#[derive(Debug, Clone)]
pub(crate) struct SizedByNeed<S> {
    sizer: S,
    /// Bounds and hold time; its `limit` is the limit in force.
    config: Config,
    intervals: Intervals,
    /// The rounds so far of an open chain.
    chain: Option<Chain>,
    rounds: Rounds,
    /// A trial says nothing of what is needed.
    muted: bool,
    refusals_heard: u32,
    needs_return_time: bool,
    /// The largest object of late.
    object_bytes: u32,
    lift: Lift,
}

impl<S: Sizer> SizedByNeed<S> {
    /// A rule whose limit stays within the bounds of `config`, which were checked.
    pub(crate) fn new(sizer: S, config: Config) -> Self {
        Self {
            sizer,
            config: Config {
                limit: config.min_limit,
                ..config
            },
            intervals: Intervals::new(0),
            chain: None,
            rounds: Rounds::default(),
            muted: false,
            refusals_heard: 0,
            needs_return_time: false,
            object_bytes: 0,
            lift: Lift::new(),
        }
    }

    fn bounded_limit_bytes(&self) -> u32 {
        self.sizer
            .limit_bytes()
            .max(self.lift.bytes())
            .min(self.rounds.most_bytes())
            .max(self.config.min_limit)
            .min(self.config.max_limit)
    }

    /// The end of an interval: from needs to a limit, which it returns.
    fn close(&mut self, chain: &Chain, round: &CompletionBatch) -> u32 {
        let now_ns = round.now_ns;
        let mut interval = Interval {
            now_ns,
            chain,
            object_bytes: self.object_bytes,
            refused: false,
        };
        let on_trial = self.rounds.on_trial();
        let lost = self.sizer.may_lose();
        if lost > 0 {
            let finished = Finished {
                came_back_ns: chain.came_back_ns(),
                refusals: round.times_blocked,
                bytes: chain.finished_bytes(),
                left_bytes: chain.left_bytes(),
                object_bytes: self.object_bytes,
            };
            let limit_bytes = self.sizer.limit_bytes();
            self.rounds.finished(&finished, limit_bytes, lost);
        }
        let was_muted = core::mem::replace(&mut self.muted, on_trial || self.rounds.on_trial());
        if self.intervals.sender_is_away(&interval) {
            return self.bounded_limit_bytes();
        }
        let heard = core::mem::replace(&mut self.refusals_heard, round.times_blocked);
        interval.refused = heard != round.times_blocked || self.intervals.still_refused();
        let latency_ns = self.intervals.latency_ns(&interval);
        // What is settled was measured in the interval before.
        if let Some(sample) = self.intervals.settle(&interval, latency_ns)
            && !was_muted
        {
            self.size(sample, now_ns);
        }
        let (measured, rate_is_new) = self.intervals.measure(&interval, latency_ns);
        self.lift.measured(&measured, chain.finished_bytes());
        if self.intervals.rate_is_to_be_tried() {
            self.lift.try_out(self.config.limit);
        }
        match measured {
            Measured::Unrefused => self.sizer.unrefused(chain.finished_bytes()),
            Measured::Pending => {}
            Measured::Dry(sample) => self.size(sample, now_ns),
        }
        if rate_is_new {
            let bytes_per_ms = self.intervals.rate().bytes(1_000_000);
            self.sizer.rate_is(bytes_per_ms, now_ns);
        }
        let limit_bytes = self.bounded_limit_bytes();
        self.needs_return_time = self.intervals.end(&interval, limit_bytes);
        limit_bytes
    }

    fn size(&mut self, sample: Sample, now_ns: u64) {
        if self.muted {
            return;
        }
        // No limit above it can be set, so a larger need asks for nothing more.
        let need_bytes = sample.need_bytes.min(MAX_LIMIT.into()) as u32;
        self.sizer.needed(need_bytes, sample.weight, now_ns);
    }
}

impl<S: Sizer> Limit for SizedByNeed<S> {
    fn begin(&mut self, now_ns: u64) {
        self.intervals = Intervals::new(now_ns);
        self.rounds = Rounds::default();
        self.lift = Lift::new();
        self.sizer.reset(now_ns);
    }

    fn limit(&self) -> u32 {
        self.config.limit
    }

    fn completed(&mut self, round: &CompletionBatch) -> u32 {
        // The first refill after each round ends a window.
        self.needs_return_time = round.more_pending;
        if round.units == 0 && self.chain.is_none() {
            return self.config.limit;
        }
        let faded_bytes = self.object_bytes - (self.object_bytes >> OBJECT_FADES_SHIFT);
        self.object_bytes = faded_bytes.max(round.last_object);
        let mut chain = match &self.chain {
            Some(chain) => *chain,
            None => Chain::new(round),
        };
        chain.round(round, self.config.limit, self.intervals.rate());
        self.chain = round.more_pending.then_some(chain);
        let limit_bytes = if round.more_pending {
            let limit_bytes = self.bounded_limit_bytes();
            let left_bytes = chain.left_bytes();
            self.intervals.round(round.now_ns, left_bytes, limit_bytes);
            limit_bytes
        } else {
            self.close(&chain, round)
        };
        self.config.limit = limit_bytes;
        limit_bytes
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            return_time: self.needs_return_time,
            rate: false,
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.config.limit = self.config.min_limit;
        self.chain = None;
        self.refusals_heard = 0;
        self.needs_return_time = false;
        self.begin(now_ns);
    }

    fn config(&self) -> Config {
        self.config
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        config.validate()?;
        if config.limit != self.config.limit {
            self.sizer.put(config.limit);
        }
        if config.hold_time_ns != self.config.hold_time_ns {
            self.sizer.set_memory_ns(config.hold_time_ns);
        }
        self.config = config;
        Ok(())
    }
}
