//! For any fault of a driver: the owner receives a named report within twice the stall threshold,
//! and one documented call recovers the queue.
//!
//! A hundred thousand random faults, the same in every run, in virtual time.

use std::collections::HashSet;

use crate::support::names::limits_and;
use crate::support::{Broken, FakeRing, Random, SharedRing as Ring};
use taut_dql::stall::DEFAULT_THRESHOLD_NS;
use taut_path::qdisc::Fifo;
use taut_path::queue::{self, CompleteError, Monitor};
use taut_path::{AnyLimit, Completed, DropReason, Frame, Packet, PacketSink, Queue, Stop};

const THRESHOLD_NS: u64 = DEFAULT_THRESHOLD_NS;
const SLOTS: u32 = 32;
const FAULTS: u32 = 100_000;
/// Packets that must pass after a recovery.
const RECOVERY_PACKETS: u32 = 6;
/// Frames of this queue are below it.
const FOREIGN_FRAMES: u32 = 1 << 31;

/// The faults of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DriverFault {
    /// A packet never completes; its slot is freed or not.
    Lost,
    LostWithSlot,
    /// A packet completes twice; the second is forged.
    Doubled,
    /// A packet returns with another size: recreated, because sizes are private.
    Resized,
    /// A packet of another queue is returned.
    Foreign,
    /// Packets complete out of order.
    Reordered,
    /// A packet completes before its doorbell.
    Early,
    /// A packet completes after one or more resets.
    Late,
    /// The doorbell fails.
    Doorbell,
    /// A reap fails.
    Reaping,
    /// The device rejects packets.
    Rejecting,
}

const ALL: [DriverFault; 11] = [
    DriverFault::Lost,
    DriverFault::LostWithSlot,
    DriverFault::Doubled,
    DriverFault::Resized,
    DriverFault::Foreign,
    DriverFault::Reordered,
    DriverFault::Early,
    DriverFault::Late,
    DriverFault::Doorbell,
    DriverFault::Reaping,
    DriverFault::Rejecting,
];

/// The sink. It accepts each frame of this queue at most once.
#[derive(Default)]
struct Ends {
    ended: HashSet<u32>,
    freed: u32,
    rejected: u32,
    unknown: u32,
}

impl Ends {
    fn end(&mut self, packet: Packet) {
        let frame = packet.into_frame().index();
        if frame < FOREIGN_FRAMES {
            assert!(self.ended.insert(frame), "{frame} came back twice");
        }
    }
}

impl PacketSink for Ends {
    fn freed(&mut self, packet: Packet) {
        self.freed += u32::from(packet.frame().index() < FOREIGN_FRAMES);
        self.end(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.rejected += u32::from(reason == DropReason::DeviceRefused);
        self.end(packet);
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.unknown += 1;
        drop(packet.into_frame());
    }
}

/// A queue on one thread, or its two halves.
enum Driven {
    Whole(Box<Queue<(Ring, Ring), AnyLimit, Fifo>>),
    Halves(
        Box<queue::Sender<Ring, Fifo>>,
        Box<queue::Completer<Ring>>,
        Monitor,
    ),
}

impl Driven {
    fn new(limit: &str, ring: &Ring, split: bool) -> Self {
        let builder = Queue::builder(ring.clone(), ring.clone())
            .limit(limit.parse().expect(limit))
            .with_qdisc(Fifo::new(1_000));
        if !split {
            let queue = builder.build(0).expect("the defaults are valid");
            return Self::Whole(Box::new(queue));
        }
        let halves = builder.build_halves(0).expect("the defaults are valid");
        let (sender, completer, watch) = halves;
        Self::Halves(Box::new(sender), Box::new(completer), watch)
    }

    fn enqueue(&mut self, packet: Packet, now_ns: u64, ends: &mut Ends) {
        match self {
            Self::Whole(queue) => queue.enqueue(packet, now_ns, ends),
            Self::Halves(sender, ..) => sender.enqueue(packet, now_ns, ends),
        }
    }

    fn run(&mut self, now_ns: u64, ends: &mut Ends) -> Stop<Broken> {
        match self {
            Self::Whole(queue) => queue.run(now_ns, ends),
            Self::Halves(sender, ..) => sender.run(now_ns, ends),
        }
    }

    fn complete(
        &mut self,
        now_ns: u64,
        ends: &mut Ends,
    ) -> Result<Completed, CompleteError<Broken>> {
        match self {
            Self::Whole(queue) => queue.complete(now_ns, ends),
            Self::Halves(_, completer, _) => completer.complete(now_ns, ends),
        }
    }

    fn next_wakeup(&self) -> Option<u64> {
        match self {
            Self::Whole(queue) => queue.next_wakeup(),
            Self::Halves(_, completer, _) => completer.next_wakeup(),
        }
    }

    /// The documented call. With a monitor only, several requests are possible.
    fn reset(&mut self, asks: u32, now_ns: u64) {
        match self {
            Self::Whole(queue) => queue.reset(now_ns),
            Self::Halves(_, _, watch) => (0..asks).for_each(|_| watch.request_reset()),
        }
    }

    fn in_flight(&self) -> u32 {
        match self {
            Self::Whole(queue) => queue.in_flight(),
            Self::Halves(_, completer, _) => completer.snapshot().in_flight,
        }
    }

    fn backlog(&self) -> u64 {
        match self {
            Self::Whole(queue) => queue.backlog().packets,
            Self::Halves(sender, ..) => sender.backlog().packets,
        }
    }

    fn unknown_completions(&self) -> u64 {
        match self {
            Self::Whole(queue) => queue.completer_counters().unknown_completions,
            Self::Halves(_, completer, _) => completer.counters().unknown_completions,
        }
    }
}

/// Reports to the owner.
#[derive(Debug, Clone, Copy, Default)]
struct Reports {
    /// Time of an error of `run` or of `complete`.
    error_ns: Option<u64>,
    unknown_ns: Option<u64>,
    stall_ns: Option<u64>,
}

struct World {
    driven: Driven,
    ring: Ring,
    ends: Ends,
    random: Random,
    now_ns: u64,
    frames: u32,
    reports: Reports,
    /// Packets from before a reset, and the number of resets since.
    stale: Vec<(Packet, u32)>,
    /// Creates packets that were sent by another queue.
    other: Driven,
    other_ring: Ring,
    name: String,
}

impl World {
    fn new(limit: &str, split: bool, seed: u64) -> Self {
        let ring = Ring::new(SLOTS);
        let mut world = Self {
            driven: Driven::new(limit, &ring, split),
            ring,
            ends: Ends::default(),
            random: Random(seed),
            now_ns: 0,
            frames: 0,
            reports: Reports::default(),
            stale: Vec::new(),
            other: Driven::new("off", &Ring::new(SLOTS), false),
            other_ring: Ring::new(SLOTS),
            name: format!("{limit}, split {split}, seed {seed}"),
        };
        // Queue numbers repeat after 63: another test might have built queues in the meantime.
        let mut tries = 0;
        while world.driven.unknown_completions() == 0 {
            tries += 1;
            assert!(tries < 100, "{}: a foreign packet is taken", world.name);
            world.other_ring = Ring::new(SLOTS);
            world.other = Driven::new("off", &world.other_ring, false);
            let foreign = world.foreign();
            world.ring.with(|ring| ring.finished.push_back(foreign));
            let _ = world.driven.complete(0, &mut world.ends);
        }
        world
    }

    fn foreign(&mut self) -> Packet {
        self.frames += 1;
        let packet = Packet::new(Frame::new(FOREIGN_FRAMES + self.frames), 700);
        let _ = self.other.run(0, &mut Ends::default());
        self.other.enqueue(packet, 0, &mut Ends::default());
        let _ = self.other.run(0, &mut Ends::default());
        let sent = self.other_ring.with(|ring| ring.in_device.pop_front());
        self.other.reset(1, 0);
        sent.expect("it was sent")
    }

    fn enqueue(&mut self, packets: u32) {
        for _ in 0..packets {
            let bytes = [0, 60, 1_000, 1_514, 9_000][self.random.below(5) as usize];
            let packet = Packet::new(Frame::new(self.frames), bytes);
            self.frames += 1;
            self.driven.enqueue(packet, self.now_ns, &mut self.ends);
        }
    }

    fn run(&mut self) {
        if let Stop::Failed(Broken) = self.driven.run(self.now_ns, &mut self.ends) {
            self.reports.error_ns.get_or_insert(self.now_ns);
        }
    }

    /// Completes as an owner does: again after an error, which hides the other results.
    fn complete(&mut self) {
        let reports = &mut self.reports;
        loop {
            match self.driven.complete(self.now_ns, &mut self.ends) {
                Err(CompleteError::Driver(Broken)) => reports.error_ns.get_or_insert(self.now_ns),
                Err(CompleteError::UnknownCompletions { .. }) => {
                    reports.unknown_ns.get_or_insert(self.now_ns)
                }
                Ok(round) => {
                    if round.stalled.is_some() {
                        reports.stall_ns.get_or_insert(self.now_ns);
                    }
                    return;
                }
            };
        }
    }

    /// Completes, reaps and sends for `steps` microseconds.
    fn continue_running(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now_ns += 1_000;
            let count = 1 + self.random.below(8) as usize;
            self.ring.with(|ring| ring.finish(count));
            self.complete();
            self.run();
        }
    }

    /// Runs until nothing is left to do.
    fn run_to_idle(&mut self) {
        for _ in 0..200 {
            self.continue_running(1);
            let idle = self.ring.with(|ring| ring.packets() == 0);
            if idle && (self.driven.backlog() == 0 || self.driven.in_flight() > 0) {
                return;
            }
        }
        panic!("{}: it never settles", self.name);
    }

    /// Injects a fault into packets in flight. Returns `true` if there was one.
    fn inject(&mut self, fault: DriverFault) -> bool {
        let at = self.random.below(1 << 16) as usize;
        let foreign = (fault == DriverFault::Foreign).then(|| self.foreign());
        let stale = (fault == DriverFault::Late && !self.stale.is_empty()).then(|| {
            let at = at % self.stale.len();
            self.stale.swap_remove(at).0
        });
        self.ring.with(|ring| {
            let device = &mut ring.in_device;
            let index = at % device.len().max(1);
            let made_anew = |from: &Packet, bytes: u32| {
                Packet::new(Frame::new(from.frame().index()), from.wire_bytes() ^ bytes)
            };
            match fault {
                DriverFault::Lost | DriverFault::LostWithSlot => {
                    let Some(packet) = device.remove(index) else {
                        return false;
                    };
                    drop(packet.into_frame());
                    ring.slots_lost += u32::from(fault == DriverFault::LostWithSlot);
                }
                DriverFault::Doubled => {
                    let Some(packet) = device.get(index) else {
                        return false;
                    };
                    let double = made_anew(packet, 0);
                    ring.finished.push_back(double);
                }
                DriverFault::Resized => {
                    let Some(packet) = device.remove(index) else {
                        return false;
                    };
                    let resized = made_anew(&packet, 4);
                    drop(packet.into_frame());
                    ring.finished.push_back(resized);
                }
                DriverFault::Foreign => ring.finished.extend(foreign),
                DriverFault::Reordered => {
                    device.rotate_left(index);
                    return device.len() > 1;
                }
                DriverFault::Early => {
                    let Some(packet) = ring.submitted.pop_front() else {
                        return false;
                    };
                    ring.finished.push_back(packet);
                }
                DriverFault::Late => {
                    let Some(packet) = stale else {
                        return false;
                    };
                    ring.finished.push_back(packet);
                }
                DriverFault::Doorbell => ring.failing_kicks += 1 + at as u32 % 3,
                DriverFault::Reaping => ring.failing_reaps += 1 + at as u32 % 3,
                DriverFault::Rejecting => ring.rejecting += 1 + at as u32 % 3,
            }
            true
        })
    }

    /// The driver recreates its ring, and the owner resets the queue. Some packets of the ring
    /// return later.
    fn reset(&mut self) {
        let keep = self.random.below(4) == 0;
        let old = self
            .ring
            .with(|ring| std::mem::replace(ring, FakeRing::new(SLOTS)));
        let asks = 1 + self.random.below(3) as u32;
        for entry in &mut self.stale {
            entry.1 += asks;
        }
        // A packet that returns after 512 resets would pass as a current one.
        self.stale.retain(|&(_, resets)| resets < 500);
        let left = [old.submitted, old.in_device, old.finished];
        for packet in left.into_iter().flatten() {
            if keep && packet.frame().index() < FOREIGN_FRAMES {
                self.stale.push((packet, 0));
            }
        }
        self.driven.reset(asks, self.now_ns);
        // With two halves, each takes part at its next call.
        self.run();
        self.complete();
        self.reports = Reports::default();
    }

    /// Packets pass as if there had been no fault.
    fn check_recovery(&mut self, faults: &[DriverFault]) {
        self.ring.with(|ring| {
            (ring.failing_kicks, ring.failing_reaps, ring.rejecting) = (0, 0, 0);
        });
        self.run_to_idle();
        self.reports = Reports::default();
        let freed = self.ends.freed;
        self.enqueue(RECOVERY_PACKETS);
        self.run();
        self.run_to_idle();
        let through = self.ends.freed - freed;
        assert_eq!(through, RECOVERY_PACKETS, "{}: after {faults:?}", self.name);
        let in_flight = self.driven.in_flight();
        assert_eq!(in_flight, 0, "{}: after {faults:?}", self.name);
        let Reports {
            error_ns,
            unknown_ns,
            stall_ns,
        } = self.reports;
        let quiet = error_ns.or(unknown_ns).or(stall_ns).is_none();
        assert!(quiet, "{}: {:?} after {faults:?}", self.name, self.reports);
    }

    /// Sends packets, injects faults, and checks the reports. Returns the number of faults.
    fn episode(&mut self) -> u32 {
        self.reports = Reports::default();
        let packets = 1 + self.random.below(24) as u32;
        self.enqueue(packets);
        let unknown_before = self.driven.unknown_completions();
        let rejected_before = self.ends.rejected;
        let mut done = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let fault = ALL[self.random.below(ALL.len() as u64) as usize];
            if fault == DriverFault::Early {
                // A failed doorbell leaves submitted packets without a kick.
                self.ring.with(|ring| ring.failing_kicks += 1);
            }
            self.run();
            if self.inject(fault) {
                done.push(fault);
            }
            let steps = self.random.below(3);
            self.continue_running(steps);
        }
        let wrong_ns = self.now_ns;
        self.follow_wakeups(wrong_ns);
        self.check_reports(&done, wrong_ns, unknown_before, rejected_before);
        if self.reports.stall_ns.is_some() || self.random.below(4) == 0 {
            self.reset();
        }
        self.check_recovery(&done);
        done.len() as u32
    }

    /// Continues with the packets in flight, and follows the wake-up times of the queue, for at
    /// most twice the threshold.
    fn follow_wakeups(&mut self, wrong_ns: u64) {
        self.run_to_idle();
        // No new packets: a limit that is full of lost ones admits none anyway.
        while let Some(wakeup_ns) = self.driven.next_wakeup()
            && self.driven.in_flight() > 0
            && self.reports.stall_ns.is_none()
        {
            assert!(
                wakeup_ns <= wrong_ns + 2 * THRESHOLD_NS + 200_000,
                "{}: no report",
                self.name
            );
            self.now_ns = self.now_ns.max(wakeup_ns);
            self.complete();
            self.run();
        }
    }

    fn check_reports(
        &self,
        done: &[DriverFault],
        wrong_ns: u64,
        unknown_before: u64,
        rejected_before: u32,
    ) {
        let did = |faults: &[DriverFault]| done.iter().any(|fault| faults.contains(fault));
        let context = || format!("{}: {done:?} {:?}", self.name, self.reports);
        let lost = did(&[
            DriverFault::Lost,
            DriverFault::LostWithSlot,
            DriverFault::Resized,
        ]);
        // One report for all faults is enough.
        assert_eq!(self.reports.stall_ns.is_some(), lost, "{}", context());
        if let Some(stall_ns) = self.reports.stall_ns {
            // The lost packet was sent at most a few microseconds before.
            let late_ns = stall_ns.saturating_sub(wrong_ns);
            assert!(late_ns <= 2 * THRESHOLD_NS, "{} {late_ns}", context());
        }
        let forged = did(&[
            DriverFault::Doubled,
            DriverFault::Resized,
            DriverFault::Foreign,
        ]);
        let unknown = self.driven.unknown_completions() - unknown_before;
        assert_eq!(unknown > 0, forged, "{}", context());
        // An error of the driver in the same batch hides the other; the counter has both.
        let named = self.reports.unknown_ns.or(self.reports.error_ns).is_some();
        assert!(named || !forged, "{}", context());
        if did(&[DriverFault::Reaping]) {
            assert!(self.reports.error_ns.is_some(), "{}", context());
        }
        let rejected = self.ends.rejected - rejected_before;
        assert!(
            rejected == 0 || did(&[DriverFault::Rejecting]),
            "{}",
            context()
        );
    }
}

#[test]
fn every_driver_fault_is_reported_and_reset_recovers() {
    let limits = limits_and(&["6000", "5p"]);
    let worlds = limits.len() as u32 * 2;
    let mut all = 0;
    for (number, limit) in limits.into_iter().enumerate() {
        for split in [false, true] {
            let mut world = World::new(limit, split, number as u64 * 2 + u64::from(split));
            let mut faults = 0;
            while faults < FAULTS.div_ceil(worlds) {
                faults += world.episode();
            }
            all += faults;
        }
    }
    assert!(all >= FAULTS);
}
