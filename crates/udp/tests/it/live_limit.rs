//! Effects of the limit.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

use taut_path::AnyLimit;
use taut_udp::{Datagram, Departure, LimitedUdp, Source, Stop};

use crate::common::{Link, allowed, finish, read_all, send_and_finish, until};

/// Returns the median of the bytes in flight after each of many unblocked sends.
fn median_in_flight(limit: AnyLimit, source: Source) -> u32 {
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    let socket = LimitedUdp::builder(link.connected(address))
        .limit(limit)
        .source(source)
        .build()
        .expect("limited");
    let payload = [0; 1200];
    let mut seen = vec![];
    for _ in 0..600 {
        let sent = socket.send(&[Datagram::new(&payload)]).expect("sends");
        assert_eq!(sent.stop, None);
        seen.push(socket.snapshot().in_flight_bytes);
    }
    seen.drain(..200);
    seen.sort_unstable();
    seen[seen.len() / 2]
}

#[test]
fn limit_reduces_the_kernels_backlog() {
    if !allowed() {
        return;
    }
    let off = median_in_flight(AnyLimit::off(), Source::Timestamps);
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let limited = median_in_flight(AnyLimit::dql(), source);
        assert!(limited * 2 < off, "{source:?}: {limited} of {off} bytes");
    }
}

#[test]
fn segments_of_the_kernel_are_one_object() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::ZeroCopy] {
        let link = Link::shaped(20_000_000);
        let (far, address) = link.receiver();
        let departures = Arc::new(Mutex::new(vec![]));
        let seen = Arc::clone(&departures);
        let socket = LimitedUdp::builder(link.connected(address))
            .source(source)
            .observer(move |departure: &Departure| seen.lock().unwrap().push(*departure))
            .build()
            .expect("limited");
        let payload = vec![5; 9_500];
        let mut received = 0;
        for _ in 0..20 {
            let one = Datagram::new(&payload).segmented(1000);
            assert_eq!(one.datagrams(), 10);
            let sent = socket.send(&[one]).expect("sends");
            assert_eq!((sent.count, sent.stop), (1, None));
            received += read_all(&far);
        }
        finish(&socket);
        let departures = departures.lock().unwrap();
        assert_eq!(departures.len(), 20);
        assert!(
            departures
                .iter()
                .all(|it| it.datagrams == 10 && it.bytes == 9_500 + 420)
        );
        until("200 datagrams came", || {
            received += read_all(&far);
            received == 200
        });
    }
}

#[test]
fn departure_has_its_waiting_time() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(10_000_000);
    let (_far, address) = link.receiver();
    let departures = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&departures);
    let socket = LimitedUdp::builder(link.connected(address))
        .limit(AnyLimit::off())
        .observer(move |departure: &Departure| seen.lock().unwrap().push(*departure))
        .build()
        .expect("limited");
    send_and_finish(&socket, 1358, 50);
    let departures = departures.lock().unwrap();
    assert_eq!(departures.len(), 50);
    let first = departures[0].id;
    for (at, departure) in (0..).zip(departures.iter()) {
        assert_eq!((departure.id, departure.lost), (first + at, false));
    }
    // Fifty of 1,400 bytes at 10 Mbit/s: the last waits for the others, except for the burst of the
    // bucket.
    let last_ns = departures[49].sojourn_ns;
    assert!(last_ns > 35_000_000, "{last_ns}");
}

#[test]
fn unconnected_socket_sends_to_several_peers() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(50_000_000);
    let (one, first) = link.receiver();
    let (other, second) = link.receiver();
    let socket = LimitedUdp::new(link.bind()).expect("limited");
    let payload = [1; 700];
    let mut sent = 0;
    while sent < 60 {
        let batch = [first, second, first].map(|to| Datagram::new(&payload).to(to));
        sent += socket.send(&batch).expect("sends").count;
    }
    finish(&socket);
    let mut received = (0, 0);
    until("all came", || {
        received.0 += read_all(&one);
        received.1 += read_all(&other);
        received == (40, 20)
    });
}

#[test]
fn ipv6_is_accounted_for_as_ipv4() {
    // Loopback of this machine, if it has IPv6.
    let Ok(far) = UdpSocket::bind("[::1]:0") else {
        return eprintln!("skipped: no IPv6 here");
    };
    far.set_nonblocking(true).expect("option");
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let near = UdpSocket::bind("[::1]:0").expect("socket");
        let to = far.local_addr().expect("address");
        let socket = LimitedUdp::builder(near)
            .source(source)
            .build()
            .expect("limited");
        for _ in 0..20 {
            let one = Datagram::new(&[3; 100]).to(to).traffic_class(2);
            assert_eq!(socket.send(&[one]).expect("sends").stop, None);
        }
        finish(&socket);
        let totals = socket.snapshot().totals;
        assert_eq!(totals.completed_bytes, 20 * (100 + 62));
        assert_eq!(totals.lost_completions, 0, "{source:?}");
        until("all came", || {
            let mut count = 0;
            count += read_all(&far);
            count > 0
        });
    }
}

#[test]
fn kernel_ids_work_without_own_ids() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    let socket = LimitedUdp::builder(link.connected(address))
        .kernel_ids()
        .build()
        .expect("limited");
    send_and_finish(&socket, 1200, 300);
    let totals = socket.snapshot().totals;
    assert_eq!(totals.completed_bytes, totals.sent_bytes);
    assert_eq!(
        (totals.lost_completions, totals.unknown_completions),
        (0, 0)
    );
}

#[test]
fn no_room_sends_nothing() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(1_000_000);
    let (far, address) = link.receiver();
    let socket = LimitedUdp::builder(link.connected(address))
        .limit(AnyLimit::packets(3))
        .build()
        .expect("limited");
    let payload = [0; 1000];
    let mut sent = 0;
    let stop = loop {
        let tried = socket
            .try_send(&[Datagram::new(&payload); 32])
            .expect("sends");
        sent += tried.count;
        if tried.stop.is_some() {
            break tried.stop;
        }
    };
    assert_eq!(stop, Some(Stop::NoRoom));
    let blocked = socket.snapshot().totals.times_blocked;
    assert!(socket.room() < 0 && socket.snapshot().in_flight == 3);
    assert_eq!(socket.snapshot().totals.times_blocked, blocked + 1);
    finish(&socket);
    until("what was sent came", || {
        sent -= read_all(&far);
        sent == 0
    });
}

/// A loop that never waits for notifications, but retries at times.
#[test]
fn try_send_without_room_reads_notifications() {
    if !allowed() {
        return;
    }
    for source in [Source::Timestamps, Source::ZeroCopy, Source::Polled] {
        let link = Link::shaped(20_000_000);
        let (_far, address) = link.receiver();
        let socket = LimitedUdp::builder(link.connected(address))
            .source(source)
            .limit(AnyLimit::packets(4))
            .build()
            .expect("limited");
        let (mut sent, mut without_room) = (0, 0);
        until("tries alone send a hundred", || {
            let tried = socket.try_send(&[Datagram::new(&[0; 1200]); 8]);
            let tried = tried.expect("sends");
            sent += tried.count;
            without_room += u32::from(tried.stop == Some(Stop::NoRoom));
            sent >= 100
        });
        assert!(without_room > 0, "{source:?}");
    }
}
