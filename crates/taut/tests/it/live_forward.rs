//! `taut forward` in separate namespaces: every received frame is forwarded unchanged or counted,
//! under all changes of the interfaces.

#[path = "live_forward/bench.rs"]
pub mod bench;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;

use bench::{Bench, LEFT, RIGHT, allowed, frame, of, total};
use serde_json::Value;
use taut_linux::link::{self, OffloadControl, RootQdisc};
use taut_linux::segment::Segmenter;
use taut_linux::{NetNs, Tap, TapConfig, VirtioNetHeader, WriteOutcome};

/// Frames of all types: name, and the bytes after the addresses.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    let tagged = |tags: &[u8], length: usize| {
        let mut rest = [tags, &[0x88, 0xb5]].concat();
        rest.resize(length - 12, 0x5a);
        rest
    };
    let plain = |ethertype: [u8; 2], length: usize| {
        let mut rest = ethertype.to_vec();
        rest.resize(length - 12, 0x3c);
        rest
    };
    vec![
        ("ARP", plain([0x08, 0x06], 42)),
        ("IPv4 that is none", plain([0x08, 0x00], 60)),
        ("IPv6", plain([0x86, 0xdd], 86)),
        ("LLDP", plain([0x88, 0xcc], 60)),
        ("pause", plain([0x88, 0x08], 60)),
        ("a length in place of a type", plain([0x00, 0x26], 52)),
        ("an unknown type", plain([0xff, 0x01], 700)),
        ("the least", plain([0x88, 0xb5], 14)),
        ("the most", plain([0x88, 0xb5], 1514)),
        ("a VLAN", tagged(&[0x81, 0, 0x20, 5], 64)),
        ("a priority only", tagged(&[0x81, 0, 0xe0, 0], 64)),
        ("the most in a VLAN", tagged(&[0x81, 0, 0x0f, 0xff], 1518)),
        ("a provider's VLAN", tagged(&[0x88, 0xa8, 0, 7], 100)),
        (
            "a VLAN in a VLAN",
            tagged(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9], 1000),
        ),
        (
            "a VLAN in one of the same kind",
            tagged(&[0x81, 0, 0, 7, 0x81, 0, 0, 9], 100),
        ),
    ]
}

/// Every type, in both directions, to all types of addresses.
pub fn every_kind_passes(arguments: &str) {
    let bench = Bench::new();
    let forward = bench.start(arguments);
    let mut sent = 0;
    for (from, to) in [(LEFT, RIGHT), (RIGHT, LEFT)] {
        let receiver = bench.receiver(to);
        for (number, (name, rest)) in kinds().into_iter().enumerate() {
            // Unicast, broadcast, multicast, and addresses that an 802.1D bridge does not forward.
            for group in [[2, 0, 0, 0, 0, 99], [0xff; 6], [1, 0x80, 0xc2, 0, 0, 0x0e]] {
                let bytes = frame(group, number as u8, &rest);
                bench.send(from, VirtioNetHeader::default(), &bytes);
                assert_eq!(receiver.next(&bytes[..12]), bytes, "{name} to {group:x?}");
                sent += 1;
            }
        }
    }
    let document = forward.end();
    assert_eq!(total(&document, "received_packets"), sent, "{document}");
    assert_eq!(total(&document, "sent_packets"), sent, "{document}");
    assert_eq!(total(&document, "unaccounted_packets"), 0);
}

#[test]
fn all_frame_types_pass_unchanged() {
    if allowed() {
        every_kind_passes("");
    }
}

/// Sends a TCP stream of this many bytes from left to right. Returns the received bytes.
pub fn stream(bench: &Bench, port: u16, bytes: usize) -> bool {
    let address = (bench::RIGHT_ADDRESS, port);
    let listener = bench
        .right
        .run(|| TcpListener::bind(address))
        .expect("enters");
    let listener = listener.expect("listens");
    let sender = bench
        .left
        .run(|| TcpStream::connect(address))
        .expect("enters");
    let mut sender = sender.expect("connects");
    let (mut receiver, _) = listener.accept().expect("accepts");
    let pattern = |at: usize| (at * 31 + at / 251) as u8;
    let writing = thread::spawn(move || {
        let data: Vec<u8> = (0..bytes).map(pattern).collect();
        sender.write_all(&data).expect("writes");
    });
    let mut data = Vec::new();
    receiver.read_to_end(&mut data).expect("reads");
    writing.join().expect("writer");
    data.len() == bytes
        && data
            .iter()
            .enumerate()
            .all(|(at, &byte)| byte == pattern(at))
}

/// Sends a stream and datagrams between the hosts. Returns the document.
pub fn tcp_and_udp_arrive(arguments: &str) -> Value {
    let bench = Bench::new();
    let forward = bench.start(arguments);
    assert!(stream(&bench, 5001, 8 << 20), "every byte in its place");
    let bind = |ns: &NetNs, address: &str| {
        let socket = ns.run(|| UdpSocket::bind((address, 5002))).expect("enters");
        socket.expect("binds")
    };
    let (left, right) = (
        bind(&bench.left, bench::LEFT_ADDRESS),
        bind(&bench.right, bench::RIGHT_ADDRESS),
    );
    right
        .set_read_timeout(Some(bench::PATIENCE))
        .expect("timeout");
    // One is sent in fragments, which have no checksum.
    for length in [0, 1, 17, 1472, 4000] {
        let data: Vec<u8> = (0..length).map(|at| at as u8).collect();
        left.send_to(&data, (bench::RIGHT_ADDRESS, 5002))
            .expect("sends");
        let mut buffer = [0; 5000];
        let received = right.recv(&mut buffer).expect("arrives");
        assert_eq!(buffer[..received], data, "{length} bytes");
    }
    let document = forward.end();
    assert_eq!(total(&document, "unaccounted_packets"), 0);
    document
}

#[test]
fn offloaded_tcp_and_udp_arrive() {
    if !allowed() {
        return;
    }
    let document = tcp_and_udp_arrive("");
    assert!(
        of(&document, 0, "gso_packets") > 0,
        "a veth hands them over: {document}"
    );
    assert!(of(&document, 0, "segments") > of(&document, 0, "gso_packets"));
}

#[test]
fn gso_packet_arrives_as_datagrams() {
    if !allowed() {
        return;
    }
    // Late segmentation, and segmentation on entry.
    for limit in ["--limit dql", "--limit off"] {
        gso_packet_of_datagrams_arrives(limit);
    }
}

fn gso_packet_of_datagrams_arrives(limit: &str) {
    let bench = Bench::new();
    let forward = bench.start(limit);
    let receiver = bench.receiver(RIGHT);
    let (header, bytes) = bench::udp_gso_packet(100, 1000);
    bench.send(LEFT, header, &bytes);
    for index in 0..10 {
        let segment = receiver.next(&bytes[..12]);
        assert_eq!(segment.len(), 142);
        assert_eq!(
            segment[42..],
            bytes[42 + index * 100..][..100],
            "segment {index}"
        );
    }
    let document = forward.end();
    let cut = (
        of(&document, 0, "gso_packets"),
        of(&document, 0, "segments"),
    );
    assert_eq!(cut, (1, 10), "{document}");
    assert_eq!(of(&document, 0, "sent_packets"), 10);
    assert_eq!(total(&document, "unaccounted_packets"), 0);
}

/// A TAP is the network card of a guest: it delivers the GSO packets of the guest whole.
#[test]
fn gso_packets_of_a_tap_are_segmented() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let config = TapConfig {
        checksum_offload: false,
        ..TapConfig::default()
    };
    let guest = Tap::open(&bench.between, "t0", config).expect("tap");
    link::set_up(&bench.between, "t0").expect("up");
    let forward = bench.start_between("t0", "b0", "");
    let receiver = bench.receiver(RIGHT);
    let (header, bytes) = bench::udp_gso_packet(100, 1000);
    let cut = Segmenter::of(header, &bytes).expect("cuts");
    let segments = (0..10).map(|index| {
        let mut segment = vec![0; 142];
        assert_eq!(cut.write(&bytes, index, &mut segment), Some(142));
        segment
    });
    let segments: Vec<_> = segments.collect();

    let sent = guest.write(&[&header.to_bytes()[..], &bytes].concat());
    assert_eq!(sent.expect("writes"), WriteOutcome::Accepted);
    for segment in &segments {
        assert_eq!(&receiver.next(&bytes[..12]), segment);
    }
    bench.send(RIGHT, header, &bytes);
    let mut came = Vec::new();
    let mut buffer = vec![0; guest.read_limit_bytes()];
    bench::until("all segments are at the guest", || {
        while let Some(bytes_read) = guest.read(&mut buffer).expect("reads") {
            let (header, frame) = VirtioNetHeader::split(&buffer[..bytes_read]).expect("header");
            if frame[..12] == bytes[..12] {
                assert!(!header.is_segmented() && !header.needs_checksum());
                came.push(frame.to_vec());
            }
        }
        came.len() == 10
    });
    assert_eq!(came, segments);
    let document = forward.end();
    for direction in 0..2 {
        assert_eq!(of(&document, direction, "gso_packets"), 1, "{document}");
        assert!(of(&document, direction, "sent_packets") >= 10, "{document}");
    }
    assert_eq!(total(&document, "unaccounted_packets"), 0);
}

#[test]
fn too_long_frames_are_reported_and_counted() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    link::set_mtu(&bench.between, "b0", 1000).expect("mtu");
    let forward = bench.start("");
    let receiver = bench.receiver(RIGHT);
    for length in [1015, 1514, 1014] {
        let bytes = frame([2, 0, 0, 0, 0, 99], 1, &vec![0x88; length - 12]);
        bench.send(LEFT, VirtioNetHeader::default(), &bytes);
    }
    assert_eq!(receiver.next(&[2, 0, 0, 0, 0, 99]).len(), 1014);
    let talk = forward.talk();
    assert!(
        talk.contains("a0 has an MTU of 1500 bytes, b0 of 1000 bytes"),
        "{talk}"
    );
    let document = forward.end();
    let there = &document["directions"][0];
    assert_eq!(there["dropped_packets"]["too_long"], 2, "{document}");
    assert_eq!(of(&document, 0, "sent_packets"), 1);
    assert_eq!(total(&document, "unaccounted_packets"), 0);
}

/// Overloads a shaped link through a short discipline. Every received frame is in one of the
/// counts, and the sent frames arrive.
#[test]
fn counts_agree_with_receiver_under_overload() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s: 20_000_000,
        burst_bytes: 5000,
        limit_bytes: 1 << 20,
    };
    link::set_root_qdisc(&bench.between, "b0", shaper).expect("TBF");
    let forward = bench.start("--qdisc pfifo\u{a0}limit\u{a0}50 --limit dql --ring 64");
    let receiver = bench.receiver(RIGHT);
    let bytes = frame([2, 0, 0, 0, 0, 99], 1, &[0x88; 1400]);
    for _ in 0..2000 {
        bench.send(LEFT, VirtioNetHeader::default(), &bytes);
    }
    bench.settle();
    let document = forward.end();
    let there = &document["directions"][0];
    let dropped = there["dropped_packets"]["queue_full"].as_u64().unwrap_or(0);
    assert!(dropped > 0, "{document}");
    assert_eq!(of(&document, 0, "received_packets"), 2000, "{document}");
    assert_eq!(total(&document, "unaccounted_packets"), 0);
    let arrived = receiver.all(&bytes);
    let sent = of(&document, 0, "sent_packets");
    let uncertain = of(&document, 0, "uncertain_packets");
    assert!(
        (sent..=sent + uncertain).contains(&arrived),
        "{arrived} arrived: {document}"
    );
    assert_eq!(there["completions"], "valid", "{document}");
}

#[test]
fn software_shaper_keeps_its_rate() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let forward = bench.start("--rate 10mbit,100mbit --qdisc pfifo");
    let receiver = bench.receiver(RIGHT);
    let bytes = frame([2, 0, 0, 0, 0, 99], 1, &[0x88; 1488]);
    for _ in 0..200 {
        bench.send(LEFT, VirtioNetHeader::default(), &bytes);
    }
    receiver.count(&bytes, 200);
    let document = forward.end();
    assert_eq!(of(&document, 0, "sent_packets"), 200);
    // Not faster than the rate, except for a burst; a slow machine can be slower.
    let took_ms = document["duration_ms"].as_u64().expect("ms");
    let least_ms = 200 * 1500 * 8 / 10_000 - 2;
    assert!(
        took_ms >= least_ms,
        "{took_ms} ms for {least_ms}: {document}"
    );
}

/// Takes the link down with packets in flight, then up again, and sends until this many more
/// arrive. Returns the document and all received frames.
fn outage(down: impl Fn(&Bench)) -> (Value, u64) {
    let bench = Bench::new();
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s: 10_000_000,
        burst_bytes: 5000,
        limit_bytes: 1 << 20,
    };
    link::set_root_qdisc(&bench.between, "b0", shaper).expect("TBF");
    // Without a limit, many packets are in the device when it goes down.
    let forward = bench.start("--limit off");
    let receiver = bench.receiver(RIGHT);
    let bytes = frame([2, 0, 0, 0, 0, 99], 1, &[0x88; 1400]);
    let mut sent = 0;
    let mut send = |frames| {
        (0..frames).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
        sent += frames;
    };
    send(300);
    let mut arrived = receiver.count(&bytes, 20);
    down(&bench);
    forward.waits_for("b0 is down");
    send(10);
    link::set_up(&bench.between, "b0").expect("up");
    link::set_up(&bench.right, "r0").expect("up");
    forward.waits_for("b0 is up");
    // Discard frames from before.
    bench.settle();
    arrived += receiver.all(&bytes);
    let before = arrived;
    // The kernel can remove the carrier once more.
    bench::until("50 came through", || {
        send(1);
        arrived += receiver.all(&bytes);
        arrived >= before + 50
    });
    bench.settle();
    arrived += receiver.all(&bytes);
    let document = forward.end();
    assert_eq!(of(&document, 0, "received_packets"), sent, "{document}");
    assert_eq!(total(&document, "unaccounted_packets"), 0, "{document}");
    assert!(of(&document, 0, "uncertain_packets") > 0, "{document}");
    (document, arrived)
}

#[test]
fn packets_purged_at_link_down_are_not_sent() {
    if !allowed() {
        return;
    }
    let (document, arrived) = outage(|bench| link::set_down(&bench.between, "b0").expect("down"));
    let sent = of(&document, 0, "sent_packets");
    let uncertain = of(&document, 0, "uncertain_packets");
    assert!(
        (sent..=sent + uncertain).contains(&arrived),
        "{arrived} arrived: {document}"
    );
}

/// Frames sent while the peer goes down are lost there, so fewer can arrive than were sent.
#[test]
fn peer_link_down_is_survived() {
    if !allowed() {
        return;
    }
    let (document, arrived) = outage(|bench| link::set_down(&bench.right, "r0").expect("down"));
    let sent = of(&document, 0, "sent_packets");
    let uncertain = of(&document, 0, "uncertain_packets");
    assert!(arrived <= sent + uncertain, "{arrived} arrived: {document}");
}

/// The old sockets are unusable, and the process has only the capability that new sockets need.
#[test]
fn added_interface_is_reopened_with_cap_net_raw() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let forward = bench.start("");
    let status = forward.status();
    // 13 is CAP_NET_RAW.
    for line in [
        "CapPrm:\t0000000000002000",
        "CapEff:\t0000000000002000",
        "NoNewPrivs:\t1",
    ] {
        assert!(status.contains(line), "{line} in {status}");
    }
    for gone in ["CapInh:\t0000000000000000", "CapAmb:\t0000000000000000"] {
        assert!(status.contains(gone), "{gone} in {status}");
    }
    bench.remove_right_link();
    forward.waits_for("b0: device removed");
    bench.send(
        LEFT,
        VirtioNetHeader::default(),
        &frame([2, 0, 0, 0, 0, 99], 1, &[0x88; 100]),
    );
    bench.add_right_link();
    forward.waits_for("b0: device added again");
    forward.waits_for("b0 is up");
    assert!(stream(&bench, 5001, 1 << 20), "in both directions");
    let document = forward.end();
    assert_eq!(total(&document, "unaccounted_packets"), 0, "{document}");
}

/// The shaper is so slow that the completions appear to be lost.
#[test]
fn stalled_ring_is_reopened_with_cap_net_raw() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let shape = |rate_bits_per_s| {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 2000,
            limit_bytes: 1 << 20,
        };
        link::set_root_qdisc(&bench.between, "b0", shaper).expect("TBF");
    };
    shape(1_000);
    let forward = bench.start("--limit off");
    let receiver = bench.receiver(RIGHT);
    let bytes = frame([2, 0, 0, 0, 0, 99], 1, &[0x88; 1400]);
    let send = |frames| {
        (0..frames).for_each(|_| bench.send(LEFT, VirtioNetHeader::default(), &bytes));
    };
    send(5);
    forward.waits_for("the ring is reopened");
    shape(100_000_000);
    send(50);
    let arrived = receiver.count(&bytes, 50);
    bench.settle();
    let arrived = arrived + receiver.all(&bytes);
    let document = forward.end();
    let sent = of(&document, 0, "sent_packets");
    let uncertain = of(&document, 0, "uncertain_packets");
    assert!(uncertain > 0, "{document}");
    assert_eq!(of(&document, 0, "received_packets"), 55, "{document}");
    assert_eq!(total(&document, "unaccounted_packets"), 0, "{document}");
    assert!(
        (sent..=sent + uncertain).contains(&arrived),
        "{arrived} arrived: {document}"
    );
}

#[test]
fn receive_offloads_are_always_restored() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    let control = OffloadControl::new(&bench.between).expect("control");
    let gro = control.active("lo").expect("loopback has it");
    control.turn_on("a0", &gro).expect("turns on");
    let active = || control.active("a0").expect("told").to_string();
    for signal in ["-INT", "-TERM", "-KILL"] {
        assert_eq!(active(), "rx-gro", "before {signal}");
        let forward = bench.start("");
        assert_eq!(active(), "");
        let talk = forward.talk();
        assert!(
            talk.contains("turned off receive offloads of a0: rx-gro"),
            "{talk}"
        );
        forward.kill(signal);
        bench::until("they are put back", || active() == "rx-gro");
    }
    // After SIGKILL, a new process works.
    let forward = bench.start("");
    assert!(stream(&bench, 5001, 1 << 20));
    forward.end();
}

#[test]
fn unbridgeable_interfaces_are_named() {
    if !allowed() {
        return;
    }
    let bench = Bench::new();
    link::add_veth_pair(&bench.between, "c0", &bench.between, "c1").expect("pair");
    for (line, code, what) in [
        ("a0 a0", 2, "a0 and a0 are the same interface"),
        ("a0", 2, "<B>"),
        ("a0 none", 1, "no device \"none\"; there are: a0, "),
        ("lo b0", 1, "lo: link type is 772; allowed: Ethernet (1)"),
        ("c0 c1", 1, "connected to each other"),
        ("-n nowhere a0 b0", 1, "no network namespace \"nowhere\""),
        ("a0 b0 --limit 1q", 2, "position 2"),
    ] {
        let output = bench.run(line);
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {talk}");
        assert!(talk.contains(what), "{line}: {talk}");
    }
}
