//! Whatever a driver does wrong, within twice the stall threshold the owner hears of it by name,
//! and one documented call brings the queue back.
//!
//! A hundred thousand random misdeeds, the same in every run, in virtual time.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use crate::support::names::limits_and;
use crate::support::{Broken, Random};
use taut_dql::stall::DEFAULT_THRESHOLD_NS;
use taut_path::qdisc::Fifo;
use taut_path::queue::{self, CompleteError, Monitor};
use taut_path::{
    AnyLimit, Completed, Completions, DropReason, Frame, Packet, PacketSink, Queue, Stop, TxRing,
};

const THRESHOLD_NS: u64 = DEFAULT_THRESHOLD_NS;
const SLOTS: u32 = 32;
const MISDEEDS: u32 = 100_000;
/// What must get through when a queue is back.
const PROOF_PACKETS: u32 = 6;
/// Frames of this queue are below.
const FOREIGN_FRAMES: u32 = 1 << 31;

/// What a driver can do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misdeed {
    /// A packet never comes back; its slot does or does not.
    Lost,
    LostWithSlot,
    /// A packet comes back, and one like it beside it.
    Doubled,
    /// A packet comes back with another size: made anew, since sizes are private.
    Resized,
    /// A packet of another queue comes back.
    Foreign,
    /// Packets come back in another order.
    Reordered,
    /// A packet comes back before the doorbell rang for it.
    Early,
    /// A packet comes back after the reset that gave it up, perhaps after many.
    Late,
    /// The doorbell fails.
    Doorbell,
    /// Reaping fails.
    Reaping,
    /// The device takes no packet.
    Refusing,
}

const ALL: [Misdeed; 11] = [
    Misdeed::Lost,
    Misdeed::LostWithSlot,
    Misdeed::Doubled,
    Misdeed::Resized,
    Misdeed::Foreign,
    Misdeed::Reordered,
    Misdeed::Early,
    Misdeed::Late,
    Misdeed::Doorbell,
    Misdeed::Reaping,
    Misdeed::Refusing,
];

/// The ring of the device, which does what it is told, right or wrong.
#[derive(Default)]
struct State {
    submitted: VecDeque<Packet>,
    in_device: VecDeque<Packet>,
    finished: VecDeque<Packet>,
    /// Slots of packets that never come back.
    slots_lost: u32,
    failing_kicks: u32,
    failing_reaps: u32,
    refusing: u32,
}

#[derive(Clone, Default)]
struct Ring(Arc<Mutex<State>>);

impl Ring {
    fn with<T>(&self, what: impl FnOnce(&mut State) -> T) -> T {
        what(&mut self.0.lock().expect("nobody panics with it"))
    }

    fn free(&self) -> u32 {
        self.with(|ring| {
            let packets = ring.submitted.len() + ring.in_device.len() + ring.finished.len();
            SLOTS.saturating_sub(packets as u32 + ring.slots_lost)
        })
    }
}

impl TxRing for Ring {
    type Error = Broken;

    fn capacity_slots(&self) -> u32 {
        SLOTS
    }

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.with(|ring| {
            if ring.refusing > 0 {
                ring.refusing -= 1;
                return Err(packet);
            }
            ring.submitted.push_back(packet);
            Ok(())
        })
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Broken> {
        self.with(|ring| {
            if ring.failing_kicks > 0 {
                ring.failing_kicks -= 1;
                return Err(Broken);
            }
            let submitted = std::mem::take(&mut ring.submitted);
            ring.in_device.extend(submitted);
            Ok(())
        })
    }
}

impl Completions for Ring {
    type Error = Broken;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Broken> {
        for _ in 0..budget_packets {
            match self.with(|ring| ring.finished.pop_front()) {
                Some(packet) => freed(packet),
                None => break,
            }
        }
        self.with(|ring| {
            if ring.failing_reaps > 0 {
                ring.failing_reaps -= 1;
                return Err(Broken);
            }
            Ok(!ring.finished.is_empty())
        })
    }
}

/// Where packets end. Each frame of this queue at most once.
#[derive(Default)]
struct Ends {
    ended: HashSet<u32>,
    freed: u32,
    refused: u32,
    stray: u32,
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
        self.refused += u32::from(reason == DropReason::DeviceRefused);
        self.end(packet);
    }

    fn unknown_completion(&mut self, packet: Packet) {
        self.stray += 1;
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

    /// The one call. Whoever has only a watch may ask more than once.
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

    fn stray_packets(&self) -> u64 {
        match self {
            Self::Whole(queue) => queue.completer_counters().unknown_completions,
            Self::Halves(_, completer, _) => completer.counters().unknown_completions,
        }
    }
}

/// What the owner was told of.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    /// By an error of `run` or of `complete`.
    error_ns: Option<u64>,
    stray_ns: Option<u64>,
    stall_ns: Option<u64>,
}

struct World {
    driven: Driven,
    ring: Ring,
    ends: Ends,
    random: Random,
    now_ns: u64,
    frames: u32,
    heard: Heard,
    /// Packets that a reset gave up, and how many resets ago.
    given_up: Vec<(Packet, u32)>,
    /// Makes packets that were sent by another queue.
    other: Driven,
    other_ring: Ring,
    name: String,
}

impl World {
    fn new(limit: &str, split: bool, seed: u64) -> Self {
        let ring = Ring::default();
        let mut world = Self {
            driven: Driven::new(limit, &ring, split),
            ring,
            ends: Ends::default(),
            random: Random(seed),
            now_ns: 0,
            frames: 0,
            heard: Heard::default(),
            given_up: Vec::new(),
            other: Driven::new("off", &Ring::default(), false),
            other_ring: Ring::default(),
            name: format!("{limit}, split {split}, seed {seed}"),
        };
        // Numbers of queues come again after 63: another test may have made as many meanwhile.
        let mut tries = 0;
        while world.driven.stray_packets() == 0 {
            tries += 1;
            assert!(tries < 100, "{}: a foreign packet is taken", world.name);
            world.other_ring = Ring::default();
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
            self.heard.error_ns.get_or_insert(self.now_ns);
        }
    }

    /// As an owner does: again after an error, which hides what else there is to say.
    fn complete(&mut self) {
        let heard = &mut self.heard;
        loop {
            match self.driven.complete(self.now_ns, &mut self.ends) {
                Err(CompleteError::Driver(Broken)) => heard.error_ns.get_or_insert(self.now_ns),
                Err(CompleteError::UnknownCompletions { .. }) => {
                    heard.stray_ns.get_or_insert(self.now_ns)
                }
                Ok(round) => {
                    if round.stalled.is_some() {
                        heard.stall_ns.get_or_insert(self.now_ns);
                    }
                    return;
                }
            };
        }
    }

    /// The device finishes what it has, the owner takes it and sends on, for so many microseconds.
    fn go_on(&mut self, steps: u64) {
        for _ in 0..steps {
            self.now_ns += 1_000;
            let count = 1 + self.random.below(8) as usize;
            self.ring.with(|ring| {
                let count = count.min(ring.in_device.len());
                ring.finished.extend(ring.in_device.drain(..count));
            });
            self.complete();
            self.run();
        }
    }

    /// Until nothing is left to do at once.
    fn settle(&mut self) {
        for _ in 0..200 {
            self.go_on(1);
            let idle = self.ring.with(|ring| {
                [&ring.submitted, &ring.in_device, &ring.finished]
                    .iter()
                    .all(|list| list.is_empty())
            });
            if idle && (self.driven.backlog() == 0 || self.driven.in_flight() > 0) {
                return;
            }
        }
        panic!("{}: it never settles", self.name);
    }

    /// Does one thing wrong to packets that are on their way. Returns whether there was one.
    fn misbehave(&mut self, misdeed: Misdeed) -> bool {
        let at = self.random.below(1 << 16) as usize;
        let foreign = (misdeed == Misdeed::Foreign).then(|| self.foreign());
        let given_up = (misdeed == Misdeed::Late && !self.given_up.is_empty()).then(|| {
            let at = at % self.given_up.len();
            self.given_up.swap_remove(at).0
        });
        self.ring.with(|ring| {
            let device = &mut ring.in_device;
            let index = at % device.len().max(1);
            let made_anew = |from: &Packet, bytes: u32| {
                Packet::new(Frame::new(from.frame().index()), from.wire_bytes() ^ bytes)
            };
            match misdeed {
                Misdeed::Lost | Misdeed::LostWithSlot => {
                    let Some(packet) = device.remove(index) else {
                        return false;
                    };
                    drop(packet.into_frame());
                    ring.slots_lost += u32::from(misdeed == Misdeed::LostWithSlot);
                }
                Misdeed::Doubled => {
                    let Some(packet) = device.get(index) else {
                        return false;
                    };
                    let double = made_anew(packet, 0);
                    ring.finished.push_back(double);
                }
                Misdeed::Resized => {
                    let Some(packet) = device.remove(index) else {
                        return false;
                    };
                    let resized = made_anew(&packet, 4);
                    drop(packet.into_frame());
                    ring.finished.push_back(resized);
                }
                Misdeed::Foreign => ring.finished.extend(foreign),
                Misdeed::Reordered => {
                    device.rotate_left(index);
                    return device.len() > 1;
                }
                Misdeed::Early => {
                    let Some(packet) = ring.submitted.pop_front() else {
                        return false;
                    };
                    ring.finished.push_back(packet);
                }
                Misdeed::Late => {
                    let Some(packet) = given_up else {
                        return false;
                    };
                    ring.finished.push_back(packet);
                }
                Misdeed::Doorbell => ring.failing_kicks += 1 + at as u32 % 3,
                Misdeed::Reaping => ring.failing_reaps += 1 + at as u32 % 3,
                Misdeed::Refusing => ring.refusing += 1 + at as u32 % 3,
            }
            true
        })
    }

    /// The driver makes its ring anew, and the owner resets the queue. Some of what was in the ring
    /// comes back later.
    fn reset(&mut self) {
        let keep = self.random.below(4) == 0;
        let old = self.ring.with(std::mem::take);
        let asks = 1 + self.random.below(3) as u32;
        for entry in &mut self.given_up {
            entry.1 += asks;
        }
        // Whose packet comes back after 512 resets is taken for a new one.
        self.given_up.retain(|&(_, resets)| resets < 500);
        let left = [old.submitted, old.in_device, old.finished];
        for packet in left.into_iter().flatten() {
            if keep && packet.frame().index() < FOREIGN_FRAMES {
                self.given_up.push((packet, 0));
            }
        }
        self.driven.reset(asks, self.now_ns);
        // On halves, each does its part at its next call.
        self.run();
        self.complete();
        self.heard = Heard::default();
    }

    /// Packets go through as if nothing had ever been wrong.
    fn prove(&mut self, misdeeds: &[Misdeed]) {
        self.ring.with(|ring| {
            (ring.failing_kicks, ring.failing_reaps, ring.refusing) = (0, 0, 0);
        });
        self.settle();
        self.heard = Heard::default();
        let freed = self.ends.freed;
        self.enqueue(PROOF_PACKETS);
        self.run();
        self.settle();
        let through = self.ends.freed - freed;
        assert_eq!(through, PROOF_PACKETS, "{}: after {misdeeds:?}", self.name);
        let in_flight = self.driven.in_flight();
        assert_eq!(in_flight, 0, "{}: after {misdeeds:?}", self.name);
        let Heard {
            error_ns,
            stray_ns,
            stall_ns,
        } = self.heard;
        let quiet = error_ns.or(stray_ns).or(stall_ns).is_none();
        assert!(quiet, "{}: {:?} after {misdeeds:?}", self.name, self.heard);
    }

    /// Some packets on their way, some things done wrong, and what the owner hears of it. Returns
    /// how much was wrong.
    fn episode(&mut self) -> u32 {
        self.heard = Heard::default();
        let packets = 1 + self.random.below(24) as u32;
        self.enqueue(packets);
        let strays_before = self.driven.stray_packets();
        let refused_before = self.ends.refused;
        let mut done = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let misdeed = ALL[self.random.below(ALL.len() as u64) as usize];
            if misdeed == Misdeed::Early {
                // What is submitted and not kicked: a doorbell that failed leaves it so.
                self.ring.with(|ring| ring.failing_kicks += 1);
            }
            self.run();
            if self.misbehave(misdeed) {
                done.push(misdeed);
            }
            let steps = self.random.below(3);
            self.go_on(steps);
        }
        let wrong_ns = self.now_ns;
        self.listen(wrong_ns);
        self.check_heard(&done, wrong_ns, strays_before, refused_before);
        if self.heard.stall_ns.is_some() || self.random.below(4) == 0 {
            self.reset();
        }
        self.prove(&done);
        done.len() as u32
    }

    /// Goes on with what is left, and wakes up when the queue asks for it, for twice the threshold
    /// at most.
    fn listen(&mut self, wrong_ns: u64) {
        self.settle();
        // No more packets: a limit that is full of lost ones lets none through either.
        while let Some(wakeup_ns) = self.driven.next_wakeup()
            && self.driven.in_flight() > 0
            && self.heard.stall_ns.is_none()
        {
            assert!(
                wakeup_ns <= wrong_ns + 2 * THRESHOLD_NS + 200_000,
                "{}: nobody is told",
                self.name
            );
            self.now_ns = self.now_ns.max(wakeup_ns);
            self.complete();
            self.run();
        }
    }

    fn check_heard(
        &self,
        done: &[Misdeed],
        wrong_ns: u64,
        strays_before: u64,
        refused_before: u32,
    ) {
        let did = |misdeeds: &[Misdeed]| done.iter().any(|misdeed| misdeeds.contains(misdeed));
        let context = || format!("{}: {done:?} {:?}", self.name, self.heard);
        let lost = did(&[Misdeed::Lost, Misdeed::LostWithSlot, Misdeed::Resized]);
        // Told once for all that was wrong is enough.
        assert_eq!(self.heard.stall_ns.is_some(), lost, "{}", context());
        if let Some(stall_ns) = self.heard.stall_ns {
            // The lost packet was sent at most the few microseconds before.
            let late_ns = stall_ns.saturating_sub(wrong_ns);
            assert!(late_ns <= 2 * THRESHOLD_NS, "{} {late_ns}", context());
        }
        let forged = did(&[Misdeed::Doubled, Misdeed::Resized, Misdeed::Foreign]);
        let strays = self.driven.stray_packets() - strays_before;
        assert_eq!(strays > 0, forged, "{}", context());
        // An error of the driver in the same round hides the other, and the counter has both.
        let named = self.heard.stray_ns.or(self.heard.error_ns).is_some();
        assert!(named || !forged, "{}", context());
        if did(&[Misdeed::Reaping]) {
            assert!(self.heard.error_ns.is_some(), "{}", context());
        }
        let refused = self.ends.refused - refused_before;
        assert!(refused == 0 || did(&[Misdeed::Refusing]), "{}", context());
    }
}

#[test]
fn whatever_a_driver_does_wrong_is_named_in_time_and_one_call_brings_the_queue_back() {
    let limits = limits_and(&["6000", "5p"]);
    let worlds = limits.len() as u32 * 2;
    let mut all = 0;
    for (number, limit) in limits.into_iter().enumerate() {
        for split in [false, true] {
            let mut world = World::new(limit, split, number as u64 * 2 + u64::from(split));
            let mut misdeeds = 0;
            while misdeeds < MISDEEDS.div_ceil(worlds) {
                misdeeds += world.episode();
            }
            all += misdeeds;
        }
    }
    assert!(all >= MISDEEDS);
}
