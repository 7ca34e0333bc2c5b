//! The driver with a mock kernel.

use std::slice::from_ref;
use std::time::Duration;

use proptest::prelude::*;
use taut_path::driver::CompletionStatus;
use taut_path::{AnyLimit, Completions, Packet, Queue, Stop, TxRing};

use super::mock::{MockOpener, MockSocket};
use super::ring::AfXdp;
use super::umem::UmemFrames;
use crate::frames::Frames;

const SLOTS: u32 = 8;
const FRAMES: u32 = 32;

type Ring = AfXdp<MockOpener>;

/// Creates a driver over the first of `sockets`; a renewal takes the next one, as for a recreated
/// device.
fn driver(sockets: &[MockSocket]) -> (Ring, UmemFrames) {
    driver_of(MockOpener(sockets.to_vec(), false))
}

fn driver_of(opener: MockOpener) -> (Ring, UmemFrames) {
    let frames = UmemFrames::new(FRAMES, 2048).expect("allocates");
    let ring = AfXdp::open_with(opener, &frames, SLOTS).expect("prepared");
    (ring, frames)
}

fn packet(frames: &UmemFrames) -> Packet {
    frames.packet(&[7; 60]).expect("a frame is free")
}

/// Reaps everything, releases the frames, and returns their number.
fn reap(ring: &mut Ring, frames: &UmemFrames) -> u32 {
    let mut packets = 0;
    let mut freed = |packet: Packet| {
        frames.release(packet.into_frame()).expect("was taken");
        packets += 1;
    };
    while ring.reap(0, 3, &mut freed).expect("reaps") {}
    packets
}

fn submit(ring: &mut Ring, frames: &UmemFrames, packets: u32) {
    for _ in 0..packets {
        ring.submit(packet(frames), 0).expect("has room");
    }
}

#[test]
fn frames_completed_by_the_kernel_return() {
    let socket = MockSocket::new(SLOTS, 0);
    let (mut ring, frames) = driver(from_ref(&socket));
    submit(&mut ring, &frames, 8);
    assert_eq!(TxRing::slots_free(&ring), 0);
    assert!(
        socket.in_device().is_empty(),
        "nothing is seen before the doorbell"
    );
    ring.kick(0).expect("rings");
    assert_eq!(socket.in_device().len(), 8);
    assert_eq!(socket.in_device()[3].length_bytes, 60);
    // In another order.
    for position in [3, 0, 5] {
        assert!(socket.finish(position));
    }
    assert_eq!(reap(&mut ring, &frames), 3);
    assert_eq!(
        (
            TxRing::slots_free(&ring),
            ring.in_ring().map(|ring| ring.packets)
        ),
        (3, Some(5))
    );
}

#[test]
fn positions_wrap() {
    let socket = MockSocket::new(SLOTS, u32::MAX - 5);
    let (mut ring, frames) = driver(from_ref(&socket));
    for _ in 0..100 {
        submit(&mut ring, &frames, 5);
        ring.kick(0).expect("rings");
        while socket.finish(0) {}
        assert_eq!(reap(&mut ring, &frames), 5);
    }
    assert_eq!(frames.free_frames(), FRAMES);
}

#[test]
fn remaining_frames_move_at_the_next_call() {
    let socket = MockSocket::new(SLOTS, 0);
    socket.doorbell(3, Some(libc::EAGAIN));
    let (mut ring, frames) = driver(from_ref(&socket));
    submit(&mut ring, &frames, 8);
    ring.kick(0)
        .expect("after EAGAIN, the rest follows at the next doorbell");
    assert_eq!((socket.in_device().len(), socket.doorbells()), (8, 3));
}

#[test]
fn reap_rings_again_for_untaken_frames() {
    for code in [libc::EAGAIN, libc::EBUSY, libc::ENOBUFS] {
        let socket = MockSocket::new(SLOTS, 0);
        socket.doorbell(0, Some(code));
        let (mut ring, frames) = driver(from_ref(&socket));
        submit(&mut ring, &frames, 8);
        ring.kick(0).expect("back-pressure");
        assert_eq!((socket.in_device().len(), socket.doorbells()), (0, 1));
        socket.doorbell(u32::MAX, None);
        // The ring is full, and the sender has no more packets.
        assert_eq!(reap(&mut ring, &frames), 0);
        assert_eq!(socket.in_device().len(), 8, "rung again");
    }
}

#[test]
fn doorbell_error_names_call_and_device() {
    let socket = MockSocket::new(SLOTS, 0);
    socket.doorbell(0, Some(libc::ENETDOWN));
    let (mut ring, frames) = driver(from_ref(&socket));
    submit(&mut ring, &frames, 1);
    let error = ring.kick(0).expect_err("is down").to_string();
    assert!(
        error.starts_with("sendto mock0: Network is down"),
        "{error}"
    );
    assert!(ring.reap(0, 1, &mut |_| ()).is_err(), "it tries too");
    // Up again: nothing was lost.
    socket.doorbell(u32::MAX, None);
    ring.kick(0).expect("rings");
    assert_eq!(socket.in_device().len(), 1);
}

#[test]
fn zero_copy_doorbell_only_when_sleeping() {
    let socket = MockSocket::new(SLOTS, 0).zero_copy();
    let (mut ring, frames) = driver(from_ref(&socket));
    assert_eq!(ring.mode(), "zero-copy");
    submit(&mut ring, &frames, 4);
    ring.kick(0).expect("is awake");
    assert_eq!((socket.doorbells(), socket.in_device().len()), (0, 0));
    socket.take(2);
    // The device falls asleep with two left; the next reap detects that.
    socket.sleeps(true);
    assert_eq!(reap(&mut ring, &frames), 0);
    assert_eq!((socket.doorbells(), socket.in_device().len()), (1, 4));
    assert_eq!(reap(&mut ring, &frames), 0);
    assert_eq!(socket.doorbells(), 1, "nothing is left to take");
}

#[test]
fn unknown_and_duplicated_completions_are_counted() {
    let socket = MockSocket::new(SLOTS, 0);
    let (mut ring, frames) = driver(from_ref(&socket));
    submit(&mut ring, &frames, 1);
    ring.kick(0).expect("rings");
    let address = socket.in_device()[0].address;
    for address in [address, address, 9 * 2048, 1 << 40, u64::MAX] {
        socket.complete(address);
    }
    assert_eq!(reap(&mut ring, &frames), 1);
    assert_eq!(ring.unknown_completions(), 4);
    assert_eq!(frames.free_frames(), FRAMES);
}

#[test]
fn invalid_packet_is_returned() {
    let (mut ring, frames) = driver(&[MockSocket::new(SLOTS, 0)]);
    let short = frames.packet(&[0; 13]).expect("free");
    let long = frames.packet(&[0; 1515]).expect("free");
    for packet in [short, long] {
        let packet = ring.submit(packet, 0).expect_err("no frame of this device");
        frames.release(packet.into_frame()).expect("is ours");
    }
    // A second handle of a frame that the kernel has.
    let sent = packet(&frames);
    let forged = Packet::new(taut_path::Frame::new(sent.frame().index()), 60);
    ring.submit(sent, 0).expect("has room");
    assert!(ring.submit(forged, 0).is_err());
    assert_eq!(ring.in_ring().map(|ring| ring.packets), Some(1));
}

#[test]
fn new_socket_recovers_frames_of_lost_completions() {
    let (first, second) = (MockSocket::new(SLOTS, 0), MockSocket::new(SLOTS, 77));
    let (ring, mut frames) = driver(&[first.clone(), second.clone()]);
    let mut queue = Queue::builder_for(ring)
        .limit(AnyLimit::off())
        .build(0)
        .expect("builds");
    for _ in 0..8 {
        queue.enqueue(packet(&frames), 0, &mut frames);
    }
    assert!(matches!(queue.run(0, &mut frames), Stop::RingFull));
    first.finish(0);
    let old = first.in_device()[0].address;
    // No completion for longer than the threshold of a second.
    let later_ns = Duration::from_millis(2_500).as_nanos() as u64;
    let completed = queue.complete(0, &mut frames).expect("one is complete");
    assert_eq!(completed.counts.packets, 1);
    let completed = queue.complete(later_ns, &mut frames).expect("nothing");
    let stalled = completed.stalled.expect("a stall");
    assert!(stalled.age_ns >= 2_000_000_000);

    queue.reset(later_ns);
    queue.device_mut().restart(|| ()).expect("prepared");
    let completed = queue.complete(later_ns, &mut frames).expect("a batch");
    assert_eq!((completed.stale_packets, completed.counts.packets), (7, 0));
    assert_eq!(frames.free_frames(), FRAMES);

    // The old socket completes its frame, but is closed; the new one sends.
    first.complete(old);
    queue.enqueue(packet(&frames), later_ns, &mut frames);
    let _ = queue.run(later_ns, &mut frames);
    assert_eq!(second.in_device().len(), 1);
    second.finish(0);
    let completed = queue.complete(later_ns, &mut frames).expect("completes");
    assert_eq!(completed.counts.packets, 1);
    assert_eq!(frames.free_frames(), FRAMES);
}

#[test]
fn socket_and_frames_stay_while_kernel_has_copies() {
    let socket = MockSocket::new(SLOTS, 0);
    let (mut ring, frames) = driver_of(MockOpener(vec![socket.clone()], true));
    // Four are taken, two are in the ring, two were never published.
    submit(&mut ring, &frames, 6);
    socket.doorbell(4, Some(libc::EAGAIN));
    ring.kick(0).expect("takes some");
    socket.doorbell(0, Some(libc::EAGAIN));
    assert_eq!(socket.in_device().len(), 6, "four and then two");
    submit(&mut ring, &frames, 2);
    socket.finish(0);
    ring.restart(|| ()).expect("nothing to open");
    assert_eq!(reap(&mut ring, &frames), 8, "all are returned");
    assert_eq!(frames.umem().abandoned(), 7);
    // One frame is complete; the kernel has the others.
    assert_eq!(frames.free_frames(), FRAMES - 7);
    // The two that were not published are in the ring now, and use their slots.
    assert_eq!(TxRing::slots_free(&ring), SLOTS - 2);
    socket.doorbell(u32::MAX, None);
    assert_eq!(reap(&mut ring, &frames), 0);
    assert_eq!(socket.in_device().len(), 7, "rung again");
    submit(&mut ring, &frames, 2);
    ring.kick(0).expect("rings");
    assert_eq!(socket.in_device().len(), 9);
    // These are stale and do not complete the current frames.
    while socket.finish(0) {
        reap(&mut ring, &frames);
    }
    assert_eq!(
        (frames.umem().abandoned(), ring.unknown_completions()),
        (0, 0)
    );
    assert_eq!(frames.free_frames(), FRAMES);
    assert_eq!(ring.in_ring().map(|ring| ring.packets), Some(0));
}

#[test]
fn socket_of_a_receiver_is_not_replaced() {
    let (first, second) = (MockSocket::new(SLOTS, 0), MockSocket::new(SLOTS, 0));
    let (mut ring, frames) = driver(&[first.clone(), second.clone()]);
    submit(&mut ring, &frames, 3);
    ring.kick(0).expect("rings");
    first.shared(true);
    let error = ring.restart(|| ()).expect_err("the receiver keeps it");
    assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
    // The kernel can still send from these frames.
    assert_eq!(reap(&mut ring, &frames), 0);
    assert_eq!(frames.free_frames(), FRAMES - 3);
    assert!(first.finish(0));
    assert_eq!(reap(&mut ring, &frames), 1);
    ring.restart(|| first.shared(false)).expect("is released");
    assert_eq!(reap(&mut ring, &frames), 2);
    assert!(second.is_used(&ring));
}

#[test]
fn ring_restarts_repeatedly() {
    for keeps_socket in [false, true] {
        let sockets: Vec<_> = (0..4).map(|_| MockSocket::new(SLOTS, 0)).collect();
        let (mut ring, frames) = driver_of(MockOpener(sockets.clone(), keeps_socket));
        submit(&mut ring, &frames, 3);
        ring.kick(0).expect("rings");
        for _ in 0..3 {
            ring.restart(|| ()).expect("opens");
        }
        assert_eq!(reap(&mut ring, &frames), 3);
        assert!(TxRing::slots_free(&ring) > 0);
        submit(&mut ring, &frames, 1);
        ring.kick(0).expect("rings");
        let last = sockets.iter().find(|socket| socket.is_used(&ring));
        let in_device = last.expect("has one").in_device();
        assert_eq!(in_device.len(), if keeps_socket { 4 } else { 1 });
    }
}

#[test]
fn abandoned_packet_never_counts_as_complete() {
    let sockets = [MockSocket::new(SLOTS, 0), MockSocket::new(SLOTS, 0)];
    let (ring, mut frames) = driver(&sockets);
    let mut queue = Queue::builder_for(ring)
        .limit(AnyLimit::off())
        .build(0)
        .expect("builds");
    for _ in 0..6 {
        queue.enqueue(packet(&frames), 0, &mut frames);
    }
    let _ = queue.run(0, &mut frames);
    sockets[0].finish(0);
    // First the ring, then the queue: the wrong order.
    queue.device_mut().restart(|| ()).expect("prepared");
    let completed = queue.complete(1, &mut frames).expect("a batch");
    assert_eq!((completed.counts.packets, completed.stale_packets), (1, 5));
    queue.reset(2);
    assert_eq!((queue.in_flight(), frames.free_frames()), (0, FRAMES));
}

#[test]
fn completion_of_an_untaken_frame_holds_nothing() {
    let (first, second) = (MockSocket::new(SLOTS, 0), MockSocket::new(SLOTS, 0));
    let (mut ring, frames) = driver_of(MockOpener(vec![first.clone(), second], true));
    submit(&mut ring, &frames, 1);
    first.doorbell(0, Some(libc::EINVAL));
    for _ in 0..3 {
        assert!(ring.kick(0).is_err());
        first.complete(0);
    }
    first.doorbell(0, Some(libc::EAGAIN));
    reap(&mut ring, &frames);
    ring.restart(|| ()).expect("a new socket");
    assert!(
        !first.is_used(&ring),
        "the old one has a descriptor that is never reaped"
    );
    assert_eq!(frames.free_frames(), FRAMES);
}

#[test]
fn removed_device_can_be_recreated() {
    let (first, second) = (MockSocket::new(SLOTS, 0), MockSocket::new(SLOTS, 0));
    let (mut ring, frames) = driver(&[first]);
    submit(&mut ring, &frames, 2);
    assert!(ring.restart(|| ()).is_err(), "there is no device");
    assert_eq!(reap(&mut ring, &frames), 2);
    ring.kick(0).expect("has nothing to ring");
    assert_eq!(
        (TxRing::slots_free(&ring), frames.free_frames()),
        (0, FRAMES)
    );
    // Request again when there is one.
    ring.opener.0.push(second.clone());
    ring.restart(|| ()).expect("prepared");
    assert_eq!(TxRing::slots_free(&ring), SLOTS);
    submit(&mut ring, &frames, 1);
    ring.kick(0).expect("rings");
    assert_eq!(second.in_device().len(), 1);
}

#[test]
fn early_completions_are_detected() {
    let socket = MockSocket::new(SLOTS, 0);
    let (mut ring, frames) = driver(from_ref(&socket));
    for _ in 0..200 {
        submit(&mut ring, &frames, 8);
        ring.kick(0).expect("rings");
        while socket.finish(0) {}
        assert_eq!(reap(&mut ring, &frames), 8);
    }
    // The mock completes after the doorbell, so frames were in flight each time.
    assert_eq!(ring.detector.status(), CompletionStatus::Valid);
    assert!(ring.completions_valid());
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Submit,
    Kick,
    Take(u32),
    Finish(usize),
    Again(u64),
    Reap,
    Renew,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Submit),
        3 => Just(Step::Kick),
        2 => (0_u32..4).prop_map(Step::Take),
        5 => (0_usize..8).prop_map(Step::Finish),
        1 => (0_u64..70_000).prop_map(Step::Again),
        3 => Just(Step::Reap),
        1 => Just(Step::Renew),
    ]
}

proptest! {
    /// With any behaviour of the kernel, no frame is lost and none is used twice.
    #[test]
    fn frames_are_conserved(
        steps in prop::collection::vec(step(), 1..300),
        at in prop_oneof![Just(0_u32), Just(u32::MAX - 3), any::<u32>()],
        doorbell_moves in 0_u32..5,
        keeps_socket in any::<bool>(),
    ) {
        let sockets: Vec<_> = (0..301).map(|_| MockSocket::new(SLOTS, at)).collect();
        for socket in &sockets {
            socket.doorbell(doorbell_moves, Some(libc::EAGAIN));
        }
        let opener = MockOpener(sockets.clone(), keeps_socket);
        let (mut ring, frames) = driver_of(opener);
        let mut epoch = 0;
        let (mut submitted, mut back) = (0, 0);
        for step in steps {
            let socket = &sockets[epoch];
            match step {
                Step::Submit if TxRing::slots_free(&ring) > 0 && frames.free_frames() > 0 => {
                    submit(&mut ring, &frames, 1);
                    submitted += 1;
                }
                Step::Submit => {}
                Step::Kick => ring.kick(0).expect("back-pressure at most"),
                Step::Take(frames) => socket.take(frames),
                Step::Finish(position) => drop(socket.finish(position)),
                // Only as many as a ring can hold, as with a real kernel.
                Step::Again(address) => {
                    socket.complete(address);
                    back += reap(&mut ring, &frames);
                }
                Step::Reap => back += reap(&mut ring, &frames),
                Step::Renew => {
                    ring.restart(|| ()).expect("prepared");
                    back += reap(&mut ring, &frames);
                    prop_assert_eq!(back, submitted, "a renewal hands everything back");
                    epoch += usize::from(!socket.is_used(&ring));
                }
            }
            // The kernel might still own abandoned frames.
            let abandoned = frames.umem().abandoned();
            let free = frames.free_frames() + (submitted - back);
            prop_assert_eq!(free + abandoned, FRAMES);
            prop_assert!(keeps_socket || abandoned == 0);
        }
        ring.close();
        back += reap(&mut ring, &frames);
        prop_assert_eq!((back, frames.free_frames()), (submitted, FRAMES));
    }
}
