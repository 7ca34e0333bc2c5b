//! Several transmit queues of one NIC, in virtual time, with or without a budget that they share.
//!
//! [`observe`] lets each queue have the link to itself for a time, one after the other, and after a
//! pause all together, and tells what was in flight then.

use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use taut_path::budget::{self, Budget};
use taut_path::limit::Dynamic;
use taut_path::qdisc::Fifo;
use taut_path::queue::{CompleteError, Completer, Sender};
use taut_path::{AnyLimit, Completed, Event, Probe, Queue};

use crate::NEVER_NS;
use crate::course::{note_change, step_ns};
use crate::error::{TestbedError, demand, demand_countable};
use crate::lane::object;
use crate::nic::{MultiNic, NicConfig, RingOf};
use crate::queue::{MOST_BACKLOG_PACKETS, QueueFault, queue_config};
use crate::sink::Sink;
use crate::source::Note;
use crate::testbed::{Experiment, Setup, TestQueue, Testbed};

/// What holds the sum of all queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedBudget {
    /// Nothing: each queue has its own limit and no more.
    None,
    /// A rule over all queues together.
    Rule {
        /// Which; it must count bytes.
        limit: AnyLimit,
        /// How often it is told, in ns.
        interval_ns: u64,
    },
}

/// The device, and how it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceConfig {
    /// Link rate, each ring, interrupts, seed.
    pub nic: NicConfig,
    /// Queues; at least 1.
    pub queues: usize,
    /// Size of every object, in bytes; at most [`MAX_OBJECT`](taut_dql::MAX_OBJECT).
    pub object_bytes: u32,
    /// Packets that wait above each queue while it sends; 1 to a million.
    pub backlog_packets: u32,
    /// How long each queue has the link to itself, in ns.
    pub alone_ns: u64,
    /// How long none sends then, in ns.
    pub pause_ns: u64,
    /// How long all send together, in ns.
    pub together_ns: u64,
}

impl DeviceConfig {
    /// Whether a device can be run with this; NIC and queues look at their settings when they are made.
    ///
    /// # Errors
    /// If it has no queue, nothing waits above them or more than can, no limit can count an object, or time ends
    /// before the run.
    pub fn check(&self) -> Result<(), TestbedError> {
        if self.queues == 0 {
            return Err(TestbedError::Missing("the device has no queue"));
        }
        let backlog_packets = 1..=MOST_BACKLOG_PACKETS;
        demand(
            backlog_packets.contains(&self.backlog_packets),
            "backlog_packets",
            "1 to 1000000",
        )?;
        demand_countable([self.object_bytes].into_iter(), "object_bytes")?;
        demand(
            self.end_ns().is_some_and(|end_ns| end_ns < NEVER_NS),
            "alone_ns for each queue, pause_ns and together_ns",
            "less than 18446744073709551615 ns together",
        )
    }

    /// When the run ends, if time does not before.
    fn end_ns(&self) -> Option<u64> {
        let alone_ns = self.alone_ns.checked_mul(self.queues as u64)?;
        let begin_ns = alone_ns.checked_add(self.pause_ns)?;
        begin_ns.checked_add(self.together_ns)
    }
}

/// What was seen while all sent together.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The own limit of each queue when that began, in bytes.
    pub limits_bytes: Vec<u32>,
    /// What was in flight in all queues together: most, in bytes.
    pub peak_bytes: u64,
    /// The same, times the ns for which it was.
    pub byte_ns: u128,
    /// Time for which it was above the mark that was asked about, in ns.
    pub above_ns: u64,
    /// The most in each step of time: (ns from the beginning, bytes).
    pub course: Vec<(u64, u64)>,
    /// The budget's limit over time, in bytes.
    pub budget: Vec<(u64, u32)>,
    /// Link time that each queue got, in bytes.
    pub time_bytes: Vec<u64>,
}

/// Runs the device. Time above one queue's limit, and an object for each of the others, is counted.
///
/// # Errors
/// As [`DeviceConfig::check`]; if NIC, queues or budget cannot be made of their settings; if a queue goes wrong.
pub fn observe(config: &DeviceConfig, shared: SharedBudget) -> Result<Seen, TestbedError> {
    config.check()?;
    let (bed, device) = Device::new(config, shared)?;
    device.run(bed)
}

/// Watches all queues together.
#[derive(Default)]
struct Watch {
    seen: Seen,
    /// From when on it is measured, if it is.
    from_ns: Option<u64>,
    step_ns: u64,
    mark_bytes: u64,
    in_flight_bytes: u64,
    since_ns: u64,
}

impl Watch {
    fn change(&mut self, now_ns: u64, change: impl FnOnce(u64) -> u64) {
        let before_bytes = self.in_flight_bytes;
        let since_ns = std::mem::replace(&mut self.since_ns, now_ns);
        self.in_flight_bytes = change(before_bytes);
        let Some(from_ns) = self.from_ns else {
            return;
        };
        let held_ns = now_ns - since_ns.max(from_ns);
        self.seen.byte_ns += u128::from(before_bytes) * u128::from(held_ns);
        if before_bytes > self.mark_bytes && held_ns > 0 {
            self.seen.above_ns += held_ns;
        }
        self.seen.peak_bytes = self.seen.peak_bytes.max(self.in_flight_bytes);
        self.step(now_ns - from_ns);
    }

    fn step(&mut self, at_ns: u64) {
        let start_ns = at_ns / self.step_ns * self.step_ns;
        match self.seen.course.last_mut() {
            Some((step_ns, most)) if *step_ns == start_ns => {
                *most = self.in_flight_bytes.max(*most);
            }
            _ => self.seen.course.push((start_ns, self.in_flight_bytes)),
        }
    }
}

/// One queue's probe on the [`Watch`].
#[derive(Clone)]
struct Eye(Rc<RefCell<Watch>>);

impl Probe for Eye {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        let mut watch = self.0.borrow_mut();
        match event {
            Event::Sent(packet) => {
                let bytes = u64::from(packet.wire_bytes());
                watch.change(now_ns, |before| before + bytes);
            }
            Event::Completed(done) => {
                watch.change(now_ns, |before| before.saturating_sub(done.bytes.into()));
            }
            _ => {}
        }
    }
}

/// A queue under a budget has two halves, also where one thread has both.
struct Halves {
    sender: Sender<RingOf, Fifo, Eye>,
    completer: Completer<RingOf, Dynamic, Eye>,
}

impl TestQueue for Halves {
    fn complete(
        &mut self,
        now_ns: u64,
        sink: &mut Sink,
    ) -> Result<Completed, CompleteError<Infallible>> {
        self.completer.complete(now_ns, sink)
    }

    fn wakeup_ns(&self) -> Option<u64> {
        self.completer.next_wakeup()
    }
}

struct Device<'a> {
    config: &'a DeviceConfig,
    queues: Vec<Halves>,
    /// Those that always have something to send.
    senders: Range<usize>,
    notes: Vec<Arc<Note>>,
    watch: Rc<RefCell<Watch>>,
    budget: Option<Budget>,
    frames: u32,
}

type Bed = Testbed<()>;

impl<'a> Device<'a> {
    fn new(config: &'a DeviceConfig, shared: SharedBudget) -> Result<(Bed, Self), TestbedError> {
        let (nic, rings) = MultiNic::new(&config.nic, config.queues)?;
        let notes: Vec<Arc<Note>> = rings.iter().map(|_| Arc::default()).collect();
        let watch = Rc::new(RefCell::new(Watch::default()));
        let queue = |(note, ring): (&Arc<Note>, RingOf)| {
            Queue::builder(ring.clone(), ring)
                .with_limit(Dynamic::default())
                .with_qdisc(Fifo::new(config.backlog_packets))
                .probe(Eye(watch.clone()))
                .config(queue_config(None, Waker::from(note.clone())))
                .build(0)
                .map_err(TestbedError::Queue)
        };
        let queues = notes.iter().zip(rings).map(queue);
        let queues = queues.collect::<Result<Vec<_>, _>>()?;
        let (budget, halves) = match shared {
            SharedBudget::None => (None, queues.into_iter().map(Queue::split).collect()),
            SharedBudget::Rule { limit, interval_ns } => {
                let (budget, halves) = budget::join(limit, interval_ns, queues, 0)?;
                (Some(budget), halves)
            }
        };
        let halves = halves.into_iter();
        let halves = halves.map(|(sender, completer, _)| Halves { sender, completer });
        let device = Self {
            config,
            queues: halves.collect(),
            senders: 0..0,
            notes,
            watch,
            budget,
            frames: 0,
        };
        Ok((Testbed::new(nic, Setup::default()), device))
    }

    fn run(mut self, mut bed: Bed) -> Result<Seen, TestbedError> {
        let queues = self.config.queues;
        let mut now_ns = 0;
        for queue in 0..queues {
            let until_ns = now_ns + self.config.alone_ns;
            self.phase(&mut bed, queue..queue + 1, now_ns, until_ns)?;
            now_ns = until_ns;
        }
        self.phase(&mut bed, 0..0, now_ns, now_ns + self.config.pause_ns)?;
        now_ns += self.config.pause_ns;
        let before = self.time_bytes(&bed);
        self.begin(now_ns);
        let end_ns = now_ns + self.config.together_ns;
        self.phase(&mut bed, 0..queues, now_ns, end_ns)?;
        let after = self.time_bytes(&bed);
        let mut watch = self.watch.take();
        watch.change(end_ns, |bytes| bytes);
        let got = after
            .iter()
            .zip(before)
            .map(|(after, before)| after - before);
        watch.seen.time_bytes = got.collect();
        Ok(watch.seen)
    }

    fn time_bytes(&self, bed: &Bed) -> Vec<u64> {
        let nic = bed.nic.borrow();
        let queues = 0..self.config.queues;
        queues.map(|ring| nic.counters(ring).time_bytes).collect()
    }

    /// From here on it is measured.
    fn begin(&mut self, now_ns: u64) {
        let limits = self.queues.iter();
        let limits = limits.map(|queue| queue.completer.snapshot().limit);
        let limits: Vec<u32> = limits.collect();
        let others = self.config.queues as u64 * u64::from(self.config.object_bytes);
        let mut watch = self.watch.borrow_mut();
        watch.mark_bytes = u64::from(limits.iter().copied().max().unwrap_or(0)) + others;
        watch.from_ns = Some(now_ns);
        watch.step_ns = step_ns(self.config.together_ns);
        watch.seen.limits_bytes = limits;
    }

    /// These always have something to send, until `until_ns`.
    fn phase(
        &mut self,
        bed: &mut Bed,
        senders: Range<usize>,
        now_ns: u64,
        until_ns: u64,
    ) -> Result<(), TestbedError> {
        self.senders = senders.clone();
        for queue in senders {
            self.send(bed, queue, now_ns)?;
        }
        self.send_woken(bed, now_ns)?;
        // What happens at the end is of this phase.
        bed.run_until(self, until_ns.saturating_add(1))
    }

    fn send_woken(&mut self, bed: &mut Bed, now_ns: u64) -> Result<(), QueueFault> {
        while let Some(queue) = self.notes.iter().position(|note| note.take()) {
            self.send(bed, queue, now_ns)?;
        }
        Ok(())
    }

    /// Fills up what waits, and runs the queue until it is stopped or has nothing left.
    fn send(&mut self, bed: &mut Bed, queue: usize, now_ns: u64) -> Result<(), QueueFault> {
        let own = &mut self.queues[queue].sender;
        let is_sender = self.senders.contains(&queue);
        loop {
            while is_sender && own.backlog().packets < self.config.backlog_packets.into() {
                let packet = object(self.frames, self.config.object_bytes);
                self.frames = self.frames.wrapping_add(1);
                own.enqueue(packet, now_ns, &mut bed.sink);
            }
            let stop = own.run(now_ns, &mut bed.sink);
            let is_idle = QueueFault::of_run(stop, queue, now_ns)?;
            if !is_idle && own.must_wait() {
                return Ok(());
            }
            if own.backlog().packets == 0 && !is_sender {
                return Ok(());
            }
        }
    }

    fn note_budget(&mut self, now_ns: u64) {
        let mut watch = self.watch.borrow_mut();
        if let (Some(budget), Some(from_ns)) = (&self.budget, watch.from_ns) {
            let limit_bytes = budget.limit_bytes();
            note_change(&mut watch.seen.budget, now_ns - from_ns, limit_bytes);
        }
    }
}

impl Experiment for Device<'_> {
    type Queue = Halves;
    type Watch = ();

    fn queues(&mut self) -> &mut [Halves] {
        &mut self.queues
    }

    fn told(
        &mut self,
        bed: &mut Bed,
        at: usize,
        done: Completed,
        now_ns: u64,
    ) -> Result<(), QueueFault> {
        if done.schedule {
            self.send(bed, at, now_ns)?;
        }
        self.send_woken(bed, now_ns)?;
        self.note_budget(now_ns);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use taut_path::TxRing;

    use super::*;
    use crate::queue::Fault;

    #[test]
    fn a_ring_that_makes_a_packet_up_ends_the_device_with_a_report() {
        let config = DeviceConfig {
            nic: NicConfig::plain(8_000_000_000, 64),
            queues: 2,
            object_bytes: 1_000,
            backlog_packets: 10,
            alone_ns: 10_000,
            pause_ns: 10_000,
            together_ns: 10_000,
        };
        let budget = SharedBudget::Rule {
            limit: AnyLimit::dql(),
            interval_ns: 0,
        };
        for shared in [SharedBudget::None, budget] {
            let device = || Device::new(&config, shared.clone()).expect("valid settings");
            let (bed, good) = device();
            assert!(good.run(bed).is_ok());
            let (bed, mut device) = device();
            let ring = device.queues[1].sender.ring_mut();
            ring.submit(object(7, 1_000), 0).expect("there is room");
            let Ok(()) = ring.kick(0);
            let fault = QueueFault {
                queue: 1,
                at_ns: 1_000,
                fault: Fault::Stray { packets: 1 },
            };
            assert_eq!(device.run(bed).err(), Some(fault.into()), "{shared:?}");
        }
    }
}
