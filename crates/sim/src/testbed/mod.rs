//! Queues above one NIC, in virtual time: the loop of every experiment that needs no network.
//!
//! A [`Testbed`] processes events in order of time: interrupts, polls after a batch that stopped at
//! its budget, and rate changes of the wire. An [`Experiment`] sends the packets and measures.

#[cfg(test)]
mod tests;
mod urgent;
mod wire_stats;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

use taut_path::limit::Limit;
use taut_path::queue::CompleteError;
use taut_path::{Completed, Probe, Qdisc, Queue};

pub(crate) use urgent::Urgent;
pub use wire_stats::LOSS_STEP_NS;
pub(crate) use wire_stats::WireStats;

use crate::NEVER_NS;
use crate::error::TestbedError;
use crate::nic::{RingOf, SharedNic, WireCounters, WireWatch};
use crate::queue::QueueFault;
use crate::sink::Sink;

/// The end of an event's processing.
pub(crate) type EventResult = Result<(), QueueFault>;

/// Events of an experiment. Simultaneous events are in this order: the rate changes, packets
/// arrive, the device is polled until it has no completions, senders resume, a sample is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// New packets arrive.
    Arrival,
    /// A sender returns, or has prepared a packet.
    Resume,
    /// A sample is taken.
    Sample,
}

/// The senders, the interrupts and the measurements above a testbed.
pub(crate) trait Experiment {
    /// The type of a queue.
    type Queue: TestQueue;
    /// The observer of the wire.
    type Watch: WireWatch;

    /// Returns the queues, one for each ring.
    fn queues(&mut self) -> &mut [Self::Queue];

    /// Returns the time of its next event of this kind, in ns.
    fn next_ns(&self, _own: Activity) -> u64 {
        NEVER_NS
    }

    /// Processes an event of this kind, which is due.
    fn act(&mut self, _own: Activity, _bed: &mut Testbed<Self::Watch>) -> EventResult {
        Ok(())
    }

    /// Called after a completion batch of queue `at`.
    fn on_batch(
        &mut self,
        bed: &mut Testbed<Self::Watch>,
        at: usize,
        done: Completed,
    ) -> EventResult;

    /// Returns the time and the queue of the next interrupt by `until_ns`, and sends the packets
    /// that leave before it. The default is the interrupt moderation of the NIC.
    fn next_interrupt(
        &mut self,
        nic: &mut SharedNic<Self::Watch>,
        until_ns: u64,
    ) -> Option<(u64, usize)> {
        nic.next_interrupt(until_ns)
    }

    /// Returns `true` if the rest of the run cannot change the result.
    fn is_over(&self, _bed: &Testbed<Self::Watch>) -> bool {
        false
    }
}

/// A queue, or the two halves of one.
pub(crate) trait TestQueue {
    /// As [`Queue::complete`].
    fn complete(
        &mut self,
        now_ns: u64,
        sink: &mut Sink,
    ) -> Result<Completed, CompleteError<Infallible>>;

    /// Returns the time at which its coalescer passes deferred completions to the limit, in ns.
    fn wakeup_ns(&self) -> Option<u64>;
}

impl<W: WireWatch, L: Limit, Q: Qdisc, P: Probe> TestQueue for Queue<RingOf<W>, L, Q, P> {
    fn complete(
        &mut self,
        now_ns: u64,
        sink: &mut Sink,
    ) -> Result<Completed, CompleteError<Infallible>> {
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

    /// Processes everything that is due before `end_ns`.
    pub(crate) fn run_until<E: Experiment<Watch = W>>(
        &mut self,
        activity: &mut E,
        end_ns: u64,
    ) -> Result<(), TestbedError> {
        while !activity.is_over(self) {
            let first_ns = self.rate_ns().min(activity.next_ns(Activity::Arrival));
            let then_ns = self.then_ns(activity);
            // At one time, rate changes and arrivals precede interrupts; all else follows them.
            let ask_ns = first_ns.min(end_ns).saturating_sub(1).min(then_ns);
            let interrupt = activity.next_interrupt(&mut self.nic.borrow_mut(), ask_ns);
            if let Some((at_ns, at)) = interrupt {
                self.now_ns = at_ns;
                self.interrupt(activity, at)?;
                continue;
            }
            let next_ns = first_ns.min(then_ns);
            if next_ns >= end_ns {
                break;
            }
            self.now_ns = next_ns;
            self.nic.borrow_mut().send_until(next_ns);
            self.act(activity)?;
        }
        Ok(())
    }

    fn rate_ns(&self) -> u64 {
        let rate = self.setup.rates.get(self.rates);
        rate.map_or(NEVER_NS, |rate| rate.0)
    }

    /// Returns the time of the next event that follows a simultaneous interrupt.
    fn then_ns(&self, activity: &mut impl Experiment<Watch = W>) -> u64 {
        let own_ns = activity
            .next_ns(Activity::Resume)
            .min(activity.next_ns(Activity::Sample));
        let served_ns = self.served.front().map_or(NEVER_NS, |served| served.0);
        let polls_ns = self.polls_ns.iter().copied();
        let wakeups_ns = activity.queues().iter().filter_map(TestQueue::wakeup_ns);
        let queues_ns = polls_ns.chain(wakeups_ns);
        queues_ns.fold(own_ns.min(served_ns), u64::min)
    }

    /// Processes the first of the events that are due now.
    fn act<E: Experiment<Watch = W>>(&mut self, activity: &mut E) -> Result<(), TestbedError> {
        let now_ns = self.now_ns;
        if self.rate_ns() == now_ns {
            return self.change_rate();
        }
        if activity.next_ns(Activity::Arrival) == now_ns {
            return Ok(activity.act(Activity::Arrival, self)?);
        }
        if let Some(&(_, at)) = self.served.front().filter(|served| served.0 == now_ns) {
            self.served.pop_front();
            return Ok(self.complete(activity, at)?);
        }
        let wakes = |queue: &E::Queue| queue.wakeup_ns() == Some(now_ns);
        if let Some(at) = self.polls_ns.iter().position(|&it| it == now_ns) {
            self.complete(activity, at)?;
        } else if let Some(at) = activity.queues().iter().position(wakes) {
            self.wake(activity, at)?;
        } else if activity.next_ns(Activity::Resume) == now_ns {
            activity.act(Activity::Resume, self)?;
        } else {
            activity.act(Activity::Sample, self)?;
        }
        Ok(())
    }

    fn change_rate(&mut self) -> Result<(), TestbedError> {
        let mut nic = self.nic.borrow_mut();
        self.marks.push((self.now_ns, nic.counters(0)));
        let (_, rate_bits_per_s) = self.setup.rates[self.rates];
        self.rates += 1;
        Ok(nic.set_rate(rate_bits_per_s, self.now_ns)?)
    }

    fn interrupt(&mut self, activity: &mut impl Experiment<Watch = W>, at: usize) -> EventResult {
        // Interrupts are masked during polling.
        if self.polls_ns[at] != NEVER_NS {
            return Ok(());
        }
        if self.setup.interrupt_ns == 0 {
            return self.complete(activity, at);
        }
        // An interrupt without completions costs the same.
        let served_ns = self.core.work(self.now_ns, self.setup.interrupt_ns);
        self.served.push_back((served_ns, at));
        Ok(())
    }

    /// Reaps completions of queue `at`.
    fn complete(&mut self, activity: &mut impl Experiment<Watch = W>, at: usize) -> EventResult {
        let done = self.poll(activity, at)?;
        self.polls_ns[at] = if done.more_pending {
            self.now_ns.saturating_add(self.setup.poll_interval_ns)
        } else {
            NEVER_NS
        };
        activity.on_batch(self, at, done)
    }

    /// Passes deferred completions to a limit.
    fn wake(&mut self, activity: &mut impl Experiment<Watch = W>, at: usize) -> EventResult {
        if self.setup.wakeup_reaps {
            return self.complete(activity, at);
        }
        self.nic.borrow_mut().silent = true;
        let done = self.poll(activity, at);
        self.nic.borrow_mut().silent = false;
        activity.on_batch(self, at, done?)
    }

    fn poll(
        &mut self,
        activity: &mut impl Experiment<Watch = W>,
        at: usize,
    ) -> Result<Completed, QueueFault> {
        let done = activity.queues()[at].complete(self.now_ns, &mut self.sink);
        QueueFault::of_batch(done, at, self.now_ns)
    }
}
