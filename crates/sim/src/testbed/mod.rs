//! Queues above one NIC, in virtual time: the loop of every experiment that needs no network.
//!
//! A [`Testbed`] takes what is due, the earliest first: it asks the device, has rounds go on that stopped at
//! their budget, and changes the rate of the wire. What is sent, and what is measured, is an [`Experiment`].

mod book;
mod losses;
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

/// What an experiment does by itself. At one time the rate changes first; then something is offered; then
/// the device is asked, as long as it has to tell; then senders go on; then somebody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Something new comes to be sent.
    Offer,
    /// A sender goes on that was away, or made what it sends now.
    GoOn,
    /// Somebody looks.
    Look,
}

/// What is sent on a testbed, who asks the device, and what is measured.
pub(crate) trait Experiment: Sized {
    /// The queues,
    type Queue: TestQueue;
    /// and who watches the wire.
    type Watch: WireWatch;

    /// When it next does this, in ns.
    fn next_ns(&self, own: Own) -> u64;

    /// Does this, which is due.
    fn act(&mut self, own: Own, bed: &mut Testbed<Self>, now_ns: u64) -> Result<(), QueueFault>;

    /// A round of queue `at` told of `done`.
    fn told(
        &mut self,
        bed: &mut Testbed<Self>,
        at: usize,
        done: Completed,
        now_ns: u64,
    ) -> Result<(), QueueFault>;

    /// The next interrupt by `until_ns`, if there is one: when, and which queue is to be asked. What leaves
    /// the wire by then has left. By the rule of the NIC, unless said otherwise.
    fn next_interrupt(&mut self, bed: &Testbed<Self>, until_ns: u64) -> Option<(u64, usize)> {
        bed.nic.borrow_mut().next_interrupt(until_ns)
    }

    /// Whether the rest would show nothing new.
    fn is_over(&self, _bed: &Testbed<Self>) -> bool {
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

/// One queue, and when its round goes on.
pub(crate) struct Line<Q> {
    pub(crate) queue: Q,
    round_ns: u64,
}

impl<Q: TestQueue> Line<Q> {
    fn tick_ns(&self) -> u64 {
        self.queue.wakeup_ns().unwrap_or(NEVER_NS)
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

/// Queues above one NIC.
pub(crate) struct Testbed<E: Experiment> {
    pub(crate) nic: Rc<RefCell<MultiNic<E::Watch>>>,
    pub(crate) lines: Vec<Line<E::Queue>>,
    pub(crate) sink: Sink,
    pub(crate) core: Core,
    /// What the wire of queue 0 had carried at each change of the rate: (ns, counters).
    pub(crate) marks: Vec<(u64, WireCounters)>,
    setup: Setup,
    /// How many rates are past.
    rates: usize,
    /// When the core is through with each interrupt that it has not served, and whose it is.
    served: VecDeque<(u64, usize)>,
}

impl<E: Experiment> Testbed<E> {
    pub(crate) fn new(
        nic: Rc<RefCell<MultiNic<E::Watch>>>,
        queues: impl IntoIterator<Item = E::Queue>,
        setup: Setup,
    ) -> Self {
        let line = |queue| Line {
            queue,
            round_ns: NEVER_NS,
        };
        Self {
            nic,
            lines: queues.into_iter().map(line).collect(),
            sink: Sink::default(),
            core: Core::default(),
            marks: Vec::new(),
            setup,
            rates: 0,
            served: VecDeque::new(),
        }
    }

    pub(crate) fn queue(&mut self, at: usize) -> &mut E::Queue {
        &mut self.lines[at].queue
    }

    /// Does all that is due before `end_ns`.
    pub(crate) fn run_until(&mut self, own: &mut E, end_ns: u64) -> Result<(), TestbedError> {
        while !own.is_over(self) {
            let first_ns = self.rate_ns().min(own.next_ns(Own::Offer));
            let then_ns = self.then_ns(own);
            // At one time an interrupt comes after what is first, and before the rest.
            let ask_ns = first_ns.min(end_ns).saturating_sub(1).min(then_ns);
            if let Some((at_ns, line)) = own.next_interrupt(self, ask_ns) {
                self.interrupt(own, line, at_ns)?;
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

    fn served_ns(&self) -> u64 {
        self.served.front().map_or(NEVER_NS, |served| served.0)
    }

    /// When something is due that gives way to interrupts.
    fn then_ns(&self, own: &E) -> u64 {
        let lines = self.lines.iter();
        let lines = lines.map(|line| line.round_ns.min(line.tick_ns()));
        let own_ns = own.next_ns(Own::GoOn).min(own.next_ns(Own::Look));
        lines.fold(own_ns.min(self.served_ns()), u64::min)
    }

    /// Does what is first of all that is due now.
    fn act(&mut self, own: &mut E, now_ns: u64) -> Result<(), TestbedError> {
        if self.rate_ns() == now_ns {
            return self.change_rate(now_ns);
        }
        if own.next_ns(Own::Offer) == now_ns {
            return Ok(own.act(Own::Offer, self, now_ns)?);
        }
        if let Some(&(_, line)) = self.served.front().filter(|served| served.0 == now_ns) {
            self.served.pop_front();
            return Ok(self.complete(own, line, now_ns)?);
        }
        let line = |is_due: fn(&Line<E::Queue>) -> u64| {
            let mut lines = self.lines.iter();
            lines.position(|line| is_due(line) == now_ns)
        };
        if let Some(at) = line(|line| line.round_ns) {
            self.complete(own, at, now_ns)?;
        } else if let Some(at) = line(Line::tick_ns) {
            self.tick(own, at, now_ns)?;
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

    fn interrupt(&mut self, own: &mut E, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        // While rounds go on, interrupts are masked.
        if self.lines[at].round_ns != NEVER_NS {
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

    fn complete(&mut self, own: &mut E, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        let line = &mut self.lines[at];
        let done = line.queue.complete(now_ns, &mut self.sink);
        let done = QueueFault::of_round(done, at, now_ns)?;
        line.round_ns = if done.more {
            now_ns.saturating_add(self.setup.round_ns)
        } else {
            NEVER_NS
        };
        own.told(self, at, done, now_ns)
    }

    /// A limit does what it put off.
    fn tick(&mut self, own: &mut E, at: usize, now_ns: u64) -> Result<(), QueueFault> {
        if self.setup.wakeup_reaps {
            return self.complete(own, at, now_ns);
        }
        self.nic.borrow_mut().silent = true;
        let done = self.lines[at].queue.complete(now_ns, &mut self.sink);
        self.nic.borrow_mut().silent = false;
        let done = QueueFault::of_round(done, at, now_ns)?;
        own.told(self, at, done, now_ns)
    }
}
