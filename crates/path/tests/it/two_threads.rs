//! A sender thread and a completer thread, with nothing between them but the queue's two halves.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_path::qdisc::Fifo;
use taut_path::queue::{QueueConfig, Reaper, Sender, split};
use taut_path::{Completions, DropReason, Frame, Packet, PacketSink, Stop, TxRing};

const PACKETS: u64 = 1_000_000;
const PACKET_BYTES: u32 = 1_514;
const SLOTS: u32 = 512;

/// Not a measure of time: it only ends a test that hangs.
const HANG_GUARD: Duration = Duration::from_secs(120);

/// A ring whose packets all look alike, so that two totals are all of it.
#[derive(Clone, Default)]
struct Ring {
    submitted: Arc<AtomicU64>,
    reaped: Arc<AtomicU64>,
}

impl Ring {
    fn free(&self) -> u32 {
        // Reaped first: it never overtakes what was submitted.
        let reaped = self.reaped.load(Ordering::Acquire);
        let used = self.submitted.load(Ordering::Acquire) - reaped;
        SLOTS.saturating_sub(used as u32)
    }
}

impl TxRing for Ring {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn slots_of_largest(&self) -> u32 {
        1
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) {
        drop(packet.into_frame());
        self.submitted.fetch_add(1, Ordering::Release);
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Ring {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        let reaped = self.reaped.load(Ordering::Relaxed);
        let ready = self.submitted.load(Ordering::Acquire) - reaped;
        let now = ready.min(u64::from(budget_packets));
        for _ in 0..now {
            freed(Packet::new(Frame::new(0), PACKET_BYTES));
        }
        self.reaped.store(reaped + now, Ordering::Release);
        Ok(ready > now)
    }
}

/// Wakes the sender's thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

struct Count(u64);

impl PacketSink for Count {
    fn freed(&mut self, packet: Packet) {
        drop(packet.into_frame());
        self.0 += 1;
    }

    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// Sends all packets, asleep while there is no room. Returns how often it slept.
fn send_all<L: Limit>(sender: &mut Sender<L>, mut ring: Ring) -> u64 {
    let (mut offered, mut sleeps) = (0, 0);
    let mut sink = Count(0);
    let (sink, probe) = (&mut sink, &mut ());
    while offered < PACKETS || sender.backlog().packets > 0 {
        while offered < PACKETS {
            let packet = Packet::new(Frame::new(offered as u32), PACKET_BYTES);
            match sender.offer(packet, 0, sink, probe) {
                Ok(()) => offered += 1,
                Err(_) => break,
            }
        }
        match sender.run(&mut ring, 0, sink, probe) {
            Stop::Idle => {}
            Stop::Limit | Stop::RingFull => {
                if sender.must_wait() {
                    sleeps += 1;
                    thread::park();
                }
            }
            other => panic!("unexpected stop: {other:?}"),
        }
    }
    sleeps
}

/// Reaps everything; the sum of what the device finished.
fn complete_all<L: Limit>(reaper: &mut Reaper<L>, mut ring: Ring, now_ns: &AtomicU64) -> u64 {
    let mut sink = Count(0);
    while sink.0 < PACKETS {
        // A clock of rounds: the limit's window needs one that goes on.
        let now = now_ns.fetch_add(1_000, Ordering::Relaxed);
        reaper
            .complete(&mut ring, now, &mut sink, &mut ())
            .expect("the driver reports what it was given");
        thread::yield_now();
    }
    sink.0
}

fn pass_a_million<L>(limit: L)
where
    L: Limit<Sender: Send, Completer: Send>,
{
    let done = Arc::new(AtomicBool::new(false));
    hang_guard(done.clone());
    let mut config = QueueConfig::new(SLOTS);
    config.waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut sender, mut reaper) =
        split(Box::new(Fifo::new(64)), limit, config, 0).expect("valid settings");
    let ring = Ring::default();
    let clock_ns = AtomicU64::new(0);
    let (sleeps, freed) = thread::scope(|scope| {
        let completer = {
            let (reaper, ring, clock_ns) = (&mut reaper, ring.clone(), &clock_ns);
            scope.spawn(move || complete_all(reaper, ring, clock_ns))
        };
        let sleeps = send_all(&mut sender, ring);
        (sleeps, completer.join().expect("the reaper does not panic"))
    });
    done.store(true, Ordering::Relaxed);
    assert_eq!(freed, PACKETS);
    assert_eq!(sender.counters().sent_packets, PACKETS);
    assert_eq!(reaper.snapshot().in_flight, 0);
    assert!(sleeps > 0, "it never had to wait");
    let wakeups = reaper.wakeups();
    assert!(wakeups < PACKETS / 4, "{wakeups} wake-ups");
}

/// Ends the process when a sleeper is never woken: a thread that is parked cannot fail by itself.
fn hang_guard(done: Arc<AtomicBool>) {
    thread::spawn(move || {
        thread::sleep(HANG_GUARD);
        if !done.load(Ordering::Relaxed) {
            eprintln!("lost wake-up: the sender sleeps for ever");
            std::process::abort();
        }
    });
}

#[test]
fn a_million_packets_pass_a_full_ring_without_a_lost_wake_up() {
    pass_a_million(Fixed::off());
}

#[test]
fn a_million_packets_pass_a_limit_without_a_lost_wake_up() {
    pass_a_million(Fixed::packets(128));
}

#[test]
fn a_million_packets_pass_the_dynamic_limit_without_a_lost_wake_up() {
    pass_a_million(Dynamic::default());
}
