//! Sources that are tried in sequence.

use std::time::Instant;

use taut_linux::link;
use taut_udp::{AnyLimit, Builder, CompletionQuality, Datagram, LimitedUdp, Source};

use crate::common::{Link, PATIENCE, allowed, finish, send_and_finish, until};

const PAYLOAD: [u8; 1200] = [0; 1200];

fn as_found(socket: std::net::UdpSocket) -> Builder {
    LimitedUdp::builder(socket)
        .source(Source::ZeroCopy)
        .fallback_source(Source::Polled)
        .fallback_source(Source::Timestamps)
}

/// Sends until the condition holds.
fn send_until(socket: &LimitedUdp, what: &str, so: impl Fn(&LimitedUdp) -> bool) {
    until(what, || {
        let sent = socket.send(&[Datagram::new(&PAYLOAD); 32]).expect("sends");
        assert_eq!((sent.count, sent.stop), (32, None));
        so(socket)
    });
    finish(socket);
}

#[test]
fn first_useful_source_is_kept() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    let socket = as_found(link.connected(address)).build().expect("limited");
    send_and_finish(&socket, 1200, 300);
    let after = socket.snapshot();
    assert_eq!(
        (after.source, after.completion_quality),
        (Source::ZeroCopy, CompletionQuality::BufferFreed)
    );
}

#[test]
fn missing_notification_memory_selects_the_next_source() {
    if !allowed() {
        return;
    }
    for (others, source, verdict) in [
        (vec![], Source::Timestamps, CompletionQuality::Transmitted),
        (
            vec![Source::Polled, Source::Timestamps],
            Source::Polled,
            CompletionQuality::Polled,
        ),
    ] {
        let link = Link::shaped(20_000_000);
        let (_far, address) = link.receiver();
        let write = || std::fs::write("/proc/sys/net/core/optmem_max", "64");
        if let Err(error) = link.near.run(write).expect("thread") {
            // A sysctl of the whole machine before Linux 6.8, and therefore missing in a namespace.
            return eprintln!("skipped: net.core.optmem_max: {error}");
        }
        let builder = LimitedUdp::builder(link.connected(address)).source(Source::ZeroCopy);
        let builder = others.into_iter().fold(builder, Builder::fallback_source);
        let socket = builder.build().expect("limited");
        send_and_finish(&socket, 1200, 300);
        let after = socket.snapshot();
        assert_eq!((after.source, after.completion_quality), (source, verdict));
        assert_eq!(after.issues.zero_copy_refused, 1);
        assert_eq!(after.totals.sent_datagrams, 300);
        assert_eq!(after.totals.completed_bytes, after.totals.sent_bytes);
    }
}

#[test]
fn first_source_is_used_without_a_useful_one() {
    if !allowed() {
        return;
    }
    let link = Link::plain();
    let (_far, address) = link.receiver();
    let socket = as_found(link.connected(address)).build().expect("limited");
    for source in [Source::Polled, Source::Timestamps, Source::ZeroCopy] {
        send_until(&socket, "the next source", |it| {
            it.snapshot().source == source
        });
    }
    assert_eq!(
        socket.snapshot().completion_quality,
        CompletionQuality::Immediate
    );
    assert_eq!(socket.room(), i64::MAX);
    // It keeps this source.
    send_and_finish(&socket, 1200, 3_000);
    let none = socket.snapshot();
    assert_eq!(
        (none.source, none.completion_quality),
        (Source::ZeroCopy, CompletionQuality::Immediate)
    );
    link.shape(20_000_000, 4 << 20);
    send_until(&socket, "it is limited", |it| {
        it.snapshot().completion_quality == CompletionQuality::BufferFreed
    });
    // And tries the sources again.
    link::set_root_qdisc(&link.near, "near", link::RootQdisc::NoQueue).expect("no discipline");
    for source in [Source::Polled, Source::Timestamps, Source::ZeroCopy] {
        send_until(&socket, "the next source", |it| {
            it.snapshot().source == source
        });
    }
    let totals = socket.snapshot().totals;
    assert_eq!(totals.completed_bytes, totals.sent_bytes);
    assert_eq!(
        (totals.unknown_completions, totals.lost_completions),
        (0, 0)
    );
}

#[test]
fn datagrams_of_separate_calls_share_timestamps() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    let socket = LimitedUdp::builder(link.connected(address))
        .limit(AnyLimit::bytes(40_000))
        .timestamp_interval_ns(10_000_000)
        .build()
        .expect("limited");
    send_and_finish(&socket, 1200, 300);
    let (mut sent, mut completed, mut batches) = (0, 0, 0);
    let start = Instant::now();
    while completed < 256 {
        let datagram = Datagram::new(&PAYLOAD).more_follow(sent < 255);
        if sent < 256 && socket.room() > 0 {
            sent += socket.try_send(&[datagram]).expect("sends").count;
        }
        let packets = socket.complete().expect("reads").counts.packets as usize;
        completed += packets;
        batches += usize::from(packets > 0);
        assert!(start.elapsed() < PATIENCE, "{:?}", socket.snapshot());
    }
    assert_eq!(socket.snapshot().totals.lost_completions, 0);
    // Without `more_follow`, about 250.
    assert!(batches <= 64, "{batches} batches of 256 datagrams");
}
