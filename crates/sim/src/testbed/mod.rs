//! Queues above one NIC, in virtual time: the loop of every experiment that needs no network.
//!
//! A [`Testbed`] takes what is due, the earliest first: it asks the device, has rounds go on that
//! stopped at their budget, and changes the rate of the wire. What is sent, and what is measured,
//! is an [`Experiment`].

mod book;
mod losses;
#[cfg(test)]
mod tests;
mod urgent;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

use taut_path::limit::Limit;
use taut_path::queue::CompleteError;
use taut_path::{Completed, Probe, Qdisc, Queue};

pub(crate) use book::Book;
pub use losses::{LOSS_STEP_NS, Losses};
pub(crate) use urgent::Urgent;

use crate::NEVER_NS;
use crate::cpu::Core;
use crate::error::TestbedError;
use crate::nic::{MultiNic, RingOf, WireCounters, WireWatch};
use crate::queue::QueueFault;
use crate::sink::Sink;

/// What an experiment does by itself. At one time the rate changes first; then something is
/// offered; then the device is asked, as long as it has to tell; then senders go on; then somebody
/// looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Something new comes to be sent.
    Offer,
    /// A sender goes on that was away, or made what it sends now.
    GoOn,
    /// Somebody looks.
    Look,
}

/// Queues on a testbed: what is sent, who asks the device, and what is measured.
pub(crate) trait Experiment {
    /// A queue,
    type Queue: TestQueue;
    /// and who watches the wire.
    type Watch: WireWatch;

    /// One for each ring.
    fn queues(&mut self) -> &mut [Self::Queue];

    /// When it next does this, in ns.
    fn next_ns(&self, _own: Own) -> u64 {
        NEVER_NS
    }

    /// Does this, which is due.
    fn act(
        &mut self,
        _own: Own,
        _bed: &mut Testbed<Self::Watch>,
        _now_ns: u64,
    ) -> Result<(), QueueFault> {
        Ok(())
    }

    /// A round of queue `at` told of `done`.
    fn told(
        &mut self,
        bed: &mut Testbed<Self::Watch>,
        at: usize,
        done: Completed,
        now_ns: u64,
    ) -> Result<(), QueueFault>;

    /// The next interrupt by `until_ns`, if there is one: when, and which queue is to be asked.
    /// What leaves the wire by then has left. By the rule of the NIC, unless said otherwise.
    fn next_interrupt(
        &mut self,
        nic: &mut MultiNic<Self::Watch>,
        until_ns: u64,
    ) -> Option<(u64, usize)> {
        nic.next_interrupt(until_ns)
    }

    /// Whether the rest would show nothing new.
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

    /// When its limit has something to do that it put off, in ns.
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

/// What a testbed is made of, beside its queues.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    /// The link rate from a time on: (ns, bit/s), in order of time.
    pub(crate) rates: Vec<(u64, u64)>,
    /// From a round that stopped at its budget to the next, in ns.
    pub(crate) round_ns: u64,
    /// What an interrupt costs the core before it reaps, in ns.
    pub(crate) interrupt_ns: u64,
    /// Whether a limit that wakes up by itself has the device asked too.
    pub(crate) wakeup_reaps: bool,
}

/// A NIC, and when what happens to the queues above it.
pub(crate) struct Testbed<W> {
    pub(crate) nic: Rc<RefCell<MultiNic<W>>>,
    pub(crate) sink: Sink,
    pub(crate) core: Core,
    /// What the wire of ring 0 had carried at each change of the rate: (ns, counters).
    pub(crate) marks: Vec<(u64, WireCounters)>,
    setup: Setup,
    /// How many rates are past.
    rates: usize,
    /// When the core is through with each interrupt that it has not served, and whose it is.
    served: VecDeque<(u64, usize)>,
    /// When the round of each queue goes on.
    rounds_ns: Vec<u64>,
}

impl<W: WireWatch> Testbed<W> {
    pub(crate) fn new(nic: Rc<RefCell<MultiNic<W>>>, setup: Setup) -> Self {
        let rings = nic.borrow().rings();
        Self {
            nic,
            sink: Sink::default(),
            core: Core::default(),
            marks: Vec::new(),
            setup,
            rates: 0,
            served: VecDeque::new(),
            rounds_ns: vec![NEVER_NS; rings],
        }
    }

    /// Does all that is due before `end_ns`.
    pub(crate) fn run_until<E: Experiment<Watch = W>>(
        &mut self,
        own: &mut E,
        end_ns: u64,
    ) -> Result<(), TestbedError> {
        while !own.is_over(self) {
            let first_ns = self.rate_ns().min(own.next_ns(Own::Offer));
            let then_ns = self.then_ns(own);
            // At one time an interrupt comes after what is first, and before the rest.
            let ask_ns = first_ns.min(end_ns).saturating_sub(1).min(then_ns);
            let interrupt = own.next_interrupt(&mut self.nic.borrow_mut(), ask_ns);
            if let Some((at_ns, at)) = interrupt {
                self.interrupt(own, at, at_ns)?;
                continue;
            }
            let now_ns = first_ns.min(then_ns);
            if now_ns >= end_ns {
                break;
            }
            self.nic.borrow_mut().send_until(now_ns);
            self.act(own, now_ns)?;
        }
        Ok(())
    }

    fn rate_ns(&self) -> u64 {
        let rate = self.setup.rates.get(self.rates);
        rate.map_or(NEVER_NS, |rate| rate.0)
    }

    /// When something is due that gives way to interrupts.
    fn then_ns(&self, own: &mut impl Experiment<Watch = W>) -> u64 {
        let own_ns = own.next_ns(Own::GoOn).min(own.next_ns(Own::Look));
        let served_ns = self.served.front().map_or(NEVER_NS, |served| served.0);
        let rounds_ns = self.rounds_ns.iter().copied();
        let wakeups_ns = own.queues().iter().filter_map(TestQueue::wakeup_ns);
        let queues_ns = rounds_ns.chain(wakeups_ns);
        queues_ns.fold(own_ns.min(served_ns), u64::min)
    }

    /// Does what is first of all that is due now.
    fn act<E: Experiment<Watch = W>>(
        &mut self,
        own: &mut E,
        now_ns: u64,
    ) -> Result<(), TestbedError> {
        if self.rate_ns() == now_ns {
            return self.change_rate(now_ns);
        }
        if own.next_ns(Own::Offer) == now_ns {
            return Ok(own.act(Own::Offer, self, now_ns)?);
        }
        if let Some(&(_, at)) = self.served.front().filter(|served| served.0 == now_ns) {
            self.served.pop_front();
            return Ok(self.complete(own, at, now_ns)?);
        }
        let wakes = |queue: &E::Queue| queue.wakeup_ns() == Some(now_ns);
        if let Some(at) = self.rounds_ns.iter().position(|&it| it == now_ns) {
            self.complete(own, at, now_ns)?;
        } else if let Some(at) = own.queues().iter().position(wakes) {
            self.wake(own, at, now_ns)?;
        } else if own.next_ns(Own::GoOn) == now_ns {
            own.act(Own::GoOn, self, now_ns)?;
        } else {
            own.act(Own::Look, self, now_ns)?;
        }
        Ok(())
    }

    fn change_rate(&mut self, now_ns: u64) -> Result<(), TestbedError> {
        let mut nic = self.nic.borrow_mut();
        self.marks.push((now_ns, nic.counters(0)));
        let (_, rate_bits_per_s) = self.setup.rates[self.rates];
        self.rates += 1;
        Ok(nic.set_rate(rate_bits_per_s, now_ns)?)
    }

    fn interrupt(
        &mut self,
        own: &mut impl Experiment<Watch = W>,
        at: usize,
        now_ns: u64,
    ) -> Result<(), QueueFault> {
        // While rounds go on, interrupts are masked.
        if self.rounds_ns[at] != NEVER_NS {
            return Ok(());
        }
        if self.setup.interrupt_ns == 0 {
            return self.complete(own, at, now_ns);
        }
        // One that finds nothing left to reap costs the same.
        let served_ns = self.core.work(now_ns, self.setup.interrupt_ns);
        self.served.push_back((served_ns, at));
        Ok(())
    }

    /// The device is asked.
    fn complete(
        &mut self,
        own: &mut impl Experiment<Watch = W>,
        at: usize,
        now_ns: u64,
    ) -> Result<(), QueueFault> {
        let done = self.round(own, at, now_ns)?;
        self.rounds_ns[at] = if done.more_pending {
            now_ns.saturating_add(self.setup.round_ns)
        } else {
            NEVER_NS
        };
        own.told(self, at, done, now_ns)
    }

    /// A limit does what it put off.
    fn wake(
        &mut self,
        own: &mut impl Experiment<Watch = W>,
        at: usize,
        now_ns: u64,
    ) -> Result<(), QueueFault> {
        if self.setup.wakeup_reaps {
            return self.complete(own, at, now_ns);
        }
        self.nic.borrow_mut().silent = true;
        let done = self.round(own, at, now_ns);
        self.nic.borrow_mut().silent = false;
        own.told(self, at, done?, now_ns)
    }

    fn round(
        &mut self,
        own: &mut impl Experiment<Watch = W>,
        at: usize,
        now_ns: u64,
    ) -> Result<Completed, QueueFault> {
        let done = own.queues()[at].complete(now_ns, &mut self.sink);
        QueueFault::of_round(done, at, now_ns)
    }
}
