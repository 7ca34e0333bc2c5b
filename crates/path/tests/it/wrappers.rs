//! Drivers that wrap any driver: fault injection and traces.

use std::cell::RefCell;

use taut_path::driver::testing::{FaultCounts, FaultError, FaultPlan, Faults, Trace};
use taut_path::limit::AnyLimit;
use taut_path::queue::CompleteError;
use taut_path::{Completions, DropReason, InRing, Queue, Stop, TxRing};

use crate::support::{Books, Broken, FakeRing, packet};

const ALWAYS: u32 = FaultPlan::ALWAYS;
const HALF: u32 = ALWAYS / 2;

/// A device that completes at once, with the faults of `plan`.
fn faulty(plan: FaultPlan) -> Faults<FakeRing> {
    let mut ring = FakeRing::new(64);
    ring.instant = true;
    Faults::new(ring, plan)
}

/// Sends `packets` and reaps once.
fn send(device: &mut Faults<FakeRing>, frames: std::ops::Range<u32>) -> Vec<u32> {
    for frame in frames {
        device.submit(packet(frame, 100), 0).expect("it takes them");
    }
    device.kick(0).expect("it rings");
    reap(device, u32::MAX)
}

fn reap(device: &mut impl Completions<Error = FaultError<Broken>>, budget: u32) -> Vec<u32> {
    let mut frames = Vec::new();
    let mut freed = |packet: taut_path::Packet| frames.push(packet.into_frame().index());
    device.reap(0, budget, &mut freed).expect("it reaps");
    frames
}

#[test]
fn plan_without_faults_changes_nothing() {
    let mut device = faulty(FaultPlan::default());
    assert_eq!(send(&mut device, 0..5), [0, 1, 2, 3, 4]);
    assert_eq!(device.counts(), FaultCounts::default());
}

#[test]
fn lost_completions_are_kept_until_restored() {
    let plan = FaultPlan {
        lost_completions: ALWAYS,
        ..FaultPlan::default()
    };
    let mut device = faulty(plan);
    assert_eq!(send(&mut device, 0..3), []);
    assert_eq!(
        device.in_ring(),
        Some(InRing::default()),
        "lost packets are not included"
    );
    assert_eq!(device.return_lost(), 3);
    assert_eq!(device.in_ring().map(|ring| ring.packets), Some(3));
    device.set_plan(FaultPlan::default());
    assert_eq!(reap(&mut device, 2), [0, 1], "within the budget");
    assert_eq!(reap(&mut device, 2), [2]);
    device.set_plan(plan);
    assert_eq!(send(&mut device, 3..5), []);
    let taken: Vec<_> = device.take_lost();
    assert_eq!((taken.len(), device.counts().lost_completions), (2, 5));
}

#[test]
fn delayed_completions_arrive_behind_others() {
    let mut device = faulty(FaultPlan {
        seed: 1,
        delayed_completions: HALF,
        ..FaultPlan::default()
    });
    let mut freed = send(&mut device, 0..40);
    let late = device.counts().delayed_completions;
    assert_eq!(freed.len() as u64, 40 - late);
    assert_eq!(
        device.in_ring(),
        Some(InRing {
            packets: late as u32,
            bytes: late as u32 * 100
        })
    );
    for _ in 0..FaultPlan::MAX_DELAY_REAPS {
        freed.extend(reap(&mut device, u32::MAX));
    }
    assert!(!freed.is_sorted());
    freed.sort_unstable();
    assert_eq!(freed, (0..40).collect::<Vec<_>>());
}

#[test]
fn duplicated_completion_is_unknown_and_not_counted() {
    let device = faulty(FaultPlan {
        duplicated_completions: ALWAYS,
        ..FaultPlan::default()
    });
    let mut queue = Queue::builder_for(device).build(0).expect("valid settings");
    let mut books = Books::default();
    queue.enqueue(packet(7, 100), 0, &mut books);
    let _ = queue.run(0, &mut books);
    let completed = queue.complete(1_000, &mut books);
    assert_eq!(
        completed,
        Err(CompleteError::UnknownCompletions { packets: 1 })
    );
    assert_eq!((books.freed, books.unknown), (vec![7], vec![7]));
    assert_eq!(queue.in_flight(), 0);
}

#[test]
fn planned_failures_are_named() {
    let device = faulty(FaultPlan {
        rejected_submits: ALWAYS,
        ..FaultPlan::default()
    });
    let mut queue = Queue::builder_for(device)
        .limit(AnyLimit::off())
        .build(0)
        .expect("valid settings");
    let mut books = Books::default();
    queue.enqueue(packet(0, 100), 0, &mut books);
    assert_eq!(queue.run(0, &mut books), Stop::Idle);
    assert_eq!(books.dropped, [(0, DropReason::DeviceRefused)]);

    queue.device_mut().set_plan(FaultPlan {
        failed_kicks: ALWAYS,
        failed_reaps: ALWAYS,
        ..FaultPlan::default()
    });
    queue.enqueue(packet(1, 100), 0, &mut books);
    let planned = Stop::Failed(FaultError::Planned("kick"));
    assert_eq!(queue.run(0, &mut books), planned);
    let failed = queue.complete(1_000, &mut books);
    assert_eq!(
        failed,
        Err(CompleteError::Driver(FaultError::Planned("reap")))
    );

    queue.device_mut().set_plan(FaultPlan::default());
    assert_eq!(queue.run(0, &mut books), Stop::Idle);
    assert_eq!(
        queue.complete(2_000, &mut books).map(|c| c.counts.packets),
        Ok(1)
    );
    let counts = queue.device().counts();
    let made = (
        counts.rejected_submits,
        counts.failed_kicks,
        counts.failed_reaps,
    );
    assert_eq!(made, (1, 1, 1));
}

#[test]
fn failures_of_the_driver_pass_through() {
    let mut device = faulty(FaultPlan::default());
    device.driver_mut().failing_kicks = 1;
    assert_eq!(device.kick(0), Err(FaultError::Driver(Broken)));
    let (planned, own) = (FaultError::Planned("kick"), FaultError::Driver("broken"));
    let said = [planned, own].map(|error| error.to_string());
    assert_eq!(said, ["kick failed by plan", "broken"]);
}

#[test]
fn seed_determines_the_faults() {
    let mistakes = |seed| {
        let mut device = faulty(FaultPlan {
            seed,
            lost_completions: HALF,
            ..FaultPlan::default()
        });
        send(&mut device, 0..64)
    };
    assert_eq!(mistakes(3), mistakes(3));
    assert_ne!(mistakes(3), mistakes(4));
}

#[test]
fn faults_have_their_planned_rate() {
    let mut device = faulty(FaultPlan {
        seed: 9,
        lost_completions: ALWAYS / 8,
        ..FaultPlan::default()
    });
    for burst in 0..500 {
        let _ = send(&mut device, burst * 64..(burst + 1) * 64);
    }
    // An eighth of 32,000 is 4,000; six standard deviations of it are 355.
    let lost = device.counts().lost_completions;
    assert!((3_645..=4_355).contains(&lost), "{lost}");
}

#[test]
fn every_packet_ends_once_under_any_faults() {
    for seed in 0..20 {
        let rate = ALWAYS / 10;
        let device = faulty(FaultPlan {
            seed,
            rejected_submits: rate,
            failed_kicks: rate,
            failed_reaps: rate,
            lost_completions: rate,
            delayed_completions: rate,
            duplicated_completions: rate,
        });
        let mut queue = Queue::builder_for(device).build(0).expect("valid settings");
        let mut books = Books::default();
        for frame in 0..400 {
            let now_ns = u64::from(frame) * 1_000;
            queue.enqueue(packet(frame, 100), now_ns, &mut books);
            let _ = queue.run(now_ns, &mut books);
            let _ = queue.complete(now_ns, &mut books);
        }
        let device = queue.device_mut();
        device.set_plan(FaultPlan::default());
        device.return_lost();
        for batch in 1..1_000 {
            let now_ns = 400_000 + batch * 1_000;
            let _ = queue.run(now_ns, &mut books);
            let _ = queue.complete(now_ns, &mut books);
        }
        assert_eq!(queue.in_flight(), 0, "seed {seed}");
        assert_eq!(
            books.unknown.len() as u64,
            queue.device().counts().duplicated_completions
        );
        let dropped = books.dropped.iter().map(|&(frame, _)| frame);
        let mut ends: Vec<_> = books.freed.iter().copied().chain(dropped).collect();
        ends.sort_unstable();
        assert_eq!(ends, (0..400).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn trace_reports_every_call_with_time_and_result() {
    let lines = RefCell::new(Vec::new());
    let mut ring = FakeRing::new(4);
    ring.failing_kicks = 1;
    ring.longest_bytes = 1_000;
    let mut driver = Trace::new(ring, |now_ns, event| {
        lines.borrow_mut().push(format!("{now_ns} {event}"));
    });
    driver.submit(packet(3, 60), 10).expect("it fits");
    let rejected = driver.submit(packet(4, 2_000), 11).expect_err("too long");
    assert_eq!(rejected.into_frame().index(), 4);
    assert_eq!(driver.kick(12), Err(Broken));
    assert_eq!(driver.kick(13), Ok(()));
    driver.driver.finish(1);
    driver.reap(14, 8, &mut |_| ()).expect("it reaps");
    driver.driver.failing_reap = true;
    driver.reap(15, 8, &mut |_| ()).expect_err("it fails");
    assert_eq!(
        *lines.borrow(),
        [
            "10 submitted frame 3, 60 bytes; 3 slots free",
            "11 rejected frame 4, 2000 bytes",
            "12 kick failed: Broken",
            "13 kicked",
            "14 reaped frame 3, 60 bytes",
            "14 reaped 1 packets",
            "15 reaping failed: Broken",
        ]
    );
}

#[test]
fn wrappers_nest_and_wrap_halves() {
    let mut calls = 0;
    let traced = Trace::new(faulty(FaultPlan::default()), |_, _| calls += 1);
    let mut around = Faults::new(traced, FaultPlan::default());
    around.submit(packet(0, 60), 0).expect("it fits");
    around.kick(0).expect("nothing is broken");
    assert_eq!(around.capacity_slots(), 64);
    assert!(around.completions_valid());
    drop(around);
    assert_eq!(calls, 2);
}
