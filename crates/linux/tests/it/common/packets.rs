//! Numbered frames for the packet ring: generated, sent, and checked on arrival.

use std::io;
use std::os::fd::AsFd;

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use taut_linux::af_packet::{AfPacket, AfPacketCompletions, AfPacketTx, PacketReceiver};
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, VirtioNetHeader, poll, sched};
use taut_path::pool::FramePool;
use taut_path::{Completions, Packet, PacketSink, TxRing};

use super::{LEFT_MAC, RIGHT_MAC};

/// An EtherType without a receiver (local experiments).
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// Addresses, EtherType and number.
pub const MIN_BYTES: usize = 14 + 4;
pub const LONGEST_BYTES: usize = 1514;

/// Two namespaces with a veth pair between, a ring on the left end and a receiver on the right.
pub struct Ring {
    pub left: NetNs,
    pub right: NetNs,
    pub pool: FramePool,
    pub tx: AfPacketTx,
    pub completions: AfPacketCompletions,
    pub receiver: PacketReceiver,
    buffer: Vec<u8>,
    /// Held by tests that check the order of arrival.
    _pinned: Option<PinnedCpu>,
}

/// Pins the calling thread to its current CPU until it is dropped.
///
/// A veth passes each frame to its peer through the backlog of the sending CPU. If a thread moves
/// to another CPU, its frames there can arrive before those that still wait here. This reordering
/// by the kernel was seen in 10 of 50 runs of a thread that was moved each millisecond, and in none
/// of 25 of one that stayed. The shaper's timer runs on the CPU that last used its queue, so it
/// stays as well.
struct PinnedCpu {
    before: CpuSet,
}

impl PinnedCpu {
    fn stay() -> Self {
        let before = sched_getaffinity(None).expect("processors");
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        sched_setaffinity(None, &here).expect("stays");
        Self { before }
    }
}

impl Drop for PinnedCpu {
    fn drop(&mut self) {
        // The next test may be on the same thread.
        sched_setaffinity(None, &self.before).expect("as before");
    }
}

impl Ring {
    /// For a test on one thread: its frames arrive in order.
    pub fn new(slots: u32, qdisc: RootQdisc) -> Self {
        Self {
            _pinned: Some(PinnedCpu::stay()),
            ..Self::for_threads(slots, qdisc)
        }
    }

    /// For a test whose threads can move: the kernel might change the order.
    pub fn for_threads(slots: u32, qdisc: RootQdisc) -> Self {
        let (left, right) = (
            NetNs::new().expect("namespace"),
            NetNs::new().expect("namespace"),
        );
        link::add_veth_pair(&left, "veth0", &right, "veth1").expect("pair");
        link::set_mac(&left, "veth0", LEFT_MAC).expect("mac");
        link::set_mac(&right, "veth1", RIGHT_MAC).expect("mac");
        for (ns, device) in [(&left, "veth0"), (&right, "veth1")] {
            link::set_up(ns, device).expect("up");
        }
        link::set_root_qdisc(&left, "veth0", qdisc).expect("qdisc");
        let pool = FramePool::new(slots * 2, 2048);
        let receiver = PacketReceiver::open(&right, "veth1").expect("receiver");
        let (tx, completions) =
            AfPacket::open_with(&left, "veth0", slots, pool.clone()).expect("ring");
        let buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
        Self {
            left,
            right,
            pool,
            tx,
            completions,
            receiver,
            buffer,
            _pinned: None,
        }
    }

    /// Sends frames from `next` on while there are slots and the number is below `end`, and rings.
    pub fn fill(&mut self, next: &mut u32, end: u32) -> io::Result<()> {
        while *next < end && self.tx.slots_free() >= self.tx.slots_of_largest() {
            self.tx
                .submit(numbered(&self.pool, *next), 0)
                .expect("the device can carry it");
            *next += 1;
        }
        self.tx.kick(0)
    }

    /// Reaps all completed frames; returns their lengths.
    pub fn reap(&mut self) -> Vec<u32> {
        let mut lengths = Vec::new();
        reap_into(&mut self.completions, &self.pool, |length| {
            lengths.push(length)
        });
        lengths
    }

    /// Receives all waiting numbered frames, checks each, and returns their numbers.
    pub fn receive(&mut self) -> Vec<u32> {
        let mut numbers = Vec::new();
        receive_into(&self.receiver, &mut self.buffer, |number| {
            numbers.push(number)
        });
        numbers
    }

    /// Waits up to a millisecond for a frame.
    pub fn wait(&self) {
        let soon_ns = sched::monotonic_ns() + 1_000_000;
        poll::wait(&[self.receiver.as_fd()], Some(soon_ns)).expect("poll");
    }
}

/// 100 Mbit/s behind a bucket of `burst_bytes`, with room for everything.
pub fn shaper(burst_bytes: u32) -> RootQdisc {
    RootQdisc::Tbf {
        rate_bits_per_s: 100_000_000,
        burst_bytes,
        limit_bytes: 16 << 20,
    }
}

/// Reaps all completed frames.
pub fn reap_into(
    completions: &mut AfPacketCompletions,
    pool: &FramePool,
    mut done: impl FnMut(u32),
) {
    let mut pool = pool.clone();
    let mut freed = |packet: Packet| {
        done(packet.wire_bytes());
        pool.freed(packet);
    };
    while completions.reap(0, 7, &mut freed).expect("reaps") {}
}

/// Receives all waiting numbered frames, and checks every byte.
pub fn receive_into(receiver: &PacketReceiver, buffer: &mut [u8], mut take: impl FnMut(u32)) {
    while let Some(bytes) = receiver.read(buffer).expect("receives") {
        let (_, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
        if frame[12..14] == ETHERTYPE {
            let number = u32::from_be_bytes(frame[14..18].try_into().expect("number"));
            assert!(frame == bytes_of(number), "frame {number} arrived changed");
            take(number);
        }
    }
}

/// The packet of a number, in a frame of the pool.
pub fn numbered(pool: &FramePool, number: u32) -> Packet {
    pool.packet(&bytes_of(number)).expect("frame")
}

/// Frames of all lengths, with bytes that depend on the number, so that no two are equal.
pub fn bytes_of(number: u32) -> Vec<u8> {
    let length = if number.is_multiple_of(2) {
        LONGEST_BYTES
    } else {
        MIN_BYTES + (number as usize * 31) % (LONGEST_BYTES - MIN_BYTES)
    };
    let mut bytes = [
        &RIGHT_MAC.0[..],
        &LEFT_MAC.0,
        &ETHERTYPE,
        &number.to_be_bytes(),
    ]
    .concat();
    let mut state = number.wrapping_mul(0x9e37_79b9) | 1;
    bytes.extend((MIN_BYTES..length).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    }));
    bytes
}
