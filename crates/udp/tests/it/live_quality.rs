//! The quality of completions, detected from the sends.

use std::net::UdpSocket;
use std::time::Instant;

use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, Tap, TapConfig};
use taut_udp::{CompletionQuality, Datagram, LimitedUdp, Source};

use crate::common::{FAR, Link, NEAR, PATIENCE, allowed, finish, send_and_finish};

fn limited(socket: UdpSocket, source: Source) -> LimitedUdp {
    LimitedUdp::builder(socket)
        .source(source)
        .build()
        .expect("limited")
}

/// Sends until the quality is `wanted`.
fn until_quality(socket: &LimitedUdp, wanted: CompletionQuality) {
    let payload = [0; 1200];
    let start = Instant::now();
    while socket.snapshot().completion_quality != wanted {
        let _ = socket.send(&[Datagram::new(&payload); 32]).expect("sends");
        assert!(
            start.elapsed() < PATIENCE,
            "never {wanted:?}: {:?}",
            socket.snapshot()
        );
    }
}

#[test]
fn sources_behind_a_shaper_have_their_quality() {
    if !allowed() {
        return;
    }
    for (source, verdict) in [
        (Source::Timestamps, CompletionQuality::Transmitted),
        (Source::ZeroCopy, CompletionQuality::BufferFreed),
        (Source::Polled, CompletionQuality::Polled),
    ] {
        let link = Link::shaped(20_000_000);
        let (_far, address) = link.receiver();
        let socket = limited(link.connected(address), source);
        assert_eq!(
            socket.snapshot().completion_quality,
            CompletionQuality::Unknown
        );
        send_and_finish(&socket, 1200, 200);
        let after = socket.snapshot();
        assert_eq!((after.completion_quality, after.source), (verdict, source));
        assert_eq!(after.totals.sent_datagrams, 200);
        assert_eq!(after.totals.completed_bytes, after.totals.sent_bytes);
        assert!(after.totals.times_blocked > 0, "{after:?}");
        assert_eq!(after.totals.unknown_completions, 0);
    }
}

/// All datagrams complete immediately: the quality shows that, and no limit applies.
fn is_none(socket: UdpSocket, source: Source, what: &str) {
    let socket = limited(socket, source);
    until_quality(&socket, CompletionQuality::Immediate);
    let before = socket.snapshot().totals.times_blocked;
    let payload = [0; 1200];
    for _ in 0..50 {
        let sent = socket
            .try_send(&[Datagram::new(&payload); 32])
            .expect("sends");
        assert_eq!((sent.count, sent.stop), (32, None), "{what}, {source:?}");
    }
    assert_eq!(socket.snapshot().totals.times_blocked, before, "{what}");
    assert_eq!(socket.room(), i64::MAX);
    finish(&socket);
}

#[test]
fn no_limit_over_loopback_and_a_plain_veth() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::Polled] {
        let ns = NetNs::new().expect("namespace");
        let far = ns.run(|| UdpSocket::bind("127.0.0.1:0"));
        let far = far.expect("thread").expect("socket");
        let near = ns.run(|| UdpSocket::bind("127.0.0.1:0"));
        let near = near.expect("thread").expect("socket");
        near.connect(far.local_addr().expect("address"))
            .expect("connects");
        // Without a reader, datagrams beyond the peer's buffer are dropped there.
        if source == Source::Timestamps {
            is_none(near, source, "loopback");
        }
        let link = Link::plain();
        let (_far, address) = link.receiver();
        if source == Source::Timestamps {
            is_none(link.connected(address), source, "veth");
        }
    }
}

#[test]
fn no_limit_over_a_tap() {
    if !allowed() {
        return;
    }
    let ns = NetNs::new().expect("namespace");
    let tap = match Tap::open(&ns, "tap", TapConfig::default()) {
        Ok(tap) => tap,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    link::add_address(&ns, "tap", NEAR, 24).expect("address");
    link::set_up(&ns, "tap").expect("up");
    let mac = link::MacAddress::local(2);
    link::add_neighbour(&ns, "tap", FAR, mac).expect("neighbour");
    let socket = ns.run(|| UdpSocket::bind((NEAR, 0)));
    let socket = socket.expect("thread").expect("socket");
    socket.connect((FAR, 9)).expect("connects");
    is_none(socket, Source::Timestamps, "tap");
    drop(tap);
}

#[test]
fn a_verdict_is_reversed_when_the_path_changes() {
    if !allowed() {
        return;
    }
    let link = Link::plain();
    let (_far, address) = link.receiver();
    let socket = limited(link.connected(address), Source::Timestamps);
    until_quality(&socket, CompletionQuality::Immediate);
    link.shape(20_000_000, 4 << 20);
    until_quality(&socket, CompletionQuality::Transmitted);
    finish(&socket);
    link::set_root_qdisc(&link.near, "near", RootQdisc::NoQueue).expect("no discipline");
    until_quality(&socket, CompletionQuality::Immediate);
    assert_eq!(socket.snapshot().totals.quality_changes, 3);
}
