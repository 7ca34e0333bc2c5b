//! Permits: room reserved for datagrams that are sent later.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use taut_path::AnyLimit;
use taut_udp::async_udp::AsyncUdp;
use taut_udp::{Datagram, LimitedUdp, Permit, Place, Priority};
use tokio::sync::mpsc;
use tokio::{task, time};

use crate::common::{Link, PATIENCE, allowed, finish, runtime};

const PAYLOAD: [u8; 1200] = [0; 1200];
const WIRE_BYTES: u32 = 1242;

/// A socket of a slow link, whose completions are known to be valid.
fn limited(link: &Link, limit: AnyLimit) -> LimitedUdp {
    let (_far, address) = link.receiver();
    limited_to(link, address, limit)
}

fn limited_to(link: &Link, address: SocketAddr, limit: AnyLimit) -> LimitedUdp {
    let builder = LimitedUdp::builder(link.connected(address)).limit(limit);
    let socket = builder.build().expect("limited");
    while { socket.try_send(&[Datagram::new(&PAYLOAD)]) }
        .expect("sends")
        .stop
        .is_none()
    {}
    finish(&socket);
    socket
}

fn take_all(socket: &LimitedUdp) -> Vec<Permit> {
    let permits = std::iter::from_fn(|| socket.try_reserve(WIRE_BYTES).expect("reads"));
    permits.collect()
}

#[test]
fn reserved_bytes_count_until_sent_or_dropped() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    let socket = limited(&link, AnyLimit::bytes(10_000));
    let mut permits = take_all(&socket);
    assert_eq!(permits.len(), 9, "10,000 bytes and one object");
    assert_eq!(socket.snapshot().reserved, 9 * WIRE_BYTES);
    let sent = socket.try_send(&[Datagram::new(&PAYLOAD)]).expect("sends");
    assert_eq!(sent.count, 0, "{sent:?}");
    drop(permits.pop());
    let sent = socket.try_send(&[Datagram::new(&PAYLOAD)]).expect("sends");
    assert_eq!(sent.count, 1, "{sent:?}");
    for permit in permits {
        // A smaller datagram releases the remaining bytes.
        let sent = permit.send(&[Datagram::new(&[1; 100])]).expect("sends");
        assert_eq!((sent.count, sent.stop), (1, None));
    }
    let now = socket.snapshot();
    assert_eq!(now.reserved, 0);
    assert!(now.in_flight_bytes <= 8 * 142 + WIRE_BYTES, "{now:?}");
    finish(&socket);
    assert!(socket.try_reserve(u32::MAX).is_err());
    assert_eq!(socket.snapshot().reserved, 0);
}

#[test]
fn dropped_permit_wakes_a_blocked_thread() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    let socket = limited(&link, AnyLimit::packets(2));
    let permits = take_all(&socket);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| socket.reserve(WIRE_BYTES).is_ok());
        let sender = scope.spawn(|| {
            socket
                .send(&[Datagram::new(&PAYLOAD)])
                .expect("sends")
                .count
        });
        while socket.snapshot().waiting_tasks < 1 {
            thread::yield_now();
        }
        drop(permits);
        assert!(waiter.join().expect("no panic"));
        assert_eq!(sender.join().expect("no panic"), 1);
    });
}

#[test]
fn permit_is_sent_by_another_task() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    runtime(2).block_on(async {
        let socket = Arc::new(AsyncUdp::new(limited(&link, AnyLimit::packets(3))).expect("epoll"));
        let (permits, mut next) = mpsc::channel::<Permit>(1);
        let sender = tokio::spawn(async move {
            let mut count = 0;
            while let Some(permit) = next.recv().await {
                count += permit
                    .send(&[Datagram::new(&PAYLOAD)])
                    .expect("sends")
                    .count;
            }
            count
        });
        for _ in 0..100 {
            let permit = time::timeout(PATIENCE, socket.reserve(WIRE_BYTES)).await;
            let permit = permit.expect("in time").expect("room");
            let now = socket.limited().snapshot();
            assert!(now.in_flight + now.reserved <= 4, "{now:?}");
            permits.send(permit).await.expect("received");
        }
        drop(permits);
        assert_eq!(sender.await.expect("no panic"), 100);
    });
}

#[test]
fn urgent_reservation_is_first() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    runtime(1).block_on(async {
        let socket = AsyncUdp::new(limited(&link, AnyLimit::packets(0))).expect("epoll");
        let held = take_all(socket.limited());
        let mut normal = pin!(socket.reserve(WIRE_BYTES));
        let mut urgent = pin!(socket.reserve_as(WIRE_BYTES, Priority::Urgent));
        poll_fn(|context| {
            assert!(normal.as_mut().poll(context).is_pending());
            assert!(urgent.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(held);
        tokio::select! {
            biased;
            _ = &mut normal => panic!("before the urgent one"),
            permit = &mut urgent => drop(permit.expect("room")),
        }
        drop(time::timeout(PATIENCE, normal).await.expect("in time"));
    });
}

struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A task that joins the queue reads the error queue, and the completions in it make room for the
/// first task.
#[test]
fn joining_task_wakes_the_first() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    // Without a receiver, an ICMP error would also be an entry of the error queue.
    let (_far, address) = link.receiver();
    let socket = limited_to(&link, address, AnyLimit::packets(1));
    for _ in 0..20 {
        let wakes = Arc::new(CountWakes(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&wakes));
        let (mut first, mut second) = (Place::new(&socket), Place::new(&socket));
        // The first task waits for a permit, because a datagram might be completed too early.
        let held = take_all(&socket);
        let waits = first.poll_room(&mut Context::from_waker(&waker));
        assert!(waits.is_pending());
        let batch = [Datagram::new(&PAYLOAD)];
        assert_eq!(socket.send_unlimited(&batch).expect("sends").stop, None);
        drop(held);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "it is still in flight");
        let mut entry = [PollFd::new(&socket, PollFlags::empty())];
        poll(&mut entry, None).expect("polls");

        let mut other = Context::from_waker(Waker::noop());
        let waits = second.poll_room(&mut other);
        assert!(waits.is_pending(), "not its turn");
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1, "nothing else is read");
        let turn = first.poll_room(&mut Context::from_waker(&waker));
        assert!(turn.is_ready());
        assert_eq!(socket.snapshot().waiting_tasks, 1);
        drop(second);
        assert_eq!(socket.snapshot().waiting_tasks, 0);
    }
}

/// The `select!` polls the kept future once, and then only the other branch.
#[test]
fn kept_future_does_not_starve_others() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    for threads in [1, 2] {
        runtime(threads).block_on(async {
            let socket = AsyncUdp::new(limited(&link, AnyLimit::packets(1))).expect("epoll");
            let socket = Arc::new(socket);
            let held = take_all(socket.limited());
            let mut kept = pin!(socket.reserve(WIRE_BYTES));
            tokio::select! {
                biased;
                _ = &mut kept => panic!("no room"),
                () = task::yield_now() => {}
            }
            let others: Vec<_> = (0..4)
                .map(|_| {
                    let socket = Arc::clone(&socket);
                    tokio::spawn(async move {
                        for _ in 0..10 {
                            let sent = socket.send(&[Datagram::new(&PAYLOAD)]).await;
                            assert_eq!(sent.expect("sends").stop, None);
                        }
                    })
                })
                .collect();
            while socket.limited().snapshot().waiting_tasks < 5 {
                task::yield_now().await;
            }
            drop(held);
            for other in others {
                let done = time::timeout(PATIENCE, other).await;
                done.expect("not starved").expect("no panic");
            }
            let permit = time::timeout(PATIENCE, kept).await;
            drop(permit.expect("in time"));
        });
    }
}

/// Drops each kind of future after each number of polls.
#[test]
fn dropped_future_loses_nothing() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    runtime(1).block_on(async {
        let socket = AsyncUdp::new(limited(&link, AnyLimit::packets(2))).expect("epoll");
        let polls = AtomicUsize::new(0);
        let batch = [Datagram::new(&PAYLOAD); 6];
        for max_polls in 0..30 {
            polls.store(0, Ordering::Relaxed);
            let mut send = pin!(socket.send(&batch));
            let mut reserve = pin!(socket.reserve(WIRE_BYTES));
            let mut urgent = pin!(socket.reserve_as(WIRE_BYTES, Priority::Urgent));
            let mut room = pin!(socket.wait_for_room());
            let mut done = [false; 4];
            let all = poll_fn(|context: &mut Context<'_>| {
                if polls.fetch_add(1, Ordering::Relaxed) >= max_polls {
                    return Poll::Ready(());
                }
                done[0] = done[0] || send.as_mut().poll(context).is_ready();
                done[1] = done[1] || reserve.as_mut().poll(context).is_ready();
                done[2] = done[2] || urgent.as_mut().poll(context).is_ready();
                done[3] = done[3] || room.as_mut().poll(context).is_ready();
                match done {
                    [true, true, true, true] => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            });
            time::timeout(PATIENCE, all).await.expect("it continues");
        }
        let now = socket.limited().snapshot();
        assert_eq!((now.waiting_tasks, now.reserved), (0, 0));
        finish(socket.limited());
        let totals = socket.limited().snapshot().totals;
        assert_eq!(totals.sent_bytes, totals.completed_bytes);
    });
}
