//! The socket as quinn uses it.

use std::io::IoSliceMut;
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, Runtime};
use taut_quinn::{AnyLimit, Limited, SocketLimiter};
use taut_udp::Source;

use crate::common::{Link, PATIENCE, allowed, runtime};

const PAYLOAD: [u8; 1200] = [0; 1200];

fn transmit(contents: &[u8], to: SocketAddr) -> Transmit<'_> {
    Transmit {
        destination: to,
        ecn: Some(EcnCodepoint::Ect0),
        contents,
        segment_size: None,
        src_ip: None,
    }
}

/// Sends while there is room, as a connection does.
fn fill(socket: &Arc<dyn AsyncUdpSocket>, to: SocketAddr) {
    let mut poller = Arc::clone(socket).create_io_poller();
    let mut context = Context::from_waker(Waker::noop());
    let start = Instant::now();
    while poller.as_mut().poll_writable(&mut context).is_ready() {
        socket.try_send(&transmit(&PAYLOAD, to)).expect("sends");
        assert!(start.elapsed() < PATIENCE, "no limit");
    }
}

#[test]
fn stateless_reply_is_sent_without_room() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(2_000_000);
        let far = link.far_socket();
        let to = far.local_addr().expect("address");
        let limited = Limited::with_sockets(SocketLimiter::new().limit(AnyLimit::packets(3)));
        let socket = limited
            .wrap_udp_socket(link.near_socket())
            .expect("wrapped");
        fill(&socket, to);
        let before = limited.stats().expect("made").socket.totals.sent_objects;
        // As `Endpoint` answers packets without a connection: without polling for room, and without
        // a retry.
        socket
            .try_send(&transmit(b"version negotiation", to))
            .expect("goes out");
        let after = limited.stats().expect("made");
        assert_eq!(after.socket.totals.sent_objects, before + 1);
        assert!(after.socket.totals.times_blocked >= 1);
    });
}

#[test]
fn cancelled_wait_does_not_block_others() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(20_000_000);
        let far = link.far_socket();
        let to = far.local_addr().expect("address");
        let limited = Limited::with_sockets(SocketLimiter::new().limit(AnyLimit::packets(3)));
        let socket = limited
            .wrap_udp_socket(link.near_socket())
            .expect("wrapped");
        fill(&socket, to);
        let mut gone = Arc::clone(&socket).create_io_poller();
        let mut context = Context::from_waker(Waker::noop());
        let _ = gone.as_mut().poll_writable(&mut context);
        drop(gone);
        let mut stays = Arc::clone(&socket).create_io_poller();
        let room = std::future::poll_fn(|context| stays.as_mut().poll_writable(context));
        let room = tokio::time::timeout(PATIENCE, room).await;
        room.expect("in time").expect("room");
    });
}

/// Returns the metadata that quinn's own receiver reads of a datagram.
fn receive(state: &UdpSocketState, far: &UdpSocket) -> RecvMeta {
    let start = Instant::now();
    loop {
        let mut buffer = [0; 65_536];
        let mut meta = [RecvMeta::default()];
        let received = state.recv(far.into(), &mut [IoSliceMut::new(&mut buffer)], &mut meta);
        if received.is_ok() {
            return meta[0];
        }
        assert!(start.elapsed() < PATIENCE, "nothing came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn marks_and_segments_arrive_under_each_source() {
    if !allowed() {
        return;
    }
    for source in [Source::ZeroCopy, Source::Timestamps, Source::Polled] {
        runtime().block_on(async {
            let link = Link::shaped(20_000_000);
            let far = link.far_socket();
            let state = UdpSocketState::new((&far).into()).expect("state");
            let to = far.local_addr().expect("address");
            let limited = Limited::with_sockets(SocketLimiter::new().source(source));
            let socket = limited
                .wrap_udp_socket(link.near_socket())
                .expect("wrapped");
            let mut datagram = transmit(&PAYLOAD, to);
            datagram.segment_size = Some(500);
            datagram.src_ip = Some(crate::common::NEAR.into());
            socket.try_send(&datagram).expect("sends");
            let mut bytes = 0;
            while bytes < 1200 {
                let meta = receive(&state, &far);
                assert_eq!(meta.ecn, Some(EcnCodepoint::Ect0), "{source:?}");
                bytes += meta.len;
            }
            let after = limited.stats().expect("made").socket.totals;
            assert_eq!((after.sent_objects, after.sent_datagrams), (1, 3));
        });
    }
}

#[test]
fn timestamps_do_not_truncate_received_ecn() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(20_000_000);
        let far = link.far_socket();
        let to = far.local_addr().expect("address");
        let limited = Limited::with_sockets(SocketLimiter::new().source(Source::Timestamps));
        // The limited side receives here, with timestamps enabled for its sends.
        let near = limited
            .wrap_udp_socket(link.near_socket())
            .expect("wrapped");
        let back = near.local_addr().expect("address");
        near.try_send(&transmit(&PAYLOAD, to)).expect("sends");
        let state = UdpSocketState::new((&far).into()).expect("state");
        receive(&state, &far);
        state
            .send((&far).into(), &transmit(b"answer", back))
            .expect("answers");
        let mut buffer = [0; 65_536];
        let mut meta = [RecvMeta::default()];
        let mut buffers = [IoSliceMut::new(&mut buffer)];
        let received =
            std::future::poll_fn(|context| near.poll_recv(context, &mut buffers, &mut meta));
        let count = tokio::time::timeout(PATIENCE, received).await;
        assert_eq!(count.expect("in time").expect("received"), 1);
        assert_eq!(meta[0].ecn, Some(EcnCodepoint::Ect0));
    });
}

#[test]
fn closed_port_does_not_end_the_socket() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(20_000_000);
        let far = link.far_socket();
        let to = far.local_addr().expect("address");
        drop(far);
        let limited = Limited::new();
        let socket = limited
            .wrap_udp_socket(link.near_socket())
            .expect("wrapped");
        let start = Instant::now();
        while limited.stats().expect("made").socket.issues.unreachable == 0 {
            socket
                .try_send(&transmit(&PAYLOAD, to))
                .expect("no error of the endpoint's");
            let mut buffer = [0; 2_000];
            let mut meta = [RecvMeta::default()];
            let mut context = Context::from_waker(Waker::noop());
            let mut buffers = [IoSliceMut::new(&mut buffer)];
            let received = Pin::new(&socket).poll_recv(&mut context, &mut buffers, &mut meta);
            assert!(matches!(received, Poll::Pending), "{received:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(start.elapsed() < PATIENCE, "never told");
        }
    });
}
