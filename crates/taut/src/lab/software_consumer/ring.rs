//! The ring between the sender and the program that is its device.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hdrhistogram::Histogram;
use taut_measure::meter::histogram_ns;
use taut_path::in_flight::{self, InFlightCompleter, InFlightSender};
use taut_path::{Completions, Packet, TxRing};
use taut_sim::pattern::SplitMix;

use super::seat::Seat;

/// What is measured of a run, in ns.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Measured {
    /// How much of the time from `since_ns` to `now_ns` it is.
    pub fn part_ns(&self, since_ns: u64, now_ns: u64) -> u64 {
        let end_ns = now_ns.min(self.to_ns);
        end_ns.saturating_sub(since_ns.max(self.from_ns))
    }

    fn has(&self, at_ns: u64) -> bool {
        (self.from_ns..self.to_ns).contains(&at_ns)
    }
}

/// What is known of a packet in a slot.
#[derive(Debug, Default)]
struct Slot {
    sent_ns: AtomicU64,
    /// When the ping was to be sent that this packet is; 0 if it is none.
    ping_ns: AtomicU64,
}

/// What both sides see. Counts never wrap.
struct Shared {
    slots: Box<[Slot]>,
    submitted: AtomicU64,
    finished: AtomicU64,
    /// The consumer's.
    seat: Arc<Seat>,
}

impl Shared {
    /// The key of a packet, and its slot.
    fn slot(&self, packet: u64) -> (u32, &Slot) {
        let key = packet % self.slots.len() as u64;
        (key as u32, &self.slots[key as usize])
    }
}

/// The sender's side.
pub struct RingTx {
    shared: Arc<Shared>,
    in_flight: InFlightSender,
    submitted: u64,
    pings: Pings,
}

/// The consumer's side: the device, and who tells of what it finished.
pub struct RingRx {
    shared: Arc<Shared>,
    in_flight: InFlightCompleter,
    finished: u64,
    told: u64,
    measured: Measured,
    seen: Seen,
}

/// What the consumer saw in the measured time.
pub struct Seen {
    /// From when a ping was to be sent until it was finished.
    pub ping_ns: Histogram<u64>,
    /// The times of all packets from sent to told, added up.
    pub stays_ns: u128,
    pub finished_packets: u64,
}

/// Makes a ring of `slots`, at least 1, whose consumer sleeps in `seat`.
pub fn ring(slots: u32, seat: Arc<Seat>, pings: Pings, measured: Measured) -> (RingTx, RingRx) {
    let (sender, completer) = in_flight::split(slots);
    let shared = Arc::new(Shared {
        slots: (0..slots).map(|_| Slot::default()).collect(),
        submitted: AtomicU64::new(0),
        finished: AtomicU64::new(0),
        seat,
    });
    let tx = RingTx {
        shared: shared.clone(),
        in_flight: sender,
        submitted: 0,
        pings,
    };
    let rx = RingRx {
        shared,
        in_flight: completer,
        finished: 0,
        told: 0,
        measured,
        seen: Seen {
            ping_ns: histogram_ns(),
            stays_ns: 0,
            finished_packets: 0,
        },
    };
    (tx, rx)
}

impl RingTx {
    /// Packets that the consumer has finished.
    pub fn finished(&self) -> u64 {
        self.shared.finished.load(Ordering::Acquire)
    }

    /// Packets that were put in.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }
}

impl TxRing for RingTx {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.in_flight.keys()
    }

    fn slots_free(&self) -> u32 {
        self.in_flight.free()
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let (key, slot) = self.shared.slot(self.submitted);
        slot.sent_ns.store(now_ns, Ordering::Relaxed);
        let ping_ns = self.pings.take_due(now_ns).unwrap_or(0);
        slot.ping_ns.store(ping_ns, Ordering::Relaxed);
        self.in_flight.put(key, packet)?;
        self.submitted += 1;
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        let submitted = &self.shared.submitted;
        submitted.store(self.submitted, Ordering::Release);
        self.shared.seat.wake_sleeper();
        Ok(())
    }
}

impl RingRx {
    /// Packets that are not finished.
    pub fn waiting(&self) -> u64 {
        self.shared.submitted.load(Ordering::Acquire) - self.finished
    }

    /// Packets that are finished and not told of.
    pub fn untold(&self) -> u64 {
        self.finished - self.told
    }

    /// Packets that were told of.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// One packet is finished; there must be one.
    pub fn finish(&mut self, now_ns: u64) {
        let (_, slot) = self.shared.slot(self.finished);
        let ping_ns = slot.ping_ns.load(Ordering::Relaxed);
        if self.measured.has(ping_ns) {
            let wait_ns = now_ns.saturating_sub(ping_ns);
            self.seen.ping_ns.saturating_record(wait_ns);
        }
        self.seen.finished_packets += u64::from(self.measured.has(now_ns));
        self.finished += 1;
        self.shared.finished.store(self.finished, Ordering::Release);
    }

    /// Sleeps until there is a packet, or `until_ns` has come; may end early.
    pub fn sleep(&self, until_ns: Option<u64>, is_over: impl Fn() -> bool) {
        let has_work = || self.waiting() > 0 || is_over();
        self.shared.seat.sleep(until_ns, has_work);
    }

    /// What it saw.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
}

impl Completions for RingRx {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.in_flight.free()
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        for _ in 0..budget_packets {
            if self.untold() == 0 {
                return Ok(false);
            }
            let (key, slot) = self.shared.slot(self.told);
            let sent_ns = slot.sent_ns.load(Ordering::Relaxed);
            self.seen.stays_ns += u128::from(self.measured.part_ns(sent_ns, now_ns));
            self.told += 1;
            // Each was put under its key before it was shown.
            self.in_flight.take(key).into_iter().for_each(&mut *freed);
        }
        Ok(self.untold() > 0)
    }
}

/// Pings: each is the next packet that is sent.
pub struct Pings {
    random: SplitMix,
    mean_ns: u64,
    next_ns: u64,
}

impl Pings {
    /// One each `mean_ns` on average, from `start_ns` on.
    pub fn new(seed: u64, mean_ns: u64, start_ns: u64) -> Self {
        let mut pings = Self {
            random: SplitMix::new(seed),
            mean_ns,
            next_ns: start_ns,
        };
        pings.plan();
        pings
    }

    fn plan(&mut self) {
        let wait_ns = self.random.exponential(self.mean_ns as f64) as u64;
        self.next_ns += wait_ns.max(1);
    }

    /// When the ping was to be sent that can go at `now_ns`, if there is one.
    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_ns;
        (due_ns <= now_ns).then(|| {
            self.plan();
            due_ns
        })
    }
}

#[cfg(test)]
mod tests {
    use taut_path::Frame;

    use super::*;

    fn small(from_ns: u64) -> (RingTx, RingRx) {
        let measured = Measured {
            from_ns,
            to_ns: u64::MAX,
        };
        // The first ping is due within some ns.
        ring(4, Arc::default(), Pings::new(1, 1, 0), measured)
    }

    fn send(tx: &mut RingTx, now_ns: u64) {
        let frame = tx.submitted() as u32;
        tx.submit(Packet::new(Frame::new(frame), 100), now_ns)
            .expect("a free slot");
        let _ = tx.kick(now_ns);
    }

    fn tell(rx: &mut RingRx, now_ns: u64) -> Vec<u32> {
        let mut frames = Vec::new();
        let _ = rx.reap(now_ns, 64, &mut |packet| {
            frames.push(packet.frame().index())
        });
        frames
    }

    #[test]
    fn what_was_sent_is_finished_and_told_in_order_and_frees_its_slot_then() {
        let (mut tx, mut rx) = small(0);
        for round in 0..5 {
            (0..4).for_each(|_| send(&mut tx, 100));
            assert_eq!((tx.slots_free(), rx.waiting()), (0, 4));
            (0..3).for_each(|_| rx.finish(200));
            assert_eq!((rx.untold(), rx.waiting(), tx.slots_free()), (3, 1, 0));
            assert_eq!(tell(&mut rx, 300), [0, 1, 2].map(|at| 4 * round + at));
            assert_eq!((rx.untold(), tx.slots_free()), (0, 3));
            rx.finish(300);
            assert_eq!(tell(&mut rx, 300), [4 * round + 3]);
        }
        assert_eq!(rx.seen().stays_ns, 20 * 200);
        assert_eq!(rx.seen().ping_ns.len(), 20);
    }

    #[test]
    fn only_the_measured_part_of_a_stay_counts_and_no_ping_of_before() {
        let (mut tx, mut rx) = small(250);
        send(&mut tx, 100);
        rx.finish(200);
        tell(&mut rx, 300);
        assert_eq!(rx.seen().stays_ns, 50);
        assert_eq!(rx.seen().ping_ns.len(), 0);
        assert_eq!(rx.seen().finished_packets, 0);
    }
}
