//! Faults on the path are reported and counted, and sending continues.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;
use taut_linux::link;
use taut_path::AnyLimit;
use taut_udp::{CompletionQuality, Datagram, LimitedUdp, Observer, SocketIssue, Source, Stop};

use crate::common::{Link, PATIENCE, allowed, finish, read_all, send_and_finish, until};

const PAYLOAD: [u8; 1200] = [0; 1200];

/// Records the issues that it receives.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Instant, SocketIssue)>>>);

impl Observer for Log {
    fn issue(&mut self, issue: &SocketIssue) {
        self.0.lock().unwrap().push((Instant::now(), *issue));
    }
}

impl Log {
    fn first(&self, wanted: impl Fn(&SocketIssue) -> bool) -> Option<Instant> {
        let log = self.0.lock().unwrap();
        log.iter().find(|(_, it)| wanted(it)).map(|(at, _)| *at)
    }
}

#[test]
fn closed_port_is_reported_with_the_peer() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(50_000_000);
    let (far, address) = link.receiver();
    drop(far);
    for connected in [true, false] {
        let log = Log::default();
        let socket = match connected {
            true => link.connected(address),
            false => link.bind(),
        };
        let socket = LimitedUdp::builder(socket)
            .observer(log.clone())
            .build()
            .expect("limited");
        let refused = |it: &SocketIssue| {
            let SocketIssue::Unreachable { errno, peer } = it else {
                return false;
            };
            *errno == libc::ECONNREFUSED && *peer == Some(address)
        };
        until("the port is on_departure", || {
            let _ = socket
                .send(&[Datagram::new(&PAYLOAD).to(address)])
                .expect("sends");
            let _ = socket.complete().expect("looks");
            log.first(refused).is_some()
        });
        finish(&socket);
        let after = socket.snapshot();
        assert!(after.issues.unreachable > 0);
        // The receiver is not affected.
        socket.socket().set_nonblocking(true).expect("option");
        let _ = socket
            .send(&[Datagram::new(&PAYLOAD).to(address)])
            .expect("sends");
        let error = socket.recv_from(&mut [0; 9]).expect_err("nobody sends");
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        finish(&socket);
    }
}

#[test]
fn link_down_loses_only_queued_frames() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let link = Link::shaped(2_000_000);
        let (far, address) = link.receiver();
        let socket = LimitedUdp::builder(link.connected(address))
            .source(source)
            .limit(AnyLimit::bytes(30_000))
            .build()
            .expect("limited");
        let mut stop = None;
        while stop.is_none() {
            stop = socket
                .try_send(&[Datagram::new(&PAYLOAD); 8])
                .expect("sends")
                .stop;
        }
        assert_eq!(stop, Some(Stop::NoRoom));
        link::set_down(&link.near, "near").expect("down");
        // The route is removed with it, and the discipline's backlog.
        finish(&socket);
        let sent = socket.try_send(&[Datagram::new(&PAYLOAD)]).expect("sends");
        assert_eq!(
            (sent.count, sent.stop),
            (0, Some(Stop::Refused(libc::ENETUNREACH)))
        );
        assert!(socket.snapshot().issues.unreachable > 0);
        link.up();
        read_all(&far);
        send_and_finish(&socket, 1200, 10);
        let mut received = 0;
        until("it goes on", || {
            received += read_all(&far);
            received >= 10
        });
        let totals = socket.snapshot().totals;
        assert_eq!(totals.completed_bytes, totals.sent_bytes, "{source:?}");
        if source == Source::Timestamps {
            assert!(totals.lost_completions > 0, "{totals:?}");
        }
    }
}

#[test]
fn a_path_that_got_narrow_fragments_or_refuses() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    let socket = LimitedUdp::new(link.connected(address)).expect("limited");
    send_and_finish(&socket, 1200, 10);
    link::set_mtu(&link.near, "near", 1000).expect("mtu");
    // The kernel fragments a plain datagram, which stays one object.
    send_and_finish(&socket, 1200, 10);
    let totals = socket.snapshot().totals;
    assert_eq!(
        (totals.sent_objects, totals.completed_bytes),
        (20, totals.sent_bytes)
    );
    // It does not create segments that are too long.
    let long = [0; 3_000];
    let sent = socket
        .try_send(&[Datagram::new(&long).segmented(1200)])
        .expect("sends");
    assert!(matches!(sent.stop, Some(Stop::Refused(_))), "{sent:?}");
    // No datagram can be this long.
    let longest = vec![0; 65_600];
    let before = socket.snapshot().issues.too_large;
    let sent = socket.try_send(&[Datagram::new(&longest)]).expect("sends");
    assert_eq!(sent.stop, Some(Stop::Refused(libc::EMSGSIZE)));
    assert_eq!(socket.snapshot().issues.too_large, before + 1, "once");
    assert_eq!(
        socket.snapshot().in_flight,
        0,
        "what is refused is not in flight"
    );
    send_and_finish(&socket, 900, 10);
}

#[test]
fn sending_clone_does_not_affect_accounting() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(50_000_000);
    let (_far, address) = link.receiver();
    let socket = LimitedUdp::new(link.connected(address)).expect("limited");
    let clone = socket.socket().try_clone().expect("clone");
    for _ in 0..100 {
        clone.send(&PAYLOAD).expect("sends");
        let sent = socket.send(&[Datagram::new(&PAYLOAD)]).expect("sends");
        assert_eq!(sent.stop, None);
    }
    finish(&socket);
    let totals = socket.snapshot().totals;
    assert_eq!(
        (totals.sent_objects, totals.completed_bytes),
        (100, totals.sent_bytes)
    );
    assert_eq!(
        (totals.unknown_completions, totals.lost_completions),
        (0, 0)
    );
}

#[test]
fn sixty_four_sockets_share_a_link() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(100_000_000);
    let (_far, address) = link.receiver();
    let sockets: Vec<_> = (0..64)
        .map(|_| LimitedUdp::new(link.connected(address)).expect("limited"))
        .collect();
    std::thread::scope(|scope| {
        for part in sockets.chunks(32) {
            scope.spawn(move || {
                for _ in 0..10 {
                    for socket in part {
                        let sent = socket.send(&[Datagram::new(&PAYLOAD); 4]).expect("sends");
                        assert_eq!((sent.count, sent.stop), (4, None));
                    }
                }
            });
        }
    });
    for socket in &sockets {
        finish(socket);
        let after = socket.snapshot();
        assert_eq!(after.totals.sent_objects, 40);
        assert_eq!(after.totals.completed_bytes, after.totals.sent_bytes);
        assert_ne!(after.completion_quality, CompletionQuality::Immediate);
    }
}

#[test]
fn dropped_datagrams_are_reported() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let link = Link::plain();
        // Room for two datagrams, and a limit that blocks nothing.
        link.shape(2_000_000, 3_000);
        let (far, address) = link.receiver();
        let socket = LimitedUdp::builder(link.connected(address))
            .source(source)
            .limit(AnyLimit::off())
            .build()
            .expect("limited");
        let (mut taken, mut dropped, mut received) = (0, 0, 0);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            let sent = socket.try_send(&[Datagram::new(&PAYLOAD)]).expect("sends");
            taken += sent.count;
            received += read_all(&far);
            match sent.stop {
                None | Some(Stop::BufferFull) => {}
                Some(Stop::Refused(libc::ENOBUFS)) => dropped += 1,
                stop => panic!("{stop:?}"),
            }
        }
        assert!(dropped > 0, "{source:?}");
        finish(&socket);
        let after = socket.snapshot();
        assert_eq!(after.issues.no_buffer_space, dropped);
        assert_eq!(after.totals.sent_objects, taken as u64);
        // Then the discipline has room again.
        link.shape(50_000_000, 4 << 20);
        let before = taken;
        send_and_finish(&socket, 1200, 20);
        assert_eq!(
            socket.snapshot().totals.unknown_completions,
            0,
            "{source:?}"
        );
        until("all that was taken came", || {
            received += read_all(&far);
            received == before + 20
        });
    }
}

#[test]
fn sleeping_reader_loses_completions_but_no_room() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(50_000_000);
    let (far, address) = link.receiver();
    let socket = LimitedUdp::new(link.connected(address)).expect("limited");
    // Unread datagrams also use the memory for timestamps.
    let near = socket.socket().local_addr().expect("address");
    let flooder: UdpSocket = far.try_clone().expect("clone");
    for _ in 0..2_000 {
        let _ = flooder.send_to(&PAYLOAD, near);
    }
    let start = Instant::now();
    while socket.snapshot().totals.lost_completions == 0 {
        let sent = socket.send(&[Datagram::new(&PAYLOAD); 8]).expect("sends");
        assert_eq!(sent.stop, None);
        assert!(start.elapsed() < PATIENCE, "{:?}", socket.snapshot());
    }
    finish(&socket);
    // After reading, timestamps arrive again.
    socket.socket().set_nonblocking(true).expect("option");
    read_all(socket.socket());
    let before = socket.snapshot().totals.lost_completions;
    send_and_finish(&socket, 1200, 100);
    assert_eq!(socket.snapshot().totals.lost_completions, before);
}

#[test]
fn stall_is_reported_within_twice_the_threshold() {
    if !allowed() {
        return;
    }
    let threshold = Duration::from_millis(200);
    let log = Log::default();
    let link = Link::plain();
    link.shape(800, 4 << 20);
    let (far, address) = link.receiver();
    let socket = LimitedUdp::builder(link.connected(address))
        .stall_threshold_ns(threshold.as_nanos() as u64)
        .observer(log.clone())
        .build()
        .expect("limited");
    while socket
        .try_send(&[Datagram::new(&PAYLOAD)])
        .expect("sends")
        .stop
        .is_none()
    {}
    let stood_since = Instant::now();
    // The sender waits. It is not notified later because of that, and does not block for good.
    let mut sent = 0;
    while sent < 3 {
        sent += socket
            .send(&[Datagram::new(&PAYLOAD)])
            .expect("sends")
            .count;
        assert!(stood_since.elapsed() < PATIENCE);
    }
    let stalled_at = log
        .first(|it| matches!(it, SocketIssue::Stalled(_)))
        .expect("reported");
    let after = stalled_at.saturating_duration_since(stood_since);
    // A busy machine can be late, but less than a second.
    assert!(after < threshold * 2 + Duration::from_secs(1), "{after:?}");
    assert_eq!(socket.snapshot().issues.stalls, 1);
    link.shape(50_000_000, 4 << 20);
    send_and_finish(&socket, 1200, 50);
    until("it goes on", || read_all(&far) > 0);
}

/// The kernel's ids start with the socket, not with its wrapper.
#[test]
fn second_wrapper_continues_the_kernels_ids() {
    let (_far, near) = loopback();
    for sent_before in [1, 5, 40] {
        let clone = near.try_clone().expect("clone");
        let first = LimitedUdp::builder(clone).source(Source::ZeroCopy).build();
        let first = first.expect("limited");
        send_and_finish(&first, 1200, sent_before);
        // One more, whose notification finds the second.
        let _ = first
            .send_unlimited(&[Datagram::new(&PAYLOAD)])
            .expect("sends");
        drop(first);
        let clone = near.try_clone().expect("clone");
        let second = LimitedUdp::builder(clone).source(Source::ZeroCopy).build();
        let second = second.expect("limited");
        send_and_finish(&second, 1200, 200);
        let after = second.snapshot();
        assert_eq!(after.totals.completed_bytes, after.totals.sent_bytes);
        assert_eq!(
            (after.totals.lost_completions, after.issues.stalls),
            (0, 0),
            "{after:?}"
        );
    }
}

/// Two sockets of loopback, the second connected to the first.
fn loopback() -> (UdpSocket, UdpSocket) {
    let far = UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
    let near = UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
    near.connect(far.local_addr().expect("address"))
        .expect("connected");
    (far, near)
}

/// Removes one entry of the error queue.
fn steal(from: &UdpSocket) -> bool {
    let flags = RecvFlags::ERRQUEUE | RecvFlags::DONTWAIT;
    rustix::net::recv(from, &mut [0; 2048][..], flags).is_ok()
}

#[test]
fn notification_read_elsewhere_is_replaced() {
    for source in [Source::Timestamps, Source::ZeroCopy] {
        let (_far, near) = loopback();
        let thief = near.try_clone().expect("clone");
        let socket = LimitedUdp::builder(near).source(source).build();
        let socket = socket.expect("limited");
        let _ = socket
            .send_unlimited(&[Datagram::new(&PAYLOAD)])
            .expect("sends");
        let in_flight = socket.snapshot().in_flight > 0;
        assert_eq!(steal(&thief), in_flight);
        // The first id of the tracker is the second of the kernel, and sending continues.
        send_and_finish(&socket, 1200, 100);
        let after = socket.snapshot();
        assert_eq!(
            after.totals.lost_completions,
            u64::from(in_flight),
            "{after:?}"
        );
        assert_eq!(after.issues.completions_lost, after.totals.lost_completions);
    }
}

#[test]
fn source_without_completions_is_replaced() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (far, address) = link.receiver();
    let socket = LimitedUdp::new(link.connected(address)).expect("limited");
    let near = socket.socket().local_addr().expect("address");
    for _ in 0..2_000 {
        let _ = far.send_to(&PAYLOAD, near);
    }
    // The unread datagrams exceed the memory, so that no more timestamps fit.
    rustix::net::sockopt::set_socket_recv_buffer_size(socket.socket(), 1).expect("option");
    until("the level takes its place", || {
        let sent = socket.send(&[Datagram::new(&PAYLOAD); 8]).expect("sends");
        sent.stop.is_none() && socket.snapshot().source == Source::Polled
    });
    let lost = socket.snapshot().totals.lost_completions;
    until("it is worth something", || {
        let sent = socket.send(&[Datagram::new(&PAYLOAD); 8]).expect("sends");
        sent.stop.is_none() && socket.completion_quality() == CompletionQuality::Polled
    });
    finish(&socket);
    assert_eq!(socket.snapshot().totals.lost_completions, lost);
}

#[test]
fn too_long_unfragmentable_datagram_is_counted_once() {
    if !allowed() {
        return;
    }
    for (source, kernel_ids) in [
        (Source::Timestamps, false),
        (Source::Timestamps, true),
        (Source::ZeroCopy, false),
        (Source::Polled, false),
    ] {
        let link = Link::shaped(20_000_000);
        let (_far, address) = link.receiver();
        let socket = link.connected(address);
        let whole = rustix::net::sockopt::Ipv4PathMtuDiscovery::DO;
        rustix::net::sockopt::set_ip_mtu_discover(&socket, whole).expect("option");
        let mut builder = LimitedUdp::builder(socket).source(source);
        if kernel_ids {
            builder = builder.kernel_ids();
        }
        let socket = builder.build().expect("limited");
        for count in 1..=5 {
            let sent = socket
                .try_send(&[Datagram::new(&[0; 3_000])])
                .expect("sends");
            assert_eq!(sent.stop, Some(Stop::Refused(libc::EMSGSIZE)));
            assert_eq!(socket.snapshot().issues.too_large, count, "{source:?}");
        }
        send_and_finish(&socket, 1200, 20);
        let totals = socket.snapshot().totals;
        assert_eq!(
            (totals.unknown_completions, totals.stale_completions),
            (0, 0),
            "{source:?}, {kernel_ids}"
        );
    }
}

#[test]
fn source_address_of_another_family_is_rejected() {
    let far = UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
    let to = far.local_addr().expect("address");
    let refused = Some(Stop::Refused(libc::EAFNOSUPPORT));
    let near = LimitedUdp::new(UdpSocket::bind(("0.0.0.0", 0)).expect("socket"));
    let near = near.expect("limited");
    for (from, stop) in [
        ("127.0.0.5", None),
        ("::1", refused),
        ("::ffff:127.0.0.5", None),
    ] {
        let from: std::net::IpAddr = from.parse().expect("address");
        let hello = Datagram::new(b"hello").to(to);
        let sent = near.send(&[hello, hello.from(from), hello]).expect("sends");
        assert_eq!(sent.stop, stop, "{from}");
        assert_eq!(sent.count, if stop.is_none() { 3 } else { 1 });
        for at in 0..sent.count {
            let came = far.recv_from(&mut [0; 9]).expect("comes").1;
            assert!(at != 1 || came.ip() == from.to_canonical(), "{came}");
        }
    }
}

#[test]
fn buffer_filled_elsewhere_does_not_grow() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    let socket = LimitedUdp::new(link.connected(address)).expect("limited");
    let before = socket.snapshot().send_buffer_bytes;
    let other = socket.socket().try_clone().expect("clone");
    other.set_nonblocking(true).expect("option");
    for _ in 0..20 {
        while other.send(&PAYLOAD).is_ok() {}
        let _ = socket.try_send(&[Datagram::new(&PAYLOAD)]).expect("sends");
        let _ = socket.wait(None).expect("waits");
    }
    let after = socket.snapshot();
    assert!(after.issues.buffer_full > 0, "{after:?}");
    assert_eq!(after.send_buffer_bytes, before);
}

#[test]
fn invalid_setting_is_rejected_with_its_name() {
    let invalid = |result: std::io::Result<LimitedUdp>, name: &str| {
        let error = result.expect_err(name);
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(name), "{error}");
    };
    let builder = || LimitedUdp::builder(loopback().1);
    invalid(
        builder().stall_threshold_ns(1).build(),
        "stall_threshold_ns is 1; allowed: 0, or 1000000 to 2^62",
    );
    invalid(
        builder().stall_threshold_ns(u64::MAX).build(),
        "stall_threshold_ns",
    );
    assert!(builder().stall_threshold_ns(0).build().is_ok());
    let tcp = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("socket");
    let file = std::fs::File::open("/dev/null").expect("file");
    for other in [std::os::fd::OwnedFd::from(tcp), file.into()] {
        invalid(LimitedUdp::new(UdpSocket::from(other)), "UDP");
    }
}
