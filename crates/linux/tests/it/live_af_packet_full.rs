//! The packet ring when something is full, short or down: backpressure is a value, failure an
//! error, and no frame is lost in either case.

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::common::packets::{LONGEST_BYTES, Ring, bytes_of, numbered, shaper};
use crate::common::{allowed, until};
use taut_linux::af_packet::PacketReceiver;
use taut_linux::errno;
use taut_linux::link::{self, RootQdisc};
use taut_path::{Completions, InRing, Packet, TxRing};

#[test]
fn full_ring_blocks_without_loss() {
    if !allowed() {
        return;
    }
    // Slow enough that nothing leaves while the ring is filled: 12 ms a frame.
    let slow = RootQdisc::Tbf {
        rate_bits_per_s: 1_000_000,
        burst_bytes: LONGEST_BYTES as u32,
        limit_bytes: 16 << 20,
    };
    let mut ring = Ring::new(48, slow);
    let mut next = 0;
    ring.fill(&mut next, u32::MAX).expect("kicks");
    assert_eq!((next, ring.tx.slots_free()), (48, 0));
    assert_eq!(
        (ring.tx.capacity_slots(), ring.completions.device()),
        (48, "veth0")
    );
    let full_bytes = (0..48).map(|number| bytes_of(number).len() as u32).sum();
    let in_ring = |packets, bytes| Some(InRing { packets, bytes });
    assert_eq!(ring.completions.in_ring(), in_ring(48, full_bytes));
    let (mut completed, mut received) = (0, Vec::new());
    let mut left_bytes = full_bytes;
    until("the first is done", || {
        let lengths = ring.reap();
        completed += lengths.len() as u32;
        left_bytes -= lengths.iter().sum::<u32>();
        completed > 0
    });
    assert_eq!(ring.tx.slots_free(), completed);
    assert_eq!(
        ring.completions.in_ring(),
        in_ring(48 - completed, left_bytes)
    );
    until("all are done", || {
        completed += ring.reap().len() as u32;
        received.extend(ring.receive());
        ring.wait();
        (completed, received.len()) == (48, 48)
    });
    assert_eq!(ring.completions.in_ring(), in_ring(0, 0));
    assert!(received.iter().copied().eq(0..48));
}

/// One doorbell passes 1024 frames of 1514 bytes to the kernel: the send buffer does not block
/// them.
#[test]
fn the_send_buffer_takes_a_full_ring() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(1024, shaper(10_000));
    let users = std::fs::read_to_string("/proc/self/uid_map").expect("readable");
    if !users.contains("4294967295") {
        eprintln!("skipped: in a user namespace, the send buffer might not be large enough");
        return;
    }
    let mut next = 0;
    ring.fill(&mut next, 1024).expect("kicks");
    assert_eq!(next, 1024);
    // Without another doorbell, all are sent, because the kernel took them all.
    let mut received = 0;
    until("all are received", || {
        received += ring.receive().len();
        ring.wait();
        received == 1024
    });
}

/// With a send buffer for a few frames, the remaining ones stay and are sent later.
#[test]
fn full_send_buffer_loses_no_frame() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(64, shaper(10_000));
    rustix::net::sockopt::set_socket_send_buffer_size(&ring.completions, 8192).expect("sets");
    let mut next = 0;
    ring.fill(&mut next, 64)
        .expect("backpressure is not an error");
    let doorbell = send(&ring.completions, &[], SendFlags::DONTWAIT);
    assert_eq!(doorbell, Err(Errno::AGAIN), "the buffer is full");
    ring.tx.kick(0).expect("backpressure is not an error");
    let (mut completed, mut received) = (0, Vec::new());
    until("all are done", || {
        completed += ring.reap().len();
        received.extend(ring.receive());
        ring.wait();
        (completed, received.len()) == (64, 64)
    });
    assert!(received.iter().copied().eq(0..64));
}

/// The shaper's own queue holds 10 frames, the ring 64. Rejected frames stay and are sent later,
/// even if the sender has no more frames and rings no more.
#[test]
fn full_discipline_loses_no_frame() {
    if !allowed() {
        return;
    }
    let short = RootQdisc::Tbf {
        rate_bits_per_s: 1_000_000,
        burst_bytes: 2000,
        limit_bytes: 10 * LONGEST_BYTES as u32,
    };
    let mut ring = Ring::new(64, short);
    let mut next = 0;
    ring.fill(&mut next, 64)
        .expect("backpressure is not an error");
    assert_eq!(next, 64);
    let doorbell = send(&ring.completions, &[], SendFlags::DONTWAIT);
    assert_eq!(doorbell, Err(Errno::NOBUFS), "frames are left");
    let (mut completed, mut received) = (0, Vec::new());
    until("all are done", || {
        completed += ring.reap().len();
        received.extend(ring.receive());
        ring.wait();
        (completed, received.len()) == (64, 64)
    });
    assert!(received.iter().copied().eq(0..64));
}

#[test]
fn too_long_frame_is_returned_at_once() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(2, RootQdisc::NoQueue);
    // More than the ring has slots, because a returned frame uses none.
    for length in [0, 13, 1515, 2048] {
        let packet = Packet::new(ring.pool.take().expect("frame"), length);
        let packet = ring.tx.submit(packet, 0).expect_err("returned");
        ring.pool.release(packet.into_frame()).expect("its own");
    }
    assert_eq!(ring.completions.in_ring(), Some(InRing::default()));
    let (mut next, mut completed, mut received) = (0, 0, Vec::new());
    until("all others are done", || {
        ring.fill(&mut next, 5).expect("kicks");
        completed += ring.reap().len();
        received.extend(ring.receive());
        (completed, received.len()) == (5, 5)
    });
    assert_eq!(received, [0, 1, 2, 3, 4]);
}

#[test]
fn frame_above_a_lowered_mtu_is_skipped() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(16, RootQdisc::NoQueue);
    link::set_mtu(&ring.left, "veth0", 1000).expect("mtu");
    for number in [2, 1] {
        ring.tx
            .submit(numbered(&ring.pool, number), 0)
            .expect("takes it");
    }
    ring.tx.kick(0).expect("kicks");
    let (mut completed, mut received) = (0, Vec::new());
    until("all are done", || {
        completed += ring.reap().len();
        received.extend(ring.receive());
        (completed, received.len()) == (2, 1)
    });
    assert_eq!(received, [1]);
    assert_eq!(ring.completions.malformed_packets(), 0);
}

#[test]
fn link_down_is_an_error_without_loss() {
    if !allowed() {
        return;
    }
    let mut ring = Ring::new(16, RootQdisc::NoQueue);
    link::set_down(&ring.left, "veth0").expect("down");
    let mut next = 0;
    let error = ring.fill(&mut next, 10).expect_err("the device is down");
    assert_eq!(errno(&error), Some(libc::ENETDOWN));
    assert!(error.to_string().starts_with("sendto veth0: "), "{error}");
    let in_ring = ring.completions.in_ring().expect("counted");
    assert_eq!(in_ring.packets, 10);
    link::set_up(&ring.left, "veth0").expect("up");
    // The receiver reports once that its own end went down too.
    let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
    let _ = ring.receiver.read(&mut buffer);
    let (mut completed, mut received) = (0, Vec::new());
    until("all are done", || {
        completed += ring.reap().len();
        received.extend(ring.receive());
        (completed, received.len()) == (10, 10)
    });
    assert!(received.iter().copied().eq(0..10));
}

/// A frame longer than the burst of the bucket can never pass: the sender receives an error.
#[test]
fn frame_larger_than_the_burst_is_an_error() {
    if !allowed() {
        return;
    }
    let shallow = RootQdisc::Tbf {
        rate_bits_per_s: 1_000_000,
        burst_bytes: 1000,
        limit_bytes: 16 << 20,
    };
    let mut ring = Ring::new(16, shallow);
    ring.tx
        .submit(numbered(&ring.pool, 0), 0)
        .expect("takes it");
    let error = (0..10)
        .find_map(|_| ring.tx.kick(0).err())
        .expect("an error");
    assert_eq!(errno(&error), Some(libc::ENOBUFS), "{error}");
    let reaped = ring
        .completions
        .reap(0, 10, &mut |_: Packet| panic!("it is still there"));
    assert!(reaped.is_err());
}
