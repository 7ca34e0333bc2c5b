//! Queues above one NIC, in virtual time, for experiments that need no network.
//!
//! A [`Testbed`] processes events in order of time: interrupts, polls after a batch that stopped at
//! its budget, and rate changes of the wire. An experiment calls [`Testbed::next`] in a loop. It
//! sends the packets and measures.

#[cfg(test)]
mod tests;
mod urgent;
mod wire_stats;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use taut_path::limit::Limit;
use taut_path::{Completed, Probe, Qdisc, Queue};

pub(crate) use urgent::Urgent;
pub use wire_stats::LOSS_STEP_NS;
pub(crate) use wire_stats::WireStats;

use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{RingOf, SharedNic, WireCounters, WireWatch};
use crate::queue::{BatchResult, QueueFault};
use crate::sink::Sink;

/// The end of an event's processing.
pub(crate) type EventResult = Result<(), QueueFault>;

/// An event for the experiment. Simultaneous events are in this order: the rate changes, packets
/// arrive, the device is polled until it has no completions, senders resume, a sample is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BedEvent {
    /// New packets arrive.
    Arrival,
    /// The queue of this index has processed a completion batch.
    Batch(usize, Completed),
    /// A sender returns, or has prepared a packet.
    Resume,
    /// A sample is taken.
    Sample,
}

/// Times of the next events that an experiment schedules itself, in ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    pub(crate) arrival_ns: u64,
    pub(crate) resume_ns: u64,
    pub(crate) sample_ns: u64,
}

impl Schedule {
    /// Nothing is scheduled.
    pub(crate) const EMPTY: Self = Self {
        arrival_ns: NEVER_NS,
        resume_ns: NEVER_NS,
        sample_ns: NEVER_NS,
    };
}

/// A queue, or its completing half.
pub(crate) trait TestQueue {
    /// As [`Queue::complete`].
    fn complete(&mut self, now_ns: u64, sink: &mut Sink) -> BatchResult;

    /// Returns the time at which its coalescer passes deferred completions to the limit, in ns.
    fn wakeup_ns(&self) -> Option<u64>;
}

impl<W: WireWatch, L: Limit, Q: Qdisc, P: Probe> TestQueue for Queue<RingOf<W>, L, Q, P> {
    fn complete(&mut self, now_ns: u64, sink: &mut Sink) -> BatchResult {
        Queue::complete(self, now_ns, sink)
    }

    fn wakeup_ns(&self) -> Option<u64> {
        self.next_wakeup()
    }
}

/// A core that processes its work in the order of the requests.
#[derive(Debug, Default)]
pub(crate) struct Core {
    busy_until_ns: u64,
    /// Total work in ns, including work that is queued.
    pub(crate) busy_ns: u64,
}

impl Core {
    /// Adds work of `cost_ns`, which starts at `now_ns` or after the queued work. Returns its end,
    /// in ns.
    pub(crate) fn work(&mut self, now_ns: u64, cost_ns: u64) -> u64 {
        self.busy_ns = self.busy_ns.saturating_add(cost_ns);
        self.busy_until_ns = self.busy_until_ns.max(now_ns).saturating_add(cost_ns);
        self.busy_until_ns
    }
}

/// The settings of a testbed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    /// Changes of the link rate: (ns, bit/s), in order of time.
    pub(crate) rates: Vec<(u64, u64)>,
    /// Time from a batch that stopped at its budget to the next, in ns.
    pub(crate) poll_interval_ns: u64,
    /// Cost of an interrupt on the core before it reaps, in ns.
    pub(crate) interrupt_ns: u64,
    /// Whether the timer of a coalescer also reaps.
    pub(crate) wakeup_reaps: bool,
}

/// A NIC and the scheduled events of the queues above it.
pub(crate) struct Testbed<W> {
    pub(crate) nic: Rc<RefCell<SharedNic<W>>>,
    /// Time of the event that is processed, in ns.
    pub(crate) now_ns: u64,
    pub(crate) sink: Sink,
    pub(crate) core: Core,
    /// Wire counters of ring 0 at each change of the rate: (ns, counters).
    pub(crate) marks: Vec<(u64, WireCounters)>,
    setup: Setup,
    /// Number of past rate changes.
    rates: usize,
    /// End time and ring of each interrupt that the core has not finished.
    served: VecDeque<(u64, usize)>,
    /// Time of the next batch of each queue that stopped at its budget.
    polls_ns: Vec<u64>,
}

impl<W: WireWatch> Testbed<W> {
    pub(crate) fn new(nic: Rc<RefCell<SharedNic<W>>>, setup: Setup) -> Self {
        let rings = nic.borrow().rings();
        Self {
            nic,
            now_ns: 0,
            sink: Sink::default(),
            core: Core::default(),
            marks: Vec::new(),
            setup,
            rates: 0,
            served: VecDeque::new(),
            polls_ns: vec![NEVER_NS; rings],
        }
    }

    /// Processes everything that is due before `end_ns`, up to the next event for the experiment;
    /// `None` if there is none.
    ///
    /// `next_interrupt` returns the time and the queue of the next interrupt by the given time, and
    /// sends the packets that leave before it: [`SharedNic::next_interrupt`], or the interrupts of
    /// the experiment.
    pub(crate) fn next<Q: TestQueue>(
        &mut self,
        own: Schedule,
        queues: &mut [Q],
        end_ns: u64,
        mut next_interrupt: impl FnMut(&mut SharedNic<W>, u64) -> Option<(u64, usize)>,
    ) -> Result<Option<BedEvent>, TestbedError> {
        loop {
            let first_ns = self.rate_ns().min(own.arrival_ns);
            let then_ns = self.then_ns(own, queues);
            // At one time, rate changes and arrivals precede interrupts; all else follows them.
            let ask_ns = first_ns.min(end_ns).saturating_sub(1).min(then_ns);
            let interrupt = next_interrupt(&mut self.nic.borrow_mut(), ask_ns);
            if let Some((at_ns, at)) = interrupt {
                self.now_ns = at_ns;
                if self.on_interrupt(at) {
                    return Ok(Some(self.complete(queues, at)?));
                }
                continue;
            }
            let next_ns = first_ns.min(then_ns);
            if next_ns >= end_ns {
                return Ok(None);
            }
            self.now_ns = next_ns;
            self.nic.borrow_mut().send_until(next_ns);
            if self.rate_ns() != next_ns {
                return Ok(Some(self.due_event(own, queues)?));
            }
            self.change_rate()?;
        }
    }

    fn rate_ns(&self) -> u64 {
        let rate = self.setup.rates.get(self.rates);
        rate.map_or(NEVER_NS, |rate| rate.0)
    }

    /// Returns the time of the next event that follows a simultaneous interrupt.
    fn then_ns<Q: TestQueue>(&self, own: Schedule, queues: &[Q]) -> u64 {
        let own_ns = own.resume_ns.min(own.sample_ns);
        let served_ns = self.served.front().map_or(NEVER_NS, |served| served.0);
        let polls_ns = self.polls_ns.iter().copied();
        let wakeups_ns = queues.iter().filter_map(TestQueue::wakeup_ns);
        let queues_ns = polls_ns.chain(wakeups_ns);
        queues_ns.fold(own_ns.min(served_ns), u64::min)
    }

    /// Returns the first of the events that are due now, after the completions of its queue.
    fn due_event<Q: TestQueue>(
        &mut self,
        own: Schedule,
        queues: &mut [Q],
    ) -> Result<BedEvent, QueueFault> {
        let now_ns = self.now_ns;
        if own.arrival_ns == now_ns {
            return Ok(BedEvent::Arrival);
        }
        if let Some(&(_, at)) = self.served.front().filter(|served| served.0 == now_ns) {
            self.served.pop_front();
            return self.complete(queues, at);
        }
        let wakes = |queue: &Q| queue.wakeup_ns() == Some(now_ns);
        if let Some(at) = self.polls_ns.iter().position(|&it| it == now_ns) {
            self.complete(queues, at)
        } else if let Some(at) = queues.iter().position(wakes) {
            self.wake(queues, at)
        } else if own.resume_ns == now_ns {
            Ok(BedEvent::Resume)
        } else {
            Ok(BedEvent::Sample)
        }
    }

    fn change_rate(&mut self) -> Result<(), TestbedError> {
        let mut nic = self.nic.borrow_mut();
        self.marks.push((self.now_ns, nic.counters(0)));
        let (_, rate_bits_per_s) = self.setup.rates[self.rates];
        self.rates += 1;
        Ok(nic.set_rate(rate_bits_per_s, self.now_ns)?)
    }

    /// Processes an interrupt of queue `at`. Returns `true` if it reaps now: it is not masked and
    /// costs no time on the core.
    fn on_interrupt(&mut self, at: usize) -> bool {
        // Interrupts are masked during polling.
        if self.polls_ns[at] != NEVER_NS {
            return false;
        }
        if self.setup.interrupt_ns == 0 {
            return true;
        }
        // An interrupt without completions costs the same.
        let served_ns = self.core.work(self.now_ns, self.setup.interrupt_ns);
        self.served.push_back((served_ns, at));
        false
    }

    /// Reaps completions of queue `at`.
    fn complete<Q: TestQueue>(
        &mut self,
        queues: &mut [Q],
        at: usize,
    ) -> Result<BedEvent, QueueFault> {
        let done = self.poll(queues, at)?;
        self.polls_ns[at] = if done.more_pending {
            self.now_ns.saturating_add(self.setup.poll_interval_ns)
        } else {
            NEVER_NS
        };
        Ok(BedEvent::Batch(at, done))
    }

    /// Passes deferred completions to a limit.
    fn wake<Q: TestQueue>(&mut self, queues: &mut [Q], at: usize) -> Result<BedEvent, QueueFault> {
        if self.setup.wakeup_reaps {
            return self.complete(queues, at);
        }
        self.nic.borrow_mut().silent = true;
        let done = self.poll(queues, at);
        self.nic.borrow_mut().silent = false;
        Ok(BedEvent::Batch(at, done?))
    }

    fn poll<Q: TestQueue>(&mut self, queues: &mut [Q], at: usize) -> Result<Completed, QueueFault> {
        let done = queues[at].complete(self.now_ns, &mut self.sink);
        QueueFault::of_batch(done, at, self.now_ns)
    }
}
