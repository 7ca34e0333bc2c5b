//! Receiving: VLAN tags in place, frames for other hosts, offloads turned off and on.

use std::os::fd::AsFd;

use taut_linux::af_packet::{PacketReceiver, PacketSender};
use taut_linux::link::OffloadControl;
use taut_linux::{NetNs, VirtioNetHeader, complete_checksum, link, poll, sched};

use crate::common::{PATIENCE, RIGHT_MAC, allowed};

struct Pair {
    left: NetNs,
    right: NetNs,
}

impl Pair {
    fn new() -> Self {
        let (left, right) = (NetNs::new().expect("left"), NetNs::new().expect("right"));
        link::add_veth_pair(&left, "veth0", &right, "veth1").expect("pair");
        link::set_mac(&right, "veth1", RIGHT_MAC).expect("mac");
        link::set_up(&left, "veth0").expect("up");
        link::set_up(&right, "veth1").expect("up");
        Self { left, right }
    }
}

/// Returns the next frame that begins with `start`.
fn receive(receiver: &PacketReceiver, start: &[u8]) -> (VirtioNetHeader, Vec<u8>) {
    let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
    let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
    loop {
        let ready = poll::wait(&[receiver.as_fd()], Some(patience_ns)).expect("poll");
        assert!(ready.contains(&true), "nothing came");
        while let Some(bytes) = receiver.read(&mut buffer).expect("reads") {
            let (header, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
            if frame.starts_with(start) {
                return (header, frame.to_vec());
            }
        }
    }
}

const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 77, 2, 0, 0, 0, 0, 8];

#[test]
fn removed_vlan_tag_is_reinserted() {
    if !allowed() {
        return;
    }
    let pair = Pair::new();
    let sender = PacketSender::open(&pair.left, "veth0").expect("sender");
    let receiver = PacketReceiver::open(&pair.right, "veth1").expect("receiver");
    for tags in [
        &[0x81, 0x00, 0x00, 0x05][..],
        &[0x81, 0x00, 0xff, 0xff],
        &[0x81, 0x00, 0x00, 0x00],
        &[0x88, 0xa8, 0x20, 0x07],
        &[0x88, 0xa8, 0x20, 0x07, 0x81, 0x00, 0x40, 0x08],
        &[0x81, 0x00, 0x20, 0x07, 0x81, 0x00, 0x40, 0x08],
        &[],
    ] {
        let frame = [&ADDRESSES[..], tags, &[0x88, 0xb5], &[0xa5; 46]].concat();
        let sent = [&VirtioNetHeader::default().to_bytes()[..], &frame].concat();
        sender.send(&sent).expect("sends");
        assert_eq!(receive(&receiver, &ADDRESSES).1, frame, "{tags:x?}");
    }
}

#[test]
fn partial_checksum_is_found_behind_a_tag() {
    if !allowed() {
        return;
    }
    let pair = Pair::new();
    let sender = PacketSender::open(&pair.left, "veth0").expect("sender");
    let receiver = PacketReceiver::open(&pair.right, "veth1").expect("receiver");
    let ip = [
        0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    // The sum of the pseudo header: 0a00 + 0001 + 0a00 + 0002 + 17 + 12.
    let udp = [0x30, 0x39, 0, 7, 0, 12, 0x14, 0x20, b't', b'a', b'u', b't'];
    let frame = [&ADDRESSES[..], &[0x81, 0, 0, 5, 8, 0], &ip, &udp].concat();
    let open = VirtioNetHeader {
        flags: 1,
        checksum_start: 38,
        checksum_offset: 6,
        ..VirtioNetHeader::default()
    };
    let sent = [&open.to_bytes()[..], &frame].concat();
    sender.send(&sent).expect("sends");
    let (header, mut received) = receive(&receiver, &ADDRESSES);
    let mut expected = frame;
    complete_checksum(&mut expected, open).expect("finishes");
    complete_checksum(&mut received, header).expect("finishes");
    assert_eq!(received, expected);
}

#[test]
fn receiver_keeps_device_promiscuous() {
    if !allowed() {
        return;
    }
    let pair = Pair::new();
    let is_promiscuous = || {
        let device = link::describe(&pair.right, "veth1").expect("there");
        device.is_promiscuous
    };
    let receiver = PacketReceiver::open(&pair.right, "veth1").expect("receiver");
    assert!(!is_promiscuous());
    receiver.set_promiscuous().expect("reaches all");
    assert!(is_promiscuous());
    drop(receiver);
    assert!(!is_promiscuous());
}

#[test]
fn receive_offloads_are_turned_off_and_on_again() {
    if !allowed() {
        return;
    }
    let pair = Pair::new();
    let control = OffloadControl::new(&pair.right).expect("control");
    let at_first = control.active("veth1").expect("is read");
    // Off by default for a veth.
    let gro = control.active("lo").expect("is read");
    assert_eq!(gro.to_string(), "rx-gro", "loopback has it");
    control.turn_on("veth1", &gro).expect("turns on");
    assert_eq!(
        control.active("veth1").expect("is read"),
        at_first.clone().with(&gro)
    );
    let changed = control.turn_off("veth1").expect("turns off");
    assert_eq!(changed.to_string(), "rx-gro");
    assert!(control.active("veth1").expect("is read").is_empty());
    assert!(control.turn_off("veth1").expect("nothing to do").is_empty());
    control.turn_on("veth1", &changed).expect("as before");
    assert_eq!(control.active("veth1").expect("is read"), changed);
    let missing = control.turn_off("veth9").expect_err("no such device");
    assert!(missing.to_string().contains("veth9"), "{missing}");
}
