//! The thread that is the device: it polls the ring, works at each packet, and tells the queue.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use taut_linux::sched::monotonic_ns;
use taut_measure::meter::{Level, Window};
use taut_measure::trace::Tape;
use taut_path::AnyLimit;
use taut_path::queue::Completer;
use taut_sim::consumer::{Core, Told};

use super::ring::{Measured, RingRx};
use super::sender::{Ends, spin_until};

/// The half of the queue that it owns.
pub type CompletingHalf = Completer<RingRx, AnyLimit, Option<Tape>>;

/// What the consumer does.
pub struct Work {
    pub core: Core,
    /// What a packet costs it, in ns.
    pub packet_ns: u64,
    /// Packets of a poll at most.
    pub poll_packets: u32,
    pub told: Told,
    /// What a packet counts for.
    pub units: u32,
    pub measured: Measured,
}

/// The consumer at work.
pub struct Consumer<'a> {
    half: &'a mut CompletingHalf,
    work: &'a Work,
    limit: Level,
    /// When it must tell at last.
    tell_ns: Option<u64>,
    ends: Ends,
    /// When the last packet was finished, and the longest time between two.
    finished_ns: u64,
    longest_gap_ns: u64,
}

/// What the consumer saw.
#[derive(Debug, Clone, Copy)]
pub struct Consumed {
    /// Median of the limit, in its units.
    pub limit_p50: u64,
    /// The longest time from one finished packet to the next, in ns, as far as it was measured.
    pub longest_gap_ns: u64,
}

impl Window for Measured {
    fn measured_ns(&self, since_ns: u64, now_ns: u64) -> u64 {
        self.part_ns(since_ns, now_ns)
    }
}

impl<'a> Consumer<'a> {
    pub fn new(half: &'a mut CompletingHalf, work: &'a Work) -> Self {
        let now_ns = monotonic_ns();
        let mut limit = Level::new(now_ns, &work.measured);
        limit.change(half.snapshot().limit.into(), now_ns, &work.measured);
        Self {
            half,
            work,
            limit,
            tell_ns: None,
            ends: Ends::default(),
            finished_ns: now_ns,
            longest_gap_ns: 0,
        }
    }

    /// Polls until `is_over` and everything is told.
    pub fn run(mut self, is_over: &AtomicBool) -> Consumed {
        loop {
            // Before the look at the ring: what was sent before is seen then.
            let over = is_over.load(Ordering::Acquire);
            let used_up = self.poll();
            if used_up {
                if self.work.core == Core::Shared {
                    // Its turn is over; the sender's comes if it can send.
                    thread::yield_now();
                }
                continue;
            }
            let ring = self.half.completions();
            if ring.waiting() > 0 {
                continue;
            }
            if over && ring.untold() > 0 {
                self.tell(monotonic_ns());
            } else if over {
                break;
            } else {
                self.wait(is_over);
                self.tell_if_due(monotonic_ns());
            }
        }
        let now_ns = monotonic_ns();
        self.limit
            .change(self.limit.now, now_ns, &self.work.measured);
        Consumed {
            limit_p50: self.limit.at_share(0.5),
            longest_gap_ns: self.longest_gap_ns,
        }
    }

    /// Lets the sender work, until there is something to do or it is time to tell.
    fn wait(&self, is_over: &AtomicBool) {
        if self.work.core == Core::Shared && self.tell_ns.is_some() {
            // No timer: its interrupt would come in the sender's turn, in which nobody can be told anyway, and
            // costs 15 us in a virtual machine. No limit can know of that.
            thread::yield_now();
        } else {
            let is_over = || is_over.load(Ordering::Acquire);
            self.half.completions().sleep(self.tell_ns, is_over);
        }
    }

    /// Finishes what there is, at most one poll. Whether that was all that a poll may.
    fn poll(&mut self) -> bool {
        let mut polled = 0;
        while self.half.completions().waiting() > 0 && polled < self.work.poll_packets {
            let now_ns = spin_until(monotonic_ns() + self.work.packet_ns);
            self.half.completions_mut().finish(now_ns);
            let gap_ns = self.work.measured.part_ns(self.finished_ns, now_ns);
            self.longest_gap_ns = self.longest_gap_ns.max(gap_ns);
            self.finished_ns = now_ns;
            polled += 1;
            match self.work.told {
                Told::Each => self.tell(now_ns),
                Told::Poll => {}
                Told::After(after_ns) => {
                    self.tell_ns.get_or_insert(now_ns + after_ns);
                    self.tell_if_due(now_ns);
                }
            }
        }
        if polled > 0 && self.work.told == Told::Poll {
            self.tell(monotonic_ns());
        }
        polled == self.work.poll_packets
    }

    fn tell_if_due(&mut self, now_ns: u64) {
        let untold = self.half.completions().untold();
        let is_above = untold * u64::from(self.work.units) > self.limit.now;
        let is_due = self.tell_ns.is_some_and(|at_ns| at_ns <= now_ns);
        if untold > 0 && (is_due || (self.tell_ns.is_some() && is_above)) {
            self.tell(now_ns);
        }
    }

    fn tell(&mut self, now_ns: u64) {
        self.tell_ns = None;
        // The ring is memory: it cannot fail, and has no packet that it was not given.
        let _ = self.half.complete(now_ns, &mut self.ends);
        let limit = self.half.snapshot().limit.into();
        self.limit.change(limit, now_ns, &self.work.measured);
    }
}
