//! Faults of a driver, a sink or an owner are rejected, counted and reported, and one call recovers
//! the queue.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use crate::support::names::{adapting, limits_and};
use crate::support::{Bench, Books, Broken, FakeRing, SharedRing, Wakes, packet};
use taut_path::driver::InRing;
use taut_path::limit::{CompletedCounts, Dynamic, Fixed, Limit, Unit};
use taut_path::qdisc::{Backlog, Qdisc};
use taut_path::queue::{CompleteError, Completer, Monitor, Repair, RepairError, Sender};
use taut_path::{
    AnyLimit, Completions, DropReason, Event, Frame, Packet, PacketSink, Probe, Queue, QueueConfig,
    Stop,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Records unknown completions and stalls.
#[derive(Default)]
struct Alarms {
    unknown: Vec<u32>,
    stalls: Vec<u64>,
    repairs: Vec<Repair>,
    resets: u32,
}

impl Probe for Alarms {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::UnknownCompletions(packets) => self.unknown.push(packets),
            Event::Stalled(_) => self.stalls.push(now_ns),
            Event::Repaired(repair) => self.repairs.push(repair),
            Event::Reset => self.resets += 1,
            _ => {}
        }
    }
}

fn bench() -> Bench<Fixed, Alarms> {
    let config = QueueConfig::default();
    Bench::with(
        Fixed::packets(4),
        FakeRing::new(64),
        config,
        Alarms::default(),
    )
}

/// Sends `count` more packets, and completes the whole backlog.
fn assert_continues<P: Probe>(bench: &mut Bench<Fixed, P>, count: u32) {
    let before = bench.books.freed.len();
    bench.enqueue(count, 1_000);
    for _ in 0..=count {
        bench.run();
        bench.complete(usize::MAX);
    }
    assert_eq!(bench.books.freed.len() - before, count as usize);
    assert_eq!(bench.queue.in_flight(), 0);
}

#[test]
fn duplicate_completion_is_rejected_and_stops_nothing() {
    let mut bench = bench();
    bench.enqueue(8, 1_000);
    bench.run();
    // A packet cannot be copied, so a duplicate is forged, with the same length or not.
    for bytes in [1_000, 1_004, 996] {
        bench
            .queue
            .device_mut()
            .finished
            .push_back(packet(7_000, bytes));
        let round = bench.try_complete(1);
        assert_eq!(round, Err(CompleteError::UnknownCompletions { packets: 1 }));
        assert_eq!(bench.queue.in_flight(), 3, "real completions count");
        assert_eq!(bench.run(), Stop::Limit);
    }
    assert_eq!(bench.queue.completer_counters().unknown_completions, 3);
    assert_eq!(bench.queue.probe().unknown, [1; 3]);
    assert_eq!(bench.books.unknown, [7_000; 3], "its frame has no owner");
    assert_eq!(bench.books.freed, [0, 1, 2]);
    let error = CompleteError::<Broken>::UnknownCompletions { packets: 3 };
    assert!(matches!(
        error,
        CompleteError::UnknownCompletions { packets: 3 }
    ));
    for _ in 0..5 {
        bench.complete(1);
        bench.run();
    }
    assert_eq!(bench.books.freed, (0..8).collect::<Vec<_>>());
    assert_continues(&mut bench, 20);
}

#[test]
fn frame_of_another_queue_is_not_released() {
    let mut other = Bench::new(Fixed::packets(4), 64);
    other.enqueue(1, 500);
    other.run();
    let foreign = other.queue.device_mut().in_device.pop_front();

    let mut bench = bench();
    bench.enqueue(4, 1_000);
    bench.run();
    let device = bench.queue.device_mut();
    device.finished.extend(foreign);
    assert_eq!(
        bench.try_complete(1),
        Err(CompleteError::UnknownCompletions { packets: 1 })
    );
    assert_eq!(bench.queue.completer_counters().unknown_completions, 1);
    assert_eq!((bench.books.freed.len(), bench.books.unknown.len()), (1, 1));
    assert_eq!(bench.queue.in_flight(), 3);
}

#[test]
fn restart_is_reported_despite_unknown_completions() {
    let mut bench = bench();
    bench.enqueue(8, 1_000);
    bench.run();
    let device = bench.queue.device_mut();
    device.finished.push_back(packet(7_000, 60));
    device.failing_reaps = 1;
    assert_eq!(bench.try_complete(4), Err(CompleteError::Driver(Broken)));
    assert_eq!(bench.queue.probe().unknown, [1], "one event");
    assert!(bench.complete(0).schedule, "and the start is not lost");
}

/// Follows `next_wakeup` until a stall is reported. Returns its time, in ns.
fn first_stall_ns(bench: &mut Bench<Fixed, Alarms>) -> u64 {
    for _ in 0..3 {
        bench.now_ns = bench.queue.next_wakeup().expect("something is in flight") - 1_000;
        let stalled = bench.complete(0).stalled;
        if let Some(stall) = stalled {
            assert_eq!(bench.queue.probe().stalls, [bench.now_ns]);
            assert!(stall.age_ns > SECOND_NS);
            return bench.now_ns;
        }
    }
    panic!("no stall was reported");
}

#[test]
fn lost_packet_is_a_stall_within_two_thresholds() {
    for lost in 1..=4 {
        let mut bench = bench();
        bench.now_ns = 7 * SECOND_NS;
        bench.enqueue(8, 1_000);
        bench.run();
        let sent_ns = bench.now_ns;
        // The others complete at once.
        bench.queue.device_mut().in_device.truncate(4 - lost);
        bench.complete(4);
        bench.queue.flush(sent_ns, &mut bench.books);
        let reported_ns = first_stall_ns(&mut bench);
        assert!(
            reported_ns <= sent_ns + 2 * SECOND_NS + 2_000,
            "{reported_ns}"
        );
        assert_eq!(bench.queue.completer_counters().stalls, 1);

        bench.queue.reset(bench.now_ns);
        assert_eq!(bench.queue.probe().resets, 1);
        assert_eq!(bench.complete(0).stalled, None, "it is over");
        assert_continues(&mut bench, 20);
        assert_eq!(bench.queue.next_wakeup(), None);
    }
}

#[test]
fn repair_corrects_the_ledger_and_keeps_the_limit() {
    let mut bench = bench();
    bench.enqueue(8, 1_000);
    bench.run();
    bench.queue.device_mut().in_device.truncate(1);
    first_stall_ns(&mut bench);
    let repair = Repair {
        was_in_flight: 4,
        in_flight: 1,
    };
    assert_eq!(bench.queue.repair(bench.now_ns), Ok(repair));
    assert_eq!(bench.queue.probe().repairs, [repair]);
    assert_eq!(bench.queue.completer_counters().repairs, 1);
    let limit = bench.queue.snapshot();
    assert_eq!((limit.limit, limit.in_flight), (4, 1));
    // The age of the packet in the ring is unknown, so it is not a stall immediately.
    let completed = bench.complete(0);
    assert_eq!((completed.stalled, completed.schedule), (None, true));
    assert_eq!(bench.run(), Stop::Limit);
    assert_eq!(bench.in_ring(), 4, "lost packets release their room");
    bench.complete(4);
    bench.run();
    bench.complete(1);
    assert_continues(&mut bench, 20);
    assert_eq!(bench.queue.probe().unknown, [0; 0]);
}

#[test]
fn completion_after_repair_is_not_counted_twice() {
    let mut bench = bench();
    bench.enqueue(4, 1_000);
    bench.run();
    let nothing = InRing::default();
    assert!(bench.queue.repair_to(nothing, bench.now_ns).is_ok());
    assert_eq!(bench.queue.in_flight(), 0);
    bench.complete(4);
    assert_eq!(bench.queue.in_flight(), 0);
    assert_eq!(bench.books.freed.len(), 4);
    assert_continues(&mut bench, 20);

    let too_much = InRing {
        packets: u32::MAX,
        bytes: 0,
    };
    assert_eq!(
        bench.queue.repair_to(too_much, bench.now_ns),
        Err(RepairError::TooMuch { units: u32::MAX })
    );
    assert_continues(&mut bench, 20);
}

#[test]
fn repair_needs_the_contents_of_the_ring() {
    struct Mute(FakeRing);
    impl taut_path::TxRing for Mute {
        type Error = Broken;
        fn capacity_slots(&self) -> u32 {
            self.0.capacity_slots()
        }
        fn slots_free(&self) -> u32 {
            taut_path::TxRing::slots_free(&self.0)
        }
        fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
            self.0.submit(packet, now_ns)
        }
        fn kick(&mut self, now_ns: u64) -> Result<(), Broken> {
            self.0.kick(now_ns)
        }
    }
    impl Completions for Mute {
        type Error = Broken;
        fn slots_free(&self) -> u32 {
            Completions::slots_free(&self.0)
        }
        fn reap(
            &mut self,
            now_ns: u64,
            budget_packets: u32,
            freed: &mut dyn FnMut(Packet),
        ) -> Result<bool, Broken> {
            self.0.reap(now_ns, budget_packets, freed)
        }
    }
    let mut queue = Queue::builder_for(Mute(FakeRing::new(8)))
        .build(0)
        .expect("the defaults are valid");
    assert_eq!(queue.repair(0), Err(RepairError::Unsupported));
    assert_eq!(queue.snapshot().in_flight, 0);
}

#[test]
fn packet_rejected_by_the_device_is_uncounted() {
    for limit in limits_and(&["3000", "3p"]) {
        let mut ring = FakeRing::new(64);
        ring.longest_bytes = 1_514;
        let mut bench = Bench::with(
            limit.parse::<AnyLimit>().expect(limit),
            ring,
            QueueConfig::default(),
            (),
        );
        bench.enqueue(1, 9_000);
        assert_eq!(bench.run(), Stop::Idle, "{limit}");
        assert_eq!(bench.queue.device().bursts.len(), 0, "needless doorbell");
        bench.enqueue(1, 1_000);
        bench.enqueue(2, 9_000);
        bench.enqueue(1, 500);
        for _ in 0..4 {
            bench.run();
            bench.complete(usize::MAX);
        }
        let rejected = [0, 2, 3].map(|frame| (frame, DropReason::DeviceRefused));
        assert_eq!(bench.books.dropped, rejected, "{limit}");
        assert_eq!(bench.books.freed, [1, 4], "{limit}");
        let counters = bench.queue.sender_counters();
        assert_eq!((counters.sent_packets, counters.sent_bytes), (2, 1_500));
        assert_eq!(counters.drops.of(DropReason::DeviceRefused), 3);
        assert_eq!(bench.queue.in_flight(), 0, "{limit}");
        assert_eq!(bench.queue.next_wakeup(), None, "{limit}");
    }
}

/// A sink that panics at one of the freed packets.
struct Fragile {
    books: Books,
    panic_at: usize,
}

impl PacketSink for Fragile {
    fn freed(&mut self, packet: Packet) {
        self.books.freed(packet);
        assert_ne!(self.books.freed.len(), self.panic_at, "the sink panics");
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.books.dropped(packet, reason);
    }
}

#[test]
fn panicking_sink_leaves_the_ledger_right() {
    let mut bench = bench();
    bench.enqueue(30, 1_514);
    let mut sink = Fragile {
        books: Books::default(),
        panic_at: 3,
    };
    let mut panics = 0;
    for now_ns in 1..=30 {
        let _ = bench.run();
        bench.queue.device_mut().finish(usize::MAX);
        let queue = &mut bench.queue;
        let round = catch_unwind(AssertUnwindSafe(|| queue.complete(now_ns, &mut sink)));
        panics += usize::from(round.is_err());
        let device = bench.queue.device();
        assert!(bench.queue.in_flight() as usize >= device.packets());
    }
    assert_eq!(panics, 1);
    assert_eq!(sink.books.freed, (0..30).collect::<Vec<_>>());
    assert_eq!(bench.queue.in_flight(), 0, "the third counts too");
    assert_eq!(bench.queue.completer_counters().completed_packets, 30);
}

/// The driver loses the third packet: it never completes.
#[test]
fn panicking_submit_leaves_the_ledger_right() {
    for limit in ["2p", "4000", "dql", "taut"] {
        let limit = limit.parse::<AnyLimit>().expect("a limit");
        let mut bench = Bench::new(limit, 64);
        let (mut panics, mut now_ns) = (0, 0);
        let in_bytes = bench.queue.limit().unit() == Unit::Bytes;
        let units = if in_bytes { 1_514 } else { 1 };
        for _ in 0..20 {
            bench.enqueue(8, 1_514);
            bench.queue.device_mut().panics_after = Some(2);
            while bench.queue.backlog().packets > 0 || bench.in_ring() > 0 {
                now_ns += 1_000;
                let (queue, books) = (&mut bench.queue, &mut bench.books);
                let run = catch_unwind(AssertUnwindSafe(|| queue.run(now_ns, books)));
                panics += u64::from(run.is_err());
                bench.queue.device_mut().finish(usize::MAX);
                let completed = bench.queue.complete(now_ns, &mut bench.books);
                completed.expect("the device is reaped");
                let in_ring = bench.in_ring() as u32 * units;
                assert_eq!(bench.queue.in_flight(), in_ring, "lost units are released");
            }
        }
        assert_eq!((panics, bench.books.freed.len()), (20, 20 * 7));
        let counters = bench.queue.sender_counters();
        assert_eq!(counters.sent_packets, 20 * 7);
        assert_eq!(counters.drops.of(DropReason::DeviceRefused), 20);
        let lost_bytes = if in_bytes { 0 } else { 20 * 1_514 };
        assert_eq!(counters.sent_bytes, 20 * 7 * 1_514 + lost_bytes);
    }
}

/// A discipline without ready packets.
struct Shaper(Vec<Packet>);

impl Qdisc for Shaper {
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, _sink: &mut dyn PacketSink) {
        self.0.push(packet);
    }

    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        None
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.0.drain(..).for_each(on_packet);
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        true
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.0.len() as u64,
            bytes: 0,
        }
    }

    fn next_ready(&self, _now_ns: u64) -> Option<u64> {
        Some(SECOND_NS)
    }
}

#[test]
fn flush_empties_a_shaper() {
    let built = Queue::builder_for(FakeRing::new(64))
        .with_qdisc(Shaper(Vec::new()))
        .build(0);
    let (mut queue, mut books) = (built.expect("valid settings"), Books::default());
    for frame in 0..30 {
        queue.enqueue(packet(frame, 100), 0, &mut books);
    }
    assert_eq!(queue.run(5, &mut books), Stop::NotReady(SECOND_NS));
    queue.flush(10, &mut books);
    let all: Vec<_> = (0..30).map(|f| (f, DropReason::Flushed)).collect();
    assert_eq!((queue.backlog().packets, &books.dropped), (0, &all));
}

#[test]
fn flush_makes_no_codel_decision() {
    for name in [
        "pfifo",
        "pfifo_fast",
        "codel ecn ce_threshold 1ms",
        "fq_codel ce_threshold 1ms",
    ] {
        let built = Queue::builder_for(FakeRing::new(4))
            .qdisc(name.parse().expect(name))
            .limit(AnyLimit::packets(2))
            .build(0);
        let (mut queue, mut books) = (built.expect("valid settings"), Books::default());
        for frame in 0..30 {
            let mut packet = packet(frame, 100);
            packet.flow = frame % 3;
            packet.priority = (frame % 16) as u8;
            packet.set_ecn(taut_path::Ecn::Capable);
            queue.enqueue(packet, 0, &mut books);
        }
        // Each has waited for a second, far too long.
        queue.flush(SECOND_NS, &mut books);
        assert_eq!(books.marked, [0; 0], "{name}");
        assert!(books.dropped.iter().all(|&(_, r)| r == DropReason::Flushed));
        let mut frames: Vec<u32> = books.dropped.iter().map(|&(frame, _)| frame).collect();
        frames.sort_unstable();
        assert_eq!(frames, (0..30).collect::<Vec<_>>(), "{name}");
        assert_eq!(queue.backlog(), Backlog::default(), "{name}");
        // The discipline works as a new one.
        books.dropped.clear();
        queue.enqueue(packet(30, 100), SECOND_NS, &mut books);
        assert_eq!(queue.run(SECOND_NS, &mut books), Stop::Idle, "{name}");
        assert_eq!(queue.device().packets(), 1, "{name}");
    }
}

#[test]
fn closed_queue_returns_packets_and_device() {
    let mut bench = bench();
    bench.enqueue(6, 100);
    bench.run();
    let (device, _) = bench.queue.close(0, &mut bench.books);
    assert_eq!(device.packets(), 4);
    assert_eq!(bench.books.dropped.len(), 2);
}

type Halves = (
    Sender<SharedRing>,
    Completer<SharedRing>,
    Monitor,
    SharedRing,
);

fn halves(limit: AnyLimit, slots: u32) -> Halves {
    let ring = SharedRing::new(slots);
    let halves = Queue::builder(ring.clone(), ring.clone())
        .limit(limit)
        .build_halves(0);
    let (sender, completer, watch) = halves.expect("valid settings");
    (sender, completer, watch, ring)
}

#[test]
fn concurrent_resets_merge() {
    let (mut sender, mut completer, watch, ring) = halves(AnyLimit::packets(2), 64);
    let (mut books, mut late) = (Books::default(), Vec::new());
    for frame in 0..12 {
        sender.enqueue(packet(frame, 100), 0, &mut books);
    }
    for asks in 1..=4 {
        assert_eq!(sender.run(0, &mut books), Stop::Limit);
        late.push(ring.get().in_device.pop_front().expect("it was sent"));
        for _ in 0..asks {
            watch.request_reset();
        }
        assert!(!sender.must_wait(), "the reset waits for it");
        assert_eq!(sender.run(1, &mut books), Stop::Limit, "until it is ended");
        let round = completer.complete(2, &mut books);
        assert!(round.is_ok_and(|round| round.schedule));
        assert_eq!(completer.snapshot().in_flight, 0);
        assert_eq!(completer.counters().resets, asks);
    }
    assert_eq!(sender.run(3, &mut books), Stop::Limit);
    // Those of four epochs return, after several resets.
    ring.get().finished.extend(late);
    let round = completer
        .complete(4, &mut books)
        .expect("stale is not an error");
    assert_eq!(
        (round.counts, round.stale_packets),
        (CompletedCounts::default(), 4)
    );
    assert_eq!(completer.snapshot().in_flight, 2);
    ring.get().finish(usize::MAX);
    let round = completer
        .complete(5, &mut books)
        .expect("stale is not an error");
    // One of each previous epoch was still in the ring.
    assert_eq!((round.counts.packets, round.stale_packets), (2, 4));
    assert_eq!(completer.snapshot().in_flight, 0);
    assert_eq!(completer.counters().unknown_completions, 0);
    assert_eq!(watch.snapshot().completer.stale_packets, 8);
}

#[test]
fn reset_of_halves_works_in_either_order() {
    let (mut sender, mut completer, watch, ring) = halves(AnyLimit::packets(2), 64);
    let mut books = Books::default();
    for frame in 0..6 {
        sender.enqueue(packet(frame, 100), 0, &mut books);
    }
    let _ = sender.run(0, &mut books);
    watch.request_reset();
    // The completer alone ends nothing, and schedules the sender.
    for now_ns in 1..3 {
        let round = completer.complete(now_ns, &mut books).expect("no error");
        assert!(round.schedule);
        assert_eq!(completer.snapshot().in_flight, 2);
    }
    ring.get().in_device.clear();
    let _ = sender.run(3, &mut books);
    assert!(completer.complete(4, &mut books).is_ok());
    assert_eq!(completer.snapshot().in_flight, 0);
    assert_eq!(sender.run(5, &mut books), Stop::Limit);
    assert_eq!(completer.snapshot().in_flight, 2);
}

#[test]
fn completer_ends_a_reset_without_a_sender() {
    let (mut sender, mut completer, watch, ring) = halves(AnyLimit::packets(2), 64);
    let mut books = Books::default();
    sender.enqueue(packet(0, 100), 0, &mut books);
    let _ = sender.run(0, &mut books);
    drop(sender);
    // The device lost it.
    ring.get().in_device.clear();
    watch.request_reset();
    let round = completer.complete(1, &mut books).expect("no error");
    assert!(!round.schedule, "there is no sender");
    assert_eq!(completer.next_wakeup(), Some(0), "the reset has begun");
    let _ = completer.complete(2, &mut books).expect("no error");
    assert_eq!(
        (completer.snapshot().in_flight, completer.counters().resets),
        (0, 1)
    );
    assert_ne!(completer.next_wakeup(), Some(0));
}

#[test]
fn packets_before_a_reset_are_not_a_stall() {
    let (mut sender, mut completer, watch, _ring) = halves(AnyLimit::off(), 64);
    let mut books = Books::default();
    sender.enqueue(packet(0, 100), 0, &mut books);
    assert_eq!(sender.run(0, &mut books), Stop::Idle);
    let now_ns = 5 * SECOND_NS;
    let round = completer.complete(now_ns, &mut books).expect("no error");
    assert!(round.stalled.is_some());
    watch.request_reset();
    sender.enqueue(packet(1, 100), now_ns, &mut books);
    let stop = sender.run(now_ns, &mut books);
    assert_eq!(stop, Stop::Limit, "the other half has not ended the reset");
    let round = completer.complete(now_ns, &mut books).expect("no error");
    assert_eq!((round.stalled, round.schedule), (None, true));
    assert_eq!(sender.run(now_ns, &mut books), Stop::Idle);
    let wakeup_ns = completer.next_wakeup().expect("it is in flight");
    assert_eq!(wakeup_ns, now_ns + SECOND_NS + 1);
    let round = completer.complete(wakeup_ns, &mut books).expect("no error");
    assert!(round.stalled.is_some(), "a stall of the new packet");
}

type Request = Box<dyn FnMut()>;

/// A ring that makes a request before it returns each packet.
struct Interleaved {
    ring: SharedRing,
    request: Rc<RefCell<Option<Request>>>,
}

impl Completions for Interleaved {
    type Error = Broken;

    fn slots_free(&self) -> u32 {
        Completions::slots_free(&self.ring)
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        _budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Broken> {
        loop {
            if let Some(request) = &mut *self.request.borrow_mut() {
                request();
            }
            let finished = self.ring.get().finished.pop_front();
            match finished {
                Some(packet) => freed(packet),
                None => return Ok(false),
            }
        }
    }
}

#[test]
fn reset_during_a_reap_counts_packets_once() {
    for resets in 0..6_u32 {
        let ring = SharedRing::new(64);
        let request: Rc<RefCell<Option<Request>>> = Rc::default();
        let completions = Interleaved {
            ring: ring.clone(),
            request: request.clone(),
        };
        let halves = Queue::builder(ring.clone(), completions)
            .limit(AnyLimit::off())
            .build_halves(0);
        let (sender, mut completer, _) = halves.expect("valid settings");
        let (sender, mut books) = (Rc::new(RefCell::new(sender)), Books::default());
        let send = {
            let (sender, ring) = (sender.clone(), ring.clone());
            move |packets: u32| {
                let (mut sender, mut books) = (sender.borrow_mut(), Books::default());
                for _ in 0..packets {
                    sender.enqueue(packet(0, 100), 0, &mut books);
                }
                let stop = sender.run(0, &mut books);
                ring.get().finish(usize::MAX);
                stop
            }
        };
        assert_eq!(send(2), Stop::Idle);
        let mut left = resets;
        let (asking, sending) = (sender.clone(), send.clone());
        *request.borrow_mut() = Some(Box::new(move || {
            if left > 0 {
                left -= 1;
                asking.borrow().request_reset();
                // The sender begins it, and waits for the end of this reap.
                assert_eq!(sending(1), Stop::Limit);
            }
        }));
        let round = completer.complete(1, &mut books).expect("all were sent");
        assert_eq!((round.counts.packets, books.freed.len()), (2, 2));
        *request.borrow_mut() = None;
        assert_eq!(ring.get().packets(), 0, "nothing was sent in the meantime");
        // The next call ends the reset, and the backlog is sent in the new epoch.
        assert!(completer.complete(2, &mut books).is_ok());
        assert_eq!(completer.counters().resets, u64::from(resets > 0));
        assert_eq!(send(1), Stop::Idle);
        assert_eq!(completer.snapshot().in_flight, (resets.min(3) + 1) * 100);
        let round = completer.complete(3, &mut books).expect("all were sent");
        assert_eq!(round.stale_packets, 0);
        assert_eq!(completer.snapshot().in_flight, 0);
        assert_eq!(completer.counters().unknown_completions, 0);
    }
}

#[test]
fn reset_without_a_completer_sends_nothing() {
    let wakes = Arc::new(Wakes::default());
    let ring = SharedRing::new(8);
    let config = QueueConfig {
        completer_waker: wakes.clone().into(),
        ..QueueConfig::default()
    };
    let halves = Queue::builder(ring.clone(), ring.clone())
        .limit(AnyLimit::off())
        .config(config)
        .build_halves(0);
    let (mut sender, mut completer, monitor) = halves.expect("valid settings");
    let mut books = Books::default();
    sender.enqueue(packet(0, 100), 0, &mut books);
    assert_eq!(sender.run(0, &mut books), Stop::Idle);
    sender.enqueue(packet(1, 100), 0, &mut books);
    monitor.request_reset();
    assert_eq!(wakes.take(), 1, "the completer has work");
    for now_ns in [1, SECOND_NS, 10 * SECOND_NS] {
        assert_eq!(sender.run(now_ns, &mut books), Stop::Limit);
    }
    assert_eq!(wakes.take(), 1, "once, when the reset began");
    assert!(sender.must_wait(), "it may sleep");
    assert_eq!(ring.get().packets(), 1, "nothing was sent");
    assert!(completer.check_stall(10 * SECOND_NS).is_some());
    // One call of the completer suffices, even if its reap fails.
    ring.get().failing_reaps = 1;
    let failed = completer.complete(11 * SECOND_NS, &mut books);
    assert!(failed.is_err());
    assert_eq!(
        (completer.wakeups(), completer.snapshot().in_flight),
        (1, 0)
    );
    assert_eq!(sender.run(11 * SECOND_NS, &mut books), Stop::Idle);
    ring.get().finish(usize::MAX);
    let round = completer.complete(12 * SECOND_NS, &mut books);
    let round = round.expect("no error");
    assert_eq!((round.counts.packets, round.stale_packets), (1, 1));
    assert!(round.schedule, "the failed batch could not report it");
}

#[test]
fn reset_after_the_completer_dropped_closes_the_queue() {
    let (mut sender, completer, watch, _ring) = halves(AnyLimit::packets(2), 8);
    let mut books = Books::default();
    for frame in 0..4 {
        sender.enqueue(packet(frame, 100), 0, &mut books);
    }
    assert_eq!(sender.run(0, &mut books), Stop::Limit);
    watch.request_reset();
    assert_eq!(sender.run(1, &mut books), Stop::Limit);
    drop(completer);
    assert_eq!(sender.run(2, &mut books), Stop::Closed);
    assert!(!sender.must_wait());
}

#[test]
fn reset_ends_while_the_device_is_removed() {
    let (mut sender, mut completer, monitor, ring) = halves(AnyLimit::packets(2), 64);
    let mut books = Books::default();
    for frame in 0..8 {
        sender.enqueue(packet(frame, 100), 0, &mut books);
    }
    assert_eq!(sender.run(0, &mut books), Stop::Limit);
    // The device is removed with the packets in its ring: every call fails.
    ring.get().in_device.clear();
    ring.get().failing_kicks = u32::MAX;
    ring.get().failing_reaps = 1;
    monitor.request_reset();
    assert_eq!(sender.run(1, &mut books), Stop::Limit);
    assert!(completer.complete(2, &mut books).is_err());
    assert_eq!(completer.snapshot().in_flight, 0);
    assert_eq!(completer.counters().resets, 1);
    assert!(matches!(sender.run(3, &mut books), Stop::Failed(_)));
    let sent = completer.snapshot().in_flight;
    assert!(sent > 0, "the sender runs, and the device has not seen it");
    // Another device takes its place.
    ring.get().failing_kicks = 0;
    monitor.request_reset();
    assert_eq!(sender.run(4, &mut books), Stop::Limit);
    assert!(
        completer
            .complete(5, &mut books)
            .is_ok_and(|batch| batch.schedule)
    );
    assert_eq!(sender.run(6, &mut books), Stop::Limit);
    let in_flight = completer.snapshot().in_flight;
    ring.get().finish(usize::MAX);
    let batch = completer.complete(7, &mut books).expect("no error");
    assert_eq!(
        (batch.counts.packets, batch.stale_packets),
        (in_flight, sent)
    );
    assert_eq!(completer.counters().unknown_completions, 0);
}

#[test]
fn request_during_a_reset_is_another_reset() {
    let (mut sender, mut completer, watch, _ring) = halves(AnyLimit::off(), 8);
    let mut books = Books::default();
    watch.request_reset();
    assert_eq!(sender.run(0, &mut books), Stop::Limit);
    watch.request_reset();
    assert!(completer.complete(1, &mut books).is_ok());
    assert_eq!(completer.counters().resets, 1);
    assert!(!sender.must_wait(), "the second one has not begun");
    assert_eq!(sender.run(2, &mut books), Stop::Limit);
    assert!(completer.complete(3, &mut books).is_ok());
    assert_eq!(completer.counters().resets, 2);
    assert_eq!(sender.run(4, &mut books), Stop::Idle);
}

#[test]
fn concurrent_resets_leave_the_ledger_right() {
    const PACKETS: u32 = 20_000;
    let (mut sender, mut completer, watch, ring) = halves(AnyLimit::dql(), 64);
    let (sent, done) = thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let mut books = Books::default();
            let mut offered = 0;
            while offered < PACKETS || sender.backlog().packets > 0 {
                while offered < PACKETS
                    && sender.offer(packet(offered, 1_514), 0, &mut books).is_ok()
                {
                    offered += 1;
                }
                let stop = sender.run(0, &mut books);
                assert!(!matches!(stop, Stop::Failed(_)));
                thread::yield_now();
            }
            sender.counters().sent_packets
        });
        let completing = scope.spawn(|| {
            let (mut books, mut now_ns) = (Books::default(), 0);
            while books.freed.len() < PACKETS as usize {
                now_ns += 1_000;
                ring.get().finish(usize::MAX);
                let round = completer.complete(now_ns, &mut books);
                assert!(round.is_ok(), "no unknown completion");
                if now_ns % 50_000 == 0 {
                    watch.request_reset();
                }
                thread::yield_now();
            }
            books.freed.len() as u64
        });
        let sent = sending.join().expect("it does not panic");
        (sent, completing.join().expect("it does not panic"))
    });
    assert_eq!((sent, done), (PACKETS.into(), PACKETS.into()));
    // The last reset might wait for the sender.
    let mut books = Books::default();
    let _ = sender.run(0, &mut books);
    assert!(completer.complete(SECOND_NS, &mut books).is_ok());
    assert_eq!(sender.run(0, &mut books), Stop::Idle);
    assert_eq!(completer.snapshot().in_flight, 0);
    assert!(completer.counters().resets > 0);
}

#[test]
fn reset_clears_a_dynamic_limit() {
    let mut bench = Bench::new(Dynamic::default(), 64);
    for _ in 0..50 {
        bench.enqueue(64, 1_514);
        bench.run();
        bench.complete(usize::MAX);
    }
    assert!(bench.queue.snapshot().limit > 10_000);
    bench.queue.reset(bench.now_ns);
    assert_eq!(bench.queue.snapshot().limit, 0);
    assert_eq!(Frame::new(7).index(), 7);
}

/// One packet (`lost`) never completes while others do, in the order of `complete_at`. Returns the
/// time from its submission to the report, in ns.
fn loss_detection_time_ns(limit: &str, lost: u32) -> u64 {
    let (tx, completions, device) = taut_path::driver::testing::mock::ring(64);
    let limit: AnyLimit = limit.parse().expect("a limit");
    let queue = Queue::builder(tx, completions).limit(limit);
    let mut queue = queue.build(0).expect("a queue");
    let mut books = Books::default();
    let (mut now_ns, mut lost_at_ns, mut frame) = (0, None, 0);
    while now_ns < 20 * SECOND_NS {
        for _ in 0..16 {
            queue.enqueue(packet(frame, 1_000), now_ns, &mut books);
            frame += 1;
        }
        let _ = queue.run(now_ns, &mut books);
        now_ns += SECOND_NS / 1_000;
        if lost_at_ns.is_none() && frame > lost {
            assert_eq!(device.drop_completions(1), 1);
            lost_at_ns = Some(now_ns);
        }
        device.complete(usize::MAX);
        let completed = queue.complete(now_ns, &mut books).expect("no error");
        if let (Some(stall), Some(lost_at_ns)) = (completed.stalled, lost_at_ns) {
            // An age is overstated by at most an eighth of the threshold.
            let sent_ns = lost_at_ns - SECOND_NS / 1_000;
            assert!(stall.since_ns + SECOND_NS / 8 >= sent_ns, "{stall:?}");
            // Recover.
            queue.reset(now_ns);
            let _ = queue.run(now_ns, &mut books);
            assert_eq!(
                queue
                    .complete(now_ns, &mut books)
                    .expect("no error")
                    .stalled,
                None
            );
            return now_ns - lost_at_ns;
        }
        assert_eq!(completed.stalled, None, "nothing was lost by {now_ns}");
    }
    panic!("the loss was not reported");
}

#[test]
fn packet_lost_among_completions_is_found() {
    for limit in limits_and(&["40000", "16p"]) {
        // At the start, and within several ages.
        for lost in [0, 5_000, 37_000, 70_001] {
            let after_ns = loss_detection_time_ns(limit, lost);
            let late_ns = SECOND_NS + SECOND_NS / 500;
            assert!(after_ns <= late_ns, "{limit}, {lost}: {after_ns}");
        }
    }
}

#[test]
fn lossless_queue_never_stalls() {
    for limit in limits_and(&["40000", "16p"]) {
        let (tx, completions, device) = taut_path::driver::testing::mock::ring(64);
        let limit: AnyLimit = limit.parse().expect("a limit");
        let queue = Queue::builder(tx, completions).limit(limit);
        let mut queue = queue.build(0).expect("a queue");
        let (mut books, mut frame) = (Books::default(), 0);
        let mut random = crate::support::Random(7);
        let mut now_ns = 0;
        while now_ns < 10 * SECOND_NS {
            for _ in 0..random.below(20) {
                queue.enqueue(packet(frame, 1_000), now_ns, &mut books);
                frame += 1;
            }
            let _ = queue.run(now_ns, &mut books);
            now_ns += random.below(2_000_000) + 1;
            // Out of order, but the oldest packet never stays for long.
            for _ in 0..random.below(12) {
                device.complete_at(random.below(8) as usize);
            }
            device.complete(8);
            let completed = queue.complete(now_ns, &mut books).expect("no error");
            assert_eq!(completed.stalled, None, "at {now_ns}");
        }
        assert_eq!(queue.completer_counters().stalls, 0);
    }
}

#[test]
fn repair_keeps_the_learnt_limit() {
    let adapting = adapting().flat_map(|it| [it.name.into(), format!("{}:packets", it.name)]);
    for rule in adapting {
        let limit: AnyLimit = rule.parse().expect("a limit");
        let ring = FakeRing::new(1_024);
        let mut bench = Bench::with(limit, ring, QueueConfig::default(), ());
        // 40 packets between two interrupts.
        for _ in 0..200 {
            bench.enqueue(40, 1_000);
            bench.run();
            bench.now_ns += 400_000;
            bench.complete(40);
        }
        bench.enqueue(2_000, 1_000);
        bench.run();
        let before = bench.queue.snapshot();
        assert!(before.limit > 2, "{rule} learnt {}", before.limit);
        let full = bench.in_ring();
        bench.queue.device_mut().in_device.clear();
        assert!(bench.queue.repair(bench.now_ns).is_ok(), "{rule}");
        assert_eq!(bench.queue.snapshot().limit, before.limit, "{rule}");
        bench.complete(0);
        bench.run();
        assert_eq!(bench.in_ring(), full, "{rule}");
    }
}

#[test]
fn stall_is_reported_at_the_threshold() {
    let mut bench = bench();
    bench.enqueue(1, 1_000);
    bench.run();
    bench.now_ns = SECOND_NS - 10_000;
    assert_eq!(bench.complete(0).stalled, None);
    bench.now_ns = SECOND_NS;
    assert!(bench.complete(0).stalled.is_some());
}

#[test]
fn lasting_stall_wakes_once_per_threshold() {
    let mut bench = bench();
    bench.enqueue(8, 1_000);
    bench.run();
    let reported_ns = first_stall_ns(&mut bench);
    assert_eq!(bench.queue.next_wakeup(), Some(reported_ns + SECOND_NS));
    // An earlier poll reports it too.
    assert!(bench.complete(0).stalled.is_some());
}
