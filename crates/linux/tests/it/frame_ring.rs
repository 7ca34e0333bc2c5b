//! The driver over the rings of another library.

use std::collections::VecDeque;

use taut_linux::frame_ring::{FrameRing, RawRings, TxFrame};
use taut_path::driver::CompletionStatus;
use taut_path::pool::FramePool;
use taut_path::{AnyLimit, Completions, Ecn, Frame, Packet, Queue, Stop, TxRing};

const FRAMES: u32 = 128;
const SLOTS: u32 = 64;
const BYTES: u32 = 60;

/// A device that takes a number of frames at each doorbell, and completes frames on request.
#[derive(Default)]
struct Rings {
    transmit: VecDeque<TxFrame>,
    device: VecDeque<u32>,
    completions: VecDeque<u32>,
    taken_per_doorbell: usize,
    doorbells: u32,
    fails: bool,
    completes_at_once: bool,
    memory: Vec<u8>,
}

impl Rings {
    fn new(taken_per_doorbell: usize) -> Self {
        Self {
            taken_per_doorbell,
            ..Self::default()
        }
    }

    /// Completes up to `count` frames that the device has.
    fn complete(&mut self, count: usize) {
        let count = count.min(self.device.len());
        self.completions.extend(self.device.drain(..count));
    }
}

impl RawRings for Rings {
    type Error = &'static str;

    fn push(&mut self, frames: &[TxFrame]) -> usize {
        let count = frames.len().min(SLOTS as usize - self.transmit.len());
        self.transmit.extend(&frames[..count]);
        count
    }

    fn wake(&mut self) -> Result<(), &'static str> {
        if self.fails {
            return Err("no device");
        }
        self.doorbells += 1;
        let count = self.taken_per_doorbell.min(self.transmit.len());
        let taken = self.transmit.drain(..count);
        self.device.extend(taken.map(|it| it.frame));
        if self.completes_at_once {
            self.complete(usize::MAX);
        }
        Ok(())
    }

    fn untaken(&mut self) -> u32 {
        self.transmit.len() as u32
    }

    fn unread(&mut self) -> u32 {
        self.completions.len() as u32
    }

    fn read(&mut self, max: u32, completed: impl FnMut(u32)) {
        let count = self.completions.len().min(max as usize);
        self.completions.drain(..count).for_each(completed);
    }

    fn with_bytes(&mut self, _frame: u32, bytes: u32, work: impl FnOnce(&mut [u8])) {
        self.memory.resize(bytes as usize, 0);
        work(&mut self.memory);
    }
}

type TestQueue = Queue<FrameRing<Rings>>;

/// A queue without a limit over `rings`, with `packets` in it.
fn sent(rings: Rings, packets: u32) -> (TestQueue, FramePool) {
    let mut pool = FramePool::new(FRAMES, 0);
    let ring = FrameRing::new(rings, FRAMES, SLOTS, 14..=1514);
    let mut queue = Queue::builder_for(ring)
        .limit(AnyLimit::packets(1_000))
        .build(0)
        .expect("builds");
    for _ in 0..packets {
        let packet = Packet::new(pool.take().expect("free"), BYTES);
        queue.enqueue(packet, 0, &mut pool);
    }
    let _ = queue.run(0, &mut pool);
    (queue, pool)
}

fn rings(queue: &mut TestQueue) -> &mut Rings {
    queue.device_mut().rings_mut().expect("open")
}

#[test]
fn doorbell_rings_until_all_are_taken() {
    let (mut queue, _pool) = sent(Rings::new(32), SLOTS);
    assert_eq!(rings(&mut queue).doorbells, 2);
    assert_eq!(queue.device_mut().held(), SLOTS);
}

#[test]
fn reap_rings_for_untaken_frames() {
    let (mut queue, mut pool) = sent(Rings::new(0), 10);
    assert_eq!(queue.device_mut().held(), 0);
    rings(&mut queue).taken_per_doorbell = 10;
    let completed = queue.complete(1, &mut pool).expect("completes");
    assert_eq!(completed.counts.packets, 0);
    assert_eq!(queue.device_mut().held(), 10);
}

#[test]
fn full_ring_stops_the_queue() {
    let (mut queue, mut pool) = sent(Rings::new(64), SLOTS + 10);
    assert_eq!(queue.backlog().packets, 10);
    assert_eq!(queue.run(1, &mut pool), Stop::RingFull);
    rings(&mut queue).complete(SLOTS as usize);
    assert!(queue.complete(2, &mut pool).expect("completes").schedule);
    let _ = queue.run(2, &mut pool);
    assert_eq!(
        (queue.backlog().packets, queue.device_mut().held()),
        (0, 10)
    );
}

#[test]
fn failed_doorbell_loses_nothing() {
    let mut device = Rings::new(64);
    device.fails = true;
    let (mut queue, mut pool) = sent(device, 5);
    assert_eq!(queue.run(1, &mut pool), Stop::Failed("no device"));
    rings(&mut queue).fails = false;
    let _ = queue.run(2, &mut pool);
    rings(&mut queue).complete(5);
    assert_eq!(
        queue
            .complete(3, &mut pool)
            .expect("completes")
            .counts
            .packets,
        5
    );
    assert_eq!(pool.free_frames(), FRAMES);
}

#[test]
fn budget_leaves_completions_pending() {
    let (mut queue, _pool) = sent(Rings::new(64), 10);
    rings(&mut queue).complete(10);
    let mut freed = 0;
    let mut reap = |budget| queue.device_mut().reap(1, budget, &mut |_| freed += 1);
    assert_eq!((reap(4), reap(6)), (Ok(true), Ok(false)));
    assert_eq!(freed, 10);
}

#[test]
fn closing_returns_every_packet_once() {
    let (mut queue, mut pool) = sent(Rings::new(8), 20);
    let device = rings(&mut queue);
    device.complete(3);
    let closed = queue.device_mut().close();
    assert!(closed.is_some() && queue.device_mut().close().is_none());
    assert_eq!(TxRing::slots_free(queue.device()), 0);
    let completed = queue.complete(1, &mut pool).expect("completes");
    assert_eq!((completed.counts.packets, completed.stale_packets), (3, 17));
    assert_eq!(pool.free_frames(), FRAMES);
    queue.reset(2);

    queue.device_mut().open(Rings::new(8));
    let packet = Packet::new(pool.take().expect("free"), BYTES);
    queue.enqueue(packet, 3, &mut pool);
    let _ = queue.run(3, &mut pool);
    rings(&mut queue).complete(1);
    let completed = queue.complete(4, &mut pool).expect("completes");
    assert_eq!((completed.counts.packets, completed.stale_packets), (1, 0));
}

#[test]
fn packets_wait_while_rings_are_closed() {
    let (mut queue, mut pool) = sent(Rings::new(8), 0);
    drop(queue.device_mut().close());
    let packet = Packet::new(pool.take().expect("free"), BYTES);
    queue.enqueue(packet, 1, &mut pool);
    assert_eq!(queue.run(1, &mut pool), Stop::RingFull);
    assert_eq!(queue.backlog().packets, 1);
}

#[test]
fn unread_completions_are_not_held() {
    let (mut queue, _pool) = sent(Rings::new(64), 10);
    rings(&mut queue).complete(4);
    assert_eq!(queue.device_mut().held(), 6);
}

#[test]
fn unknown_frame_is_counted() {
    let (mut queue, mut pool) = sent(Rings::new(64), 1);
    let device = rings(&mut queue);
    device.complete(1);
    device.completions.extend([0, FRAMES, u32::MAX]);
    let completed = queue.complete(1, &mut pool).expect("completes");
    assert_eq!(completed.counts.packets, 1);
    assert_eq!(queue.device().unknown_completions(), 3);
}

#[test]
fn lengths_out_of_range_are_rejected() {
    let mut ring = FrameRing::new(Rings::new(8), FRAMES, SLOTS, 14..=1514);
    for bytes in [13, 1515] {
        assert!(ring.submit(Packet::new(Frame::new(0), bytes), 0).is_err());
    }
    for bytes in [14, 1514] {
        assert!(
            ring.submit(Packet::new(Frame::new(bytes % 8), bytes), 0)
                .is_ok()
        );
    }
    let beyond = Packet::new(Frame::new(FRAMES), 14);
    assert!(ring.submit(beyond, 0).is_err(), "no such frame");
    let twice = Packet::new(Frame::new(14 % 8), 14);
    assert!(ring.submit(twice, 0).is_err(), "in flight");
}

#[test]
fn marked_packet_is_marked_in_its_frame() {
    let mut device = Rings::new(8);
    device.memory = vec![0; BYTES as usize];
    // Ethernet and an IPv4 header with ECT(0).
    device.memory[12..14].copy_from_slice(&0x0800_u16.to_be_bytes());
    (device.memory[14], device.memory[15]) = (0x45, 2);
    let mut ring = FrameRing::new(device, FRAMES, SLOTS, 14..=1514);
    let mut packet = Packet::new(Frame::new(0), BYTES);
    packet.set_ecn(Ecn::Marked);
    assert!(ring.submit(packet, 0).is_ok());
    assert_eq!(ring.rings_mut().expect("open").memory[15] & 3, 3);
}

#[test]
fn device_that_completes_at_once_is_early() {
    for (completes_at_once, status) in [
        (true, CompletionStatus::Early),
        (false, CompletionStatus::Valid),
    ] {
        let mut device = Rings::new(32);
        device.completes_at_once = completes_at_once;
        let mut ring = FrameRing::new(device, FRAMES, SLOTS, 14..=1514);
        for _ in 0..100 {
            for frame in 0..32 {
                let packet = Packet::new(Frame::new(frame), BYTES);
                assert!(ring.submit(packet, 0).is_ok());
            }
            assert_eq!(ring.kick(0), Ok(()));
            ring.rings_mut().expect("open").complete(32);
            assert_eq!(ring.reap(0, u32::MAX, &mut |_| {}), Ok(false));
        }
        assert_eq!(ring.completion_status(), status);
        assert_eq!(ring.completions_valid(), status != CompletionStatus::Early);
    }
}
