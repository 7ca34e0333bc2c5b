//! A real TCP connection through everything: TAP -> packet ring -> veth -> peer, and back.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::common::{LEFT, LEFT_MAC, PATIENCE, RIGHT, RIGHT_MAC, allowed, settle};
use taut_linux::af_packet::{
    AfPacket, AfPacketCompletions, AfPacketTx, PacketConfig, PacketReceiver,
};
use taut_linux::link::{self, RootQdisc};
use taut_linux::{
    NetNs, Tap, TapConfig, VirtioNetHeader, WriteOutcome, complete_checksum, poll, sched,
};
use taut_path::pool::FramePool;
use taut_path::{Completions, Packet, PacketSink, TxRing};

const TRANSFER_BYTES: usize = 2 << 20;

/// A TAP in one namespace and a shaped veth pair between two others, bridged by the test.
struct Bridge {
    tap: Tap,
    receiver: PacketReceiver,
    tx: AfPacketTx,
    completions: AfPacketCompletions,
    frames: FramePool,
    waiting: VecDeque<Packet>,
    buffer: Vec<u8>,
    checksums_finished: u64,
    gso_packets_back: u64,
}

impl Bridge {
    fn new(left: &NetNs, middle: &NetNs, right: &NetNs, checksum_offload: bool) -> Self {
        let config = TapConfig {
            checksum_offload,
            mac: Some(LEFT_MAC),
            ..TapConfig::default()
        };
        let tap = Tap::open(left, "tap0", config).expect("tap");
        settle(left, "tap0", LEFT, RIGHT, RIGHT_MAC);
        link::add_veth_pair(middle, "veth0", right, "veth1").expect("pair");
        link::set_up(middle, "veth0").expect("up");
        link::set_mac(right, "veth1", RIGHT_MAC).expect("mac");
        settle(right, "veth1", RIGHT, LEFT, LEFT_MAC);
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s: 200_000_000,
            burst_bytes: 20_000,
            limit_bytes: 16 << 20,
        };
        link::set_root_qdisc(middle, "veth0", shaper).expect("qdisc");
        let config = PacketConfig {
            slots: 64,
            ..PacketConfig::default()
        };
        let ((tx, completions), frames) = AfPacket::open(middle, "veth0", &config).expect("ring");
        Self {
            tap,
            receiver: PacketReceiver::open(middle, "veth0").expect("receiver"),
            tx,
            completions,
            frames,
            waiting: VecDeque::new(),
            buffer: vec![0; PacketReceiver::READ_LIMIT_BYTES],
            checksums_finished: 0,
            gso_packets_back: 0,
        }
    }

    fn run(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            // The ring has no event for completions, so poll at least once a millisecond.
            let soon_ns = sched::monotonic_ns() + 1_000_000;
            poll::wait(&[self.tap.as_fd(), self.receiver.as_fd()], Some(soon_ns)).expect("poll");
            self.read_tap();
            self.send();
            self.carry_back();
        }
    }

    fn read_tap(&mut self) {
        while let Some(bytes) = self.tap.read(&mut self.buffer).expect("reads") {
            let (header, _) = VirtioNetHeader::split(&self.buffer).expect("header");
            let frame = &mut self.buffer[VirtioNetHeader::BYTES..bytes];
            let open = complete_checksum(frame, header).expect("a frame of the kernel");
            self.checksums_finished += u64::from(open);
            self.waiting.extend(self.frames.packet(frame));
        }
    }

    fn send(&mut self) {
        let mut freed = |packet: Packet| self.frames.freed(packet);
        while self.completions.reap(0, 64, &mut freed).expect("reaps") {}
        while self.tx.slots_free() > 0 {
            let Some(packet) = self.waiting.pop_front() else {
                break;
            };
            self.tx.submit(packet, 0).expect("the device can carry it");
        }
        self.tx.kick(0).expect("kicks");
    }

    fn carry_back(&mut self) {
        while let Some(bytes) = self.receiver.read(&mut self.buffer).expect("receives") {
            let (header, _) = VirtioNetHeader::split(&self.buffer).expect("header");
            self.gso_packets_back += u64::from(header.is_segmented());
            let written = self.tap.write(&self.buffer[..bytes]).expect("writes");
            assert_eq!(written, WriteOutcome::Accepted);
        }
    }
}

fn pattern(at: usize) -> u8 {
    (at / 253) as u8 ^ at as u8
}

/// Sends bytes and receives all of them back over one connection.
fn echo(left: &NetNs, right: &NetNs) {
    let listener = right
        .run(|| TcpListener::bind((RIGHT, 7)))
        .expect("enters")
        .expect("binds");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("sets");
        stream.set_write_timeout(Some(PATIENCE)).expect("sets");
        std::io::copy(&mut stream.try_clone().expect("clones"), &mut stream).expect("echoes")
    });
    let connect = || TcpStream::connect_timeout(&(RIGHT, 7).into(), PATIENCE);
    let mut stream = left.run(connect).expect("enters").expect("connects");
    stream.set_read_timeout(Some(PATIENCE)).expect("sets");
    stream.set_write_timeout(Some(PATIENCE)).expect("sets");
    let mut back = stream.try_clone().expect("clones");
    let writer = thread::spawn(move || {
        let data: Vec<u8> = (0..TRANSFER_BYTES).map(pattern).collect();
        stream.write_all(&data).expect("sends");
        stream.shutdown(std::net::Shutdown::Write).expect("ends");
    });
    let mut received = Vec::new();
    back.read_to_end(&mut received).expect("receives");
    writer.join().expect("writer");
    assert_eq!(server.join().expect("server"), TRANSFER_BYTES as u64);
    assert_eq!(received.len(), TRANSFER_BYTES);
    assert!(
        received
            .iter()
            .enumerate()
            .all(|(at, &byte)| byte == pattern(at))
    );
}

#[test]
fn tcp_connection_works_through_the_ring() {
    if !allowed() {
        return;
    }
    for checksum_offload in [true, false] {
        let [left, middle, right] = [(); 3].map(|()| NetNs::new().expect("namespace"));
        let mut bridge = Bridge::new(&left, &middle, &right, checksum_offload);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| bridge.run(&stop));
            let ended = std::panic::catch_unwind(|| echo(&left, &right));
            stop.store(true, Ordering::Relaxed);
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        // The TAP left partial checksums only with the offload; the peer always sends GSO packets,
        // which the TAP accepts.
        assert_eq!(bridge.checksums_finished > 0, checksum_offload);
        assert!(bridge.gso_packets_back > 0);
        assert_eq!(bridge.receiver.take_dropped().expect("counters"), 0);
    }
}
