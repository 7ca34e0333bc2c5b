//! Whole endpoints.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::TransportConfig;
use taut_linux::link;
use taut_quinn::{Limited, SocketLimiter, Utilised};
use taut_udp::{CompletionQuality, Source};
use tokio::time;

use crate::common::{Link, PATIENCE, allowed, pair, runtime, upload};

const BYTES: usize = 1_000_000;

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    time::timeout(PATIENCE, work).await.expect("in time")
}

#[test]
fn each_source_bounds_the_kernels_backlog() {
    if !allowed() {
        return;
    }
    for (source, verdict) in [
        (Source::ZeroCopy, CompletionQuality::BufferFreed),
        (Source::Timestamps, CompletionQuality::Transmitted),
        (Source::Polled, CompletionQuality::Polled),
    ] {
        runtime().block_on(async {
            let link = Link::shaped(20_000_000);
            let limited = Limited::with_sockets(SocketLimiter::new().source(source));
            let transport = TransportConfig::default();
            let runtime = Arc::new(limited.clone());
            let pair = pair(link.near_socket(), link.far_socket(), runtime, transport);
            let connection = in_time(pair.connect()).await;
            let sample = async {
                let mut seen = vec![];
                loop {
                    time::sleep(Duration::from_millis(2)).await;
                    seen.push(limited.stats().expect("made").socket.in_flight_bytes);
                    if seen.len() == 150 {
                        seen.sort_unstable();
                        return seen[seen.len() / 2];
                    }
                }
            };
            let (count, in_flight) =
                in_time(async { tokio::join!(upload(&connection, BYTES), sample) }).await;
            assert_eq!(count, BYTES as u64);
            let stats = limited.stats().expect("made");
            assert_eq!(stats.socket.completion_quality, verdict, "{stats:?}");
            assert!(stats.socket.totals.times_blocked > 0, "{stats:?}");
            // Plain quinn has 107 KB or more in flight there.
            assert!(in_flight < 60_000, "{source:?}: {in_flight}");
            assert_eq!(stats.socket.totals.unknown_completions, 0);
            // Completions raise EPOLLERR, on which the task must not spin.
            assert!(stats.completion_runs < 10_000, "{stats:?}");
        });
    }
}

#[test]
fn rejected_zero_copy_selects_the_send_buffer_level() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(20_000_000);
        let write = || std::fs::write("/proc/sys/net/core/optmem_max", "64");
        if let Err(error) = link.near.run(write).expect("thread") {
            // A sysctl of the whole machine before Linux 6.8, and therefore missing in a namespace.
            return eprintln!("skipped: net.core.optmem_max: {error}");
        }
        let limited = Limited::new();
        let transport = TransportConfig::default();
        let runtime = Arc::new(limited.clone());
        let pair = pair(link.near_socket(), link.far_socket(), runtime, transport);
        let connection = in_time(pair.connect()).await;
        assert_eq!(in_time(upload(&connection, BYTES)).await, BYTES as u64);
        let stats = limited.stats().expect("made");
        assert_eq!(stats.socket.source, Source::Polled, "{stats:?}");
        assert_eq!(
            stats.socket.completion_quality,
            CompletionQuality::Polled,
            "{stats:?}"
        );
        assert!(stats.socket.totals.times_blocked > 0, "{stats:?}");
    });
}

#[test]
fn connections_that_wait_get_room_in_turn() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(20_000_000);
        let limited = Limited::new();
        let transport = TransportConfig::default();
        let runtime = Arc::new(limited.clone());
        let pair = pair(link.near_socket(), link.far_socket(), runtime, transport);
        let (one, other) = in_time(async { (pair.connect().await, pair.connect().await) }).await;
        let first = async {
            upload(&one, BYTES).await;
            (one.stats().udp_tx.bytes, other.stats().udp_tx.bytes)
        };
        let (shares, _) = in_time(async { tokio::join!(first, upload(&other, BYTES)) }).await;
        // At the end of the first, the second had its share.
        assert!(shares.1 * 4 > shares.0, "{shares:?}");
    });
}

#[test]
fn a_rebound_endpoint_stays_limited() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let link = Link::shaped(20_000_000);
        let limited = Limited::new();
        let transport = TransportConfig::default();
        let runtime = Arc::new(limited.clone());
        let pair = pair(link.near_socket(), link.far_socket(), runtime, transport);
        let connection = in_time(pair.connect()).await;
        assert_eq!(in_time(upload(&connection, 200_000)).await, 200_000);
        pair.client.rebind(link.near_socket()).expect("rebound");
        // A new socket, which counts from 0.
        let before = limited.stats().expect("made").socket.totals;
        assert!(before.sent_bytes < 100_000, "{before:?}");
        assert_eq!(in_time(upload(&connection, BYTES)).await, BYTES as u64);
        let after = limited.stats().expect("made");
        assert!(
            after.socket.totals.times_blocked > 0 && after.socket.totals.sent_bytes > BYTES as u64,
            "{after:?}"
        );
    });
}

#[test]
fn no_limit_over_loopback_with_ipv6() {
    let Ok(near) = UdpSocket::bind("[::1]:0") else {
        return eprintln!("skipped: no IPv6 here");
    };
    runtime().block_on(async {
        let far = UdpSocket::bind("[::1]:0").expect("socket");
        let limited = Limited::with_sockets(SocketLimiter::new().source(Source::Timestamps));
        let transport = TransportConfig::default();
        let pair = pair(near, far, Arc::new(limited.clone()), transport);
        let connection = in_time(pair.connect()).await;
        assert_eq!(
            in_time(upload(&connection, 20 * BYTES)).await,
            20 * BYTES as u64
        );
        let stats = limited.stats().expect("made");
        assert_eq!(stats.socket.totals.unknown_completions, 0);
        assert_ne!(
            stats.socket.completion_quality,
            CompletionQuality::Transmitted,
            "{stats:?}"
        );
    });
}

/// As in the README: the first 0.1 s of load are not enough.
#[test]
fn load_over_loopback_determines_the_quality() {
    runtime().block_on(async {
        let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("socket"));
        let limited = Limited::new();
        let transport = TransportConfig::default();
        let pair = pair(near, far, Arc::new(limited.clone()), transport);
        let connection = in_time(pair.connect()).await;
        let quality = || limited.stats().expect("made").socket.completion_quality;
        let known = async {
            while quality() == CompletionQuality::Unknown {
                assert_eq!(upload(&connection, BYTES).await, BYTES as u64);
            }
        };
        in_time(known).await;
    });
}

/// Returns the packets lost by an outage of 0.3 s, and the window before it.
async fn lost_with(transport: TransportConfig) -> (u64, u64) {
    let link = Link::shaped(20_000_000);
    let limited = Limited::new();
    let pair = pair(
        link.near_socket(),
        link.far_socket(),
        Arc::new(limited),
        transport,
    );
    let connection = in_time(pair.connect()).await;
    let begin = Instant::now();
    let (mut sends, _receives) = connection.open_bi().await.expect("stream");
    let bulk = tokio::spawn(async move { while sends.write_all(&[7; 65_536]).await.is_ok() {} });
    time::sleep(Duration::from_millis(2_500)).await;
    let window = connection.stats().path.cwnd;
    link::set_down(&link.near, "near").expect("down");
    time::sleep(Duration::from_millis(300)).await;
    link::set_up(&link.near, "near").expect("up");
    link.neighbours();
    // It recovers: another megabyte, and the losses are known.
    let before = connection.stats().udp_tx.bytes;
    in_time(async {
        while connection.stats().udp_tx.bytes < before + 1_000_000 {
            time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let lost = connection.stats().path.lost_bytes;
    bulk.abort();
    assert!(begin.elapsed() < PATIENCE);
    (window, lost)
}

#[test]
fn unused_window_neither_grows_nor_shrinks() {
    if !allowed() {
        return;
    }
    runtime().block_on(async {
        let mut transport = TransportConfig::default();
        let cubic = quinn::congestion::CubicConfig::default();
        transport.send_window(64 << 20);
        transport.congestion_controller_factory(Arc::new(Utilised::new(cubic)));
        let (window, lost) = lost_with(transport).await;
        assert!(window < 500_000, "{window}");
        assert!(lost < 400_000, "{lost}");
    });
}

/// The test clock advances only while no task can run.
#[test]
fn dropped_endpoint_releases_its_port() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    runtime.expect("runtime").block_on(async {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("socket");
        let address = socket.local_addr().expect("address");
        let limited = Arc::new(Limited::new());
        let config = quinn::EndpointConfig::default();
        let endpoint = quinn::Endpoint::new(config, None, socket, limited).expect("endpoint");
        time::sleep(Duration::from_millis(1)).await;
        endpoint.wait_idle().await;
        drop(endpoint);
        let dropped = time::Instant::now();
        while UdpSocket::bind(address).is_err() {
            time::sleep(Duration::from_millis(1)).await;
            assert!(dropped.elapsed() < Duration::from_millis(100), "held");
        }
    });
}
