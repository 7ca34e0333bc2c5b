//! The socket on tokio.

use std::future::{Future, poll_fn};
use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use taut_path::AnyLimit;
use taut_udp::async_udp::AsyncUdp;
use taut_udp::{Datagram, LimitedUdp, Source};
use tokio::{task, time};

use crate::common::{Link, PATIENCE, allowed, runtime};

const PAYLOAD: [u8; 1200] = [0; 1200];

#[test]
fn tasks_get_room_in_turn() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    for threads in [1, 2] {
        runtime(threads).block_on(async {
            let builder = LimitedUdp::builder(link.connected(address)).limit(AnyLimit::packets(4));
            let socket = Arc::new(AsyncUdp::new(builder.build().expect("limited")).expect("epoll"));
            let counts: Arc<[AtomicU64; 4]> = Arc::default();
            let tasks: Vec<_> = (0..4)
                .map(|task| {
                    let (socket, counts) = (Arc::clone(&socket), Arc::clone(&counts));
                    tokio::spawn(async move {
                        loop {
                            let sent = socket.send(&[Datagram::new(&PAYLOAD)]).await;
                            assert_eq!(sent.expect("sends").stop, None);
                            counts[task].fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let enough = async {
                while counts
                    .iter()
                    .map(|it| it.load(Ordering::Relaxed))
                    .sum::<u64>()
                    < 400
                {
                    time::sleep(Duration::from_millis(1)).await;
                }
            };
            time::timeout(PATIENCE, enough).await.expect("it goes on");
            tasks.iter().for_each(|task| task.abort());
            let shares: Vec<_> = counts.iter().map(|it| it.load(Ordering::Relaxed)).collect();
            assert!(shares.iter().all(|&it| it >= 60), "{shares:?}");
        });
    }
}

#[test]
fn completions_are_read_while_no_task_waits() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let socket = AsyncUdp::new(LimitedUdp::new(link.connected(address)).expect("limited"))
            .expect("epoll");
        let send = || {
            let sent = socket.limited().send_unlimited(&[Datagram::new(&PAYLOAD)]);
            assert_eq!(sent.expect("sends").stop, None);
        };
        let is_read = async || {
            while socket.limited().snapshot().in_flight > 0 {
                time::sleep(Duration::from_millis(1)).await;
            }
        };
        // Also a datagram that was in flight before.
        send();
        socket.read_always();
        time::timeout(PATIENCE, is_read()).await.expect("read");
        send();
        time::timeout(PATIENCE, is_read()).await.expect("read");
    });
}

/// Sends a datagram, and returns how often the task was polled for it.
async fn send_and_count_polls(socket: &AsyncUdp) -> u32 {
    let mut polls = 0;
    let batch = [Datagram::new(&PAYLOAD)];
    let mut send = pin!(socket.send(&batch));
    let counted = poll_fn(|context| {
        polls += 1;
        send.as_mut().poll(context)
    });
    assert_eq!(counted.await.expect("sends").stop, None);
    polls
}

#[test]
fn a_task_that_waits_does_not_spin() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(2_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let socket = AsyncUdp::new(LimitedUdp::new(link.connected(address)).expect("limited"))
            .expect("epoll");
        let mut polls = 0;
        for _ in 0..150 {
            polls += send_and_count_polls(&socket).await;
        }
        // Each waits 5 ms: woken by a completion or two, not by all of them.
        assert!(polls < 150 * 8, "{polls}");
    });
}

/// The pool of zero-copy sends is full before the limit is reached.
#[test]
fn task_waiting_for_the_pool_does_not_spin() {
    if !allowed() {
        return;
    }
    const POOL_BYTES: usize = 128 * 1024;
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let builder = LimitedUdp::builder(link.connected(address))
            .source(Source::ZeroCopy)
            .pool_bytes(POOL_BYTES)
            .limit(AnyLimit::bytes(10 * POOL_BYTES as u32));
        let socket = AsyncUdp::new(builder.build().expect("limited")).expect("epoll");
        let mut polls = 0;
        let all = async {
            for _ in 0..400 {
                polls += send_and_count_polls(&socket).await;
            }
        };
        time::timeout(PATIENCE, all).await.expect("it goes on");
        assert!(polls < 400 * 8, "{polls}");
    });
}

#[test]
fn dropped_future_leaves_the_wait_queue() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(1_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let builder = LimitedUdp::builder(link.connected(address)).limit(AnyLimit::packets(2));
        let socket = AsyncUdp::new(builder.build().expect("limited")).expect("epoll");
        while socket
            .limited()
            .try_send(&[Datagram::new(&PAYLOAD)])
            .expect("sends")
            .stop
            .is_none()
        {}
        for _ in 0..10 {
            let impatient = time::timeout(Duration::from_micros(100), socket.wait_for_room());
            let _ = impatient.await;
        }
        assert_eq!(socket.limited().snapshot().waiting_tasks, 0);
        let room = time::timeout(PATIENCE, socket.wait_for_room());
        room.await.expect("nobody is in front").expect("room");
    });
}

#[test]
fn receiving_is_not_affected() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(20_000_000);
    let (far, address) = link.receiver();
    runtime(2).block_on(async {
        let socket = AsyncUdp::new(LimitedUdp::new(link.connected(address)).expect("limited"))
            .expect("epoll");
        for round in 0..20_u8 {
            let batch = [Datagram::new(&PAYLOAD); 8];
            let _ = socket.send(&batch).await.expect("sends");
            far.send_to(
                &[round],
                socket.limited().socket().local_addr().expect("address"),
            )
            .expect("answers");
            let mut buffer = [0; 100];
            let answer = time::timeout(PATIENCE, socket.recv_from(&mut buffer)).await;
            assert_eq!(answer.expect("in time").expect("received"), (1, address));
            assert_eq!(buffer[0], round);
        }
    });
}

#[test]
fn unblocked_sender_yields() {
    let far = UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
    let near = UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
    near.connect(far.local_addr().expect("address"))
        .expect("connected");
    runtime(1).block_on(async {
        let socket = AsyncUdp::new(LimitedUdp::new(near).expect("limited")).expect("epoll");
        let other = tokio::spawn(async {});
        for _ in 0..10_000 {
            socket.wait_for_room().await.expect("room");
            let _ = socket
                .limited()
                .try_send(&[Datagram::new(&PAYLOAD)])
                .expect("sends");
            if other.is_finished() {
                return;
            }
        }
        panic!("the other task never ran");
    });
}

/// Each completion wakes the task that reads notifications, and the next one in the queue.
#[test]
fn completion_does_not_wake_all_waiters() {
    if !allowed() {
        return;
    }
    const TASKS: u64 = 200;
    let link = Link::shaped(20_000_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let builder = LimitedUdp::builder(link.connected(address)).limit(AnyLimit::packets(4));
        let socket = Arc::new(AsyncUdp::new(builder.build().expect("limited")).expect("epoll"));
        let polls = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (socket, polls) = (Arc::clone(&socket), Arc::clone(&polls));
                tokio::spawn(async move {
                    for _ in 0..3 {
                        let more = send_and_count_polls(&socket).await;
                        polls.fetch_add(more.into(), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for task in tasks {
            let done = time::timeout(PATIENCE, task).await;
            done.expect("it goes on").expect("no panic");
        }
        let polls = polls.load(Ordering::Relaxed);
        assert!(polls < TASKS * 3 * 8, "{polls}");
        let times_blocked = socket.limited().snapshot().totals.times_blocked;
        assert!(times_blocked <= TASKS * 3 * 2, "{times_blocked}");
    });
}

#[test]
fn dropped_notification_reader_is_replaced() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(1_000_000);
    let (_far, address) = link.receiver();
    for threads in [1, 2] {
        runtime(threads).block_on(async {
            let builder = LimitedUdp::builder(link.connected(address)).limit(AnyLimit::packets(2));
            let socket = Arc::new(AsyncUdp::new(builder.build().expect("limited")).expect("epoll"));
            while { socket.limited() }
                .try_send(&[Datagram::new(&PAYLOAD)])
                .expect("sends")
                .stop
                .is_none()
            {}
            let waiters: Vec<_> = (0..10)
                .map(|_| {
                    let socket = Arc::clone(&socket);
                    tokio::spawn(async move { socket.wait_for_room().await })
                })
                .collect();
            // On a busy machine, all of them can have room before this thread runs.
            let all_done = || waiters.iter().all(|it| it.is_finished());
            while socket.limited().snapshot().waiting_tasks == 0 && !all_done() {
                task::yield_now().await;
            }
            // Earlier tasks are cancelled while they wait, the first of them as the reader of
            // notifications.
            for waiter in &waiters[..9] {
                waiter.abort();
            }
            let mut last = waiters;
            let last = time::timeout(PATIENCE, last.pop().expect("ten")).await;
            last.expect("it is woken").expect("no panic").expect("room");
        });
    }
}

#[test]
fn full_wait_queue_is_reported() {
    if !allowed() {
        return;
    }
    let link = Link::shaped(100_000);
    let (_far, address) = link.receiver();
    runtime(1).block_on(async {
        let builder = LimitedUdp::builder(link.connected(address)).waiters(1);
        let socket = AsyncUdp::new(builder.build().expect("limited")).expect("epoll");
        while { socket.limited() }
            .try_send(&[Datagram::new(&PAYLOAD)])
            .expect("sends")
            .stop
            .is_none()
        {}
        let mut first = pin!(socket.wait_for_room());
        let second = poll_fn(|context| {
            assert!(first.as_mut().poll(context).is_pending());
            pin!(socket.wait_for_room()).poll(context)
        });
        let error = second.await.expect_err("one may wait");
        assert_eq!(error.kind(), std::io::ErrorKind::QuotaExceeded);
    });
}
