//! Class, ECN mark, length and metadata of frames.

use smoltcp::phy::{Device, Medium, PacketMeta, TxToken};
use taut_path::AnyQdisc;
use taut_path::qdisc::{Fifo, Shaped};
use taut_smoltcp::Limited;

use crate::played::{Played, at, builder, drain, of, send};

/// The sender is ECN-capable.
const ECT: u8 = 2;
/// Congestion was experienced.
const CE: u8 = 3;
/// Low delay.
const URGENT: u8 = 0x10;

/// A packet of 1,000 bytes: an IPv4 header and the ports of UDP.
fn packet(tos: u8, port: u8) -> Vec<u8> {
    let mut packet = vec![0x45, tos, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0];
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, port, 0, 9]);
    packet.resize(1000, 0);
    packet
}

/// The packet in an Ethernet frame.
fn frame(tos: u8, port: u8) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0]);
    frame.extend(packet(tos, port));
    frame
}

fn medium(medium: Medium) -> Played {
    Played {
        medium,
        ..Played::default()
    }
}

/// Returns the frames received when all are `frame` and wait for long in a marking discipline.
fn through_congestion(device: Played, frame: &[u8]) -> Vec<Vec<u8>> {
    let codel: AnyQdisc = "codel target 1us interval 2us ecn".parse().unwrap();
    // More than CoDel's MTU waits.
    let builder = of(device).slots(8).backlog_packets(20);
    let mut device = builder.qdisc(codel).build(at(0)).unwrap();
    for round in 0..100 {
        let now = at(round * 1000);
        while let Some(token) = device.transmit(now) {
            token.consume(frame.len(), |space| space.copy_from_slice(frame));
        }
        device.device_mut().finished += 1;
        let _ = device.complete(now);
    }
    std::mem::take(&mut device.device_mut().taken)
}

#[test]
fn ecn_mark_is_written_into_the_frame() {
    let is_marked = |tos_at: usize| move |frame: &Vec<u8>| frame[tos_at] == CE;
    let frames = through_congestion(medium(Medium::Ethernet), &frame(ECT, 1));
    assert!(frames.iter().any(is_marked(15)));
    let frames = through_congestion(medium(Medium::Ip), &packet(ECT, 1));
    assert!(frames.iter().any(is_marked(1)));
}

#[test]
fn ieee_802_15_4_is_not_ip() {
    // Both begin as an ECN-capable packet of IPv6 or IPv4 would.
    for mut sent in [vec![0x61, 0xa8, 1, 0xcd, 0xab, 2, 0, 3, 0], packet(ECT, 1)] {
        sent.resize(127, 0x55);
        let frames = through_congestion(medium(Medium::Ieee802154), &sent);
        assert!(frames.len() > 50, "{}", frames.len());
        assert!(frames.iter().all(|frame| *frame == sent));
    }
}

/// Returns the position of the packet to `port` among the frames of the device.
fn place(device: &Limited<Played>, port_at: usize, port: u8) -> usize {
    let taken = &device.device().taken;
    taken
        .iter()
        .position(|frame| frame[port_at] == port)
        .unwrap()
}

#[test]
fn new_flow_overtakes_a_bulk_sender() {
    for (number, (device, port_at)) in [(medium(Medium::Ethernet), 35), (medium(Medium::Ip), 21)]
        .into_iter()
        .enumerate()
    {
        let make = if number == 0 { frame } else { packet };
        let mut device = of(device)
            .slots(8)
            .backlog_packets(20)
            .build(at(0))
            .unwrap();
        for _ in 0..15 {
            send(&mut device, &make(0, 1), at(0));
        }
        let held = device.device().taken.len();
        send(&mut device, &make(0, 2), at(0));
        drain(&mut device, at(1));
        assert_eq!(device.device().taken.len(), 16);
        assert!(place(&device, port_at, 2) <= held + 2);
    }
}

/// Returns how many earlier frames an urgent frame overtakes, and how many waited.
fn overtakes(device: Played, urgent: &[u8], port_at: usize) -> (usize, usize) {
    let bands: AnyQdisc = "pfifo_fast".parse().unwrap();
    let mut device = of(device).slots(8).qdisc(bands).build(at(0)).unwrap();
    for _ in 0..5 {
        send(&mut device, &[0; 100], at(0));
    }
    let waiting = 5 - device.device().taken.len();
    send(&mut device, urgent, at(0));
    drain(&mut device, at(1));
    (5 - place(&device, port_at, 2), waiting)
}

#[test]
fn high_priority_is_sent_first() {
    let (passed, waiting) = overtakes(medium(Medium::Ethernet), &frame(URGENT, 2), 35);
    assert!(passed == waiting && waiting > 0, "{passed} of {waiting}");
    let (passed, _) = overtakes(medium(Medium::Ieee802154), &packet(URGENT, 2), 21);
    assert_eq!(passed, 0, "no IP");
}

#[test]
fn packet_not_ready_is_sent_later() {
    let shaped = Shaped::new(Fifo::new(100), 8_000_000, 100);
    let mut device = builder()
        .qdisc(AnyQdisc::new("shaped", shaped))
        .limit("1000p".parse().unwrap())
        .build(at(0))
        .unwrap();
    for _ in 0..3 {
        send(&mut device, &[0; 100], at(0));
    }
    let mut now = at(0);
    for taken in 1..3 {
        assert_eq!(device.device().taken.len(), taken);
        // 100 bytes at a byte each microsecond.
        let wait = device.poll_delay(now, None).expect("a packet waits");
        assert_eq!(wait.total_micros(), 100);
        now += wait;
        let _ = device.complete(now);
    }
}

#[test]
fn a_frame_reaches_the_device_with_its_length() {
    let mut device = builder().build(at(0)).unwrap();
    for bytes in [1514, 0, 1, 9000, 60] {
        send(&mut device, &vec![7; bytes], at(0));
        drain(&mut device, at(0));
        assert_eq!(device.device().taken.last(), Some(&vec![7; bytes]));
    }
}

#[test]
fn packet_metadata_reaches_the_device() {
    let mut device = builder().build(at(0)).unwrap();
    for id in [0, 7, 0, 8] {
        let mut meta = PacketMeta::default();
        meta.id = id;
        let mut token = device.transmit(at(0)).expect("there is room");
        token.set_meta(meta);
        token.consume(60, |_| ());
    }
    device.transmit(at(0)).unwrap().consume(60, |_| ());
    drain(&mut device, at(0));
    let ids: Vec<_> = device.device().metas.iter().map(|meta| meta.id).collect();
    assert_eq!(ids, [0, 7, 0, 8, 0]);
}
