//! The packet ring as a port: validity of completions, and reopening.

use crate::common::packets::{Ring, numbered, shaper};
use crate::common::{allowed, until};
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, Port, errno};
use taut_path::driver::CompletionStatus;
use taut_path::pool::FramePool;
use taut_path::{Completions, Packet, PacketSink, TxRing};

/// 1.2 s for a frame: frames in the ring do not leave.
const STANDING: RootQdisc = RootQdisc::Tbf {
    rate_bits_per_s: 10_000,
    burst_bytes: 2_000,
    limit_bytes: 16 << 20,
};

/// Reaps all packets of the port.
fn reap(port: &mut impl Completions<Error = std::io::Error>, pool: &FramePool) -> u32 {
    let (mut pool, mut reaped) = (pool.clone(), 0);
    let mut freed = |packet: Packet| {
        reaped += 1;
        pool.freed(packet);
    };
    while port.reap(0, u32::MAX, &mut freed).expect("reaps") {}
    reaped
}

/// Sends in bursts until the detector has a result; returns it.
fn verdict(qdisc: RootQdisc) -> (CompletionStatus, bool) {
    let ring = Ring::new(128, qdisc);
    let (mut port, pool) = ((ring.tx, ring.completions), ring.pool);
    assert_eq!(port.completion_status(), CompletionStatus::Unknown);
    until("it is known", || {
        let free = port.slots_free_now().min(32);
        for number in 0..free {
            port.submit(numbered(&pool, number), 0).expect("takes it");
        }
        port.kick(0).expect("kicks");
        reap(&mut port, &pool);
        port.completion_status() != CompletionStatus::Unknown
    });
    (port.completion_status(), port.completions_valid())
}

/// Both halves have a method of that name.
trait SlotsFree {
    fn slots_free_now(&self) -> u32;
}

impl<P: TxRing> SlotsFree for P {
    fn slots_free_now(&self) -> u32 {
        self.slots_free()
    }
}

#[test]
fn completions_behind_a_shaper_are_valid() {
    if allowed() {
        assert_eq!(verdict(shaper(3_000)), (CompletionStatus::Valid, true));
    }
}

#[test]
fn completions_on_a_plain_veth_are_early() {
    if allowed() {
        assert_eq!(
            verdict(RootQdisc::NoQueue),
            (CompletionStatus::Early, false)
        );
    }
}

#[test]
fn reopened_ring_returns_packets_and_sends() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(16, STANDING);
    let mut next = 0;
    ring.fill(&mut next, u32::MAX).expect("kicks");
    assert_eq!(ring.tx.slots_free(), 0);
    link::set_root_qdisc(&ring.left, "veth0", RootQdisc::NoQueue).expect("qdisc");
    let (mut port, pool) = ((ring.tx, ring.completions), ring.pool.clone());
    port.reopen().expect("the device is there");
    assert_eq!(
        (port.device(), port.driver(), port.mode()),
        ("veth0", "af_packet", "ring")
    );
    assert_eq!(port.slots_free_now(), 16, "a new ring");
    assert_eq!(
        (reap(&mut port, &pool), pool.free_frames()),
        (16, pool.frames())
    );
    for number in 100..116 {
        port.submit(numbered(&pool, number), 0).expect("takes it");
    }
    port.kick(0).expect("kicks");
    let mut reaped = 0;
    until("all are done", || {
        reaped += reap(&mut port, &pool);
        reaped == 16
    });
    assert_eq!(pool.free_frames(), pool.frames());
}

/// With two threads, the sender can be anywhere when a new ring is requested.
#[test]
fn packets_are_kept_until_the_sender_released_them() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(8, STANDING);
    let first = ring.tx.slots_free();
    ring.fill(&mut 0, 4).expect("kicks");
    ring.completions.request_reopen();
    let mut reaped = reap(&mut ring.completions, &ring.pool);
    ring.tx
        .submit(numbered(&ring.pool, 4), 0)
        .expect("it has not heard of it");
    reaped += reap(&mut ring.completions, &ring.pool);
    assert_eq!(ring.completions.reopened(), 0);
    assert_eq!(ring.tx.slots_free(), 0, "lets go");
    reaped += reap(&mut ring.completions, &ring.pool);
    assert_eq!(reaped, 5, "also what was submitted last");
    assert_eq!(ring.completions.reopened(), 1);
    assert_eq!(ring.tx.slots_free(), first, "a new ring");
    assert_eq!(ring.pool.free_frames(), ring.pool.frames());
}

#[test]
fn removed_device_returns_packets_and_recovers() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(8, STANDING);
    ring.fill(&mut 0, u32::MAX).expect("kicks");
    let Ring {
        left,
        right,
        tx,
        completions,
        pool,
        receiver,
        ..
    } = ring;
    let mut port = (tx, completions);
    // The other end is removed with the pair.
    drop((right, receiver));
    until("the device is removed", || {
        link::index(&left, "veth0").is_err()
    });
    let error = port.kick(0).expect_err("no device");
    assert!(error.to_string().starts_with("sendto veth0: "), "{error}");
    let error = port.reopen().expect_err("no device");
    assert_eq!(errno(&error), Some(libc::ENODEV), "{error}");
    assert_eq!((port.slots_free_now(), reap(&mut port, &pool)), (0, 8));
    assert_eq!(pool.free_frames(), pool.frames());
    let far = NetNs::new().expect("namespace");
    link::add_veth_pair(&left, "veth0", &far, "veth1").expect("pair");
    for (ns, device) in [(&left, "veth0"), (&far, "veth1")] {
        link::set_up(ns, device).expect("up");
    }
    port.reopen().expect("another device of that name");
    port.submit(numbered(&pool, 0), 0).expect("takes it");
    port.kick(0).expect("kicks");
    let mut reaped = 0;
    until("it is done", || {
        reaped += reap(&mut port, &pool);
        reaped == 1
    });
}
