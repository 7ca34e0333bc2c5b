//! The transmit queue over a packet ring with its halves on two threads, and several senders in front
//! of it: nothing lost, and no wake-up lost. Two seconds each; `TAUT_SECONDS=60` for longer.
//! `cargo test --release -p taut-linux --test live_two_threads -- --ignored --nocapture`

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use common::allowed;
use common::packets::{Pool, Ring, shaper};
use taut_linux::af_packet::AfPacketCompletions;
use taut_linux::link::RootQdisc;
use taut_linux::sched::monotonic_ns;
use taut_path::limit::{Dynamic, Limit};
use taut_path::qdisc::Fifo;
use taut_path::queue::many::{Refused, Submitter, split as many};
use taut_path::queue::{QueueConfig, Reaper, split};
use taut_path::{DropReason, Packet, PacketSink, Stop};

const SLOTS: u32 = 256;
const BYTES: u32 = 1_514;
const CADENCE: Duration = Duration::from_micros(250);
/// Rounds of completions with nothing in the ring while somebody sleeps whom nobody has woken.
const LOST_AFTER_ROUNDS: u32 = 1_000;

/// A thread that may sleep, and what a watchdog can see of it.
struct Sleeper {
    thread: Thread,
    asleep: AtomicBool,
    woken: AtomicBool,
}

impl Sleeper {
    fn of_this_thread() -> Arc<Self> {
        Arc::new(Self {
            thread: thread::current(),
            asleep: AtomicBool::new(false),
            woken: AtomicBool::new(false),
        })
    }

    fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        while !self.woken.swap(false, Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }

    fn is_lost(&self) -> bool {
        self.asleep.load(Ordering::SeqCst) && !self.woken.load(Ordering::SeqCst)
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

#[derive(Default)]
struct Counts {
    taken: AtomicU64,
    freed: AtomicU64,
    dropped: AtomicU64,
}

struct Sink<'a>(&'a Pool, &'a Counts);

impl PacketSink for Sink<'_> {
    fn freed(&mut self, packet: Packet) {
        self.0.lock().expect("pool").give_back(packet.into_frame());
        self.1.freed.fetch_add(1, Ordering::Relaxed);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.0.lock().expect("pool").give_back(packet.into_frame());
        self.1.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

fn packet(pool: &Pool) -> Option<Packet> {
    let mut pool = pool.lock().expect("pool");
    let frame = pool.take()?;
    pool.set_len(&frame, BYTES);
    // An EtherType that nobody answers; the rest is what was there.
    pool.bytes_mut(&frame)[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    Some(Packet::new(frame, BYTES))
}

/// Hands in packets until the queue is closed.
fn submit(submitter: &Submitter, pool: &Pool, counts: &Counts) {
    let sleeper = Sleeper::of_this_thread();
    let mut waiter = submitter.waiter(Waker::from(sleeper.clone()));
    let mut kept = None;
    loop {
        let Some(next) = kept.take().or_else(|| packet(pool)) else {
            thread::yield_now();
            continue;
        };
        match submitter.offer(next) {
            Ok(()) => {
                counts.taken.fetch_add(1, Ordering::Relaxed);
            }
            Err(Refused::NoRoom(no_room)) => {
                kept = Some(no_room.0);
                if waiter.must_wait() {
                    sleeper.sleep();
                }
            }
            Err(Refused::Closed(packet)) => {
                pool.lock().expect("pool").give_back(packet.into_frame());
                return;
            }
        }
    }
}

/// Reaps once a cadence until `done`; answers how often the owner slept for ever.
fn complete<L: Limit>(
    mut reaper: Reaper<L>,
    mut ring: AfPacketCompletions,
    mut sink: Sink,
    owner: &Arc<Sleeper>,
    done: &AtomicBool,
) -> (u64, Reaper<L>) {
    let (mut lost, mut rounds) = (0, 0);
    while !done.load(Ordering::Acquire) || ring.packets_in_ring() > 0 {
        let round = reaper.complete(&mut ring, monotonic_ns(), &mut sink, &mut ());
        round.expect("the driver reports what it was given");
        let quiet = ring.packets_in_ring() == 0 && owner.is_lost();
        rounds = if quiet { rounds + 1 } else { 0 };
        if rounds == LOST_AFTER_ROUNDS {
            lost += 1;
            owner.wake_by_ref();
        }
        thread::sleep(CADENCE);
    }
    (lost, reaper)
}

fn run(submitters: u32, qdisc: RootQdisc) {
    let seconds = std::env::var("TAUT_SECONDS").ok();
    let seconds = seconds.map_or(2, |text| text.parse().expect("a number of seconds"));
    let Ring {
        mut tx,
        completions,
        pool,
        receiver: _receiver,
        left: _left,
        right: _right,
        ..
    } = Ring::new(SLOTS, qdisc);
    let owner = Sleeper::of_this_thread();
    let waker = Waker::from(owner.clone());
    let config = QueueConfig {
        waker: waker.clone(),
        ..QueueConfig::new(SLOTS)
    };
    let (mut sender, reaper) = split(
        Box::new(Fifo::new(64)),
        Dynamic::default(),
        config,
        monotonic_ns(),
    )
    .expect("valid settings");
    let (submitter, mut intake) = many(32, submitters, waker);
    let (counts, done) = (Counts::default(), AtomicBool::new(false));
    let start = Instant::now();
    let (mut sleeps, mut took) = (0u64, Duration::ZERO);
    let (lost, reaper) = thread::scope(|scope| {
        for _ in 0..submitters {
            let (submitter, pool, counts) = (submitter.clone(), &pool, &counts);
            scope.spawn(move || submit(&submitter, pool, counts));
        }
        let completer =
            scope.spawn(|| complete(reaper, completions, Sink(&pool, &counts), &owner, &done));
        let mut sink = Sink(&pool, &counts);
        while start.elapsed() < Duration::from_secs(seconds) {
            let asleep = match intake.run(&mut sender, &mut tx, monotonic_ns(), &mut sink, &mut ())
            {
                Stop::Limit | Stop::RingFull => sender.must_wait(),
                Stop::Idle => intake.must_wait(),
                other => panic!("unexpected stop: {other:?}"),
            };
            if asleep {
                sleeps += 1;
                owner.sleep();
            }
        }
        took = start.elapsed();
        intake.close();
        sender.flush(monotonic_ns(), &mut sink, &mut ());
        done.store(true, Ordering::Release);
        completer.join().expect("the reaper does not panic")
    });
    intake.flush(&mut Sink(&pool, &counts));
    let [taken, freed, dropped] =
        [&counts.taken, &counts.freed, &counts.dropped].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{submitters} submitters, {seconds} s: {taken} taken, {freed} completed, {dropped} dropped, \
         {:.0} packets/s, {sleeps} sleeps, {} + {} wake-ups of the owner, {} of submitters, \
         {lost} lost",
        freed as f64 / took.as_secs_f64(),
        reaper.wakeups(),
        intake.work_wakeups(),
        intake.wakeups(),
    );
    assert_eq!(taken, freed + dropped);
    assert_eq!(sender.counters().sent_packets, freed);
    assert_eq!(reaper.snapshot().in_flight, 0);
    assert_eq!(lost, 0, "lost wake-ups");
    assert!(sleeps > 0 && freed > 0, "nothing was tried");
}

#[test]
#[ignore = "keeps two cores busy"]
fn a_sender_and_a_completer_lose_no_wake_up_behind_a_shaper() {
    if allowed() {
        run(1, shaper(10_000));
    }
}

#[test]
#[ignore = "keeps two cores busy"]
fn three_senders_and_a_completer_lose_no_wake_up_on_a_plain_veth() {
    if allowed() {
        run(3, RootQdisc::NoQueue);
    }
}
