//! The sockets of a QUIC endpoint, without a stack.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use taut_path::AnyLimit;
use taut_udp::Datagram;
use taut_udp::quic::{Sender, SocketLimiter};
use tokio::time;

use crate::common::{Link, PATIENCE, allowed, runtime};

const PAYLOAD: [u8; 1200] = [0; 1200];

fn three_packets() -> SocketLimiter {
    SocketLimiter::new().limit(AnyLimit::packets(3))
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn send_without_a_task_needs_no_room() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let limited = three_packets();
        let stats = || limited.stats().expect("a socket");
        let socket = limited.socket(link.connected(address), 1).expect("limited");
        let datagram = Datagram::new(&PAYLOAD).to(address);
        let waker = Waker::from(Arc::<Flag>::default());
        let mut sender = Sender::new(Arc::clone(&socket));
        let mut sends = 0;
        let mut context = Context::from_waker(&waker);
        while sender.poll_send(datagram, &mut context).is_ready() {
            sends += 1;
            assert!(sends < 1_000, "no limit");
        }
        assert_eq!(stats().socket.totals.times_blocked, 1);
        let before = stats().socket.totals.sent_objects;
        let mut no_task = Context::from_waker(Waker::noop());
        let sent = Sender::new(Arc::clone(&socket)).poll_send(datagram, &mut no_task);
        assert!(matches!(sent, Poll::Ready(Ok(()))), "{sent:?}");
        assert_eq!(stats().socket.totals.sent_objects, before + 1);
        assert_eq!(
            stats().socket.waiting_tasks,
            1,
            "only the first sender waits"
        );
        drop(sender);
        assert_eq!(stats().socket.waiting_tasks, 0);
    });
}

#[test]
fn waiting_sender_sends_after_a_completion() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let limited = three_packets();
        let stats = || limited.stats().expect("a socket");
        let socket = limited.socket(link.connected(address), 1).expect("limited");
        let datagram = Datagram::new(&PAYLOAD).to(address);
        let mut sender = Sender::new(Arc::clone(&socket));
        let all = async {
            for _ in 0..100 {
                let sent = poll_fn(|context| sender.poll_send(datagram, context));
                sent.await.expect("sends");
            }
        };
        time::timeout(PATIENCE, all).await.expect("in time");
        assert!(stats().socket.totals.times_blocked > 0);
        drop(socket);
        assert!(limited.stats().is_some(), "the sender keeps the socket");
        drop(sender);
        assert_eq!(limited.stats(), None);
    });
}
