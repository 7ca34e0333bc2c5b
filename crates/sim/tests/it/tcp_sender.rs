//! Segments of the sender without losses, call by call.

use crate::tcp_support::{MS, SECOND};
use taut_sim::tcp::{Ack, GsoSize, SackBlocks, Segment, TcpConfig, TcpSender};

const MSS: u64 = 1448;

fn drain(sender: &mut TcpSender, now_ns: u64) -> Vec<Segment> {
    std::iter::from_fn(|| sender.next_segment(now_ns)).collect()
}

fn ack(cumulative: u64) -> Ack {
    let sack = SackBlocks::default();
    Ack {
        cumulative,
        window_bytes: 1 << 30,
        sack,
        ece: false,
    }
}

fn config() -> TcpConfig {
    TcpConfig {
        receive_buffer_bytes: 1 << 30,
        ..TcpConfig::default()
    }
}

/// Returns a sender with a smoothed round trip of `rtt_ns` and a window of `segments`.
fn warmed_up(config: &TcpConfig, rtt_ns: u64, segments: u64) -> (TcpSender, u64) {
    let (mut sender, mut now) = (TcpSender::new(config), 0);
    while sender.cwnd_bytes() < segments * MSS {
        assert!(now < 100 * rtt_ns, "the window does not grow");
        sender.write((2 * segments * MSS).saturating_sub(sender.unsent_bytes()));
        let mut sent = vec![];
        // A paced sender needs a part of the round trip to send the window.
        for at in (now..now + rtt_ns).step_by(rtt_ns as usize / 1000) {
            sent.extend(drain(&mut sender, at));
        }
        now += rtt_ns;
        for segment in sent {
            for end in (segment.start..segment.end())
                .step_by(2 * MSS as usize)
                .skip(1)
            {
                sender.on_ack(&ack(end), now);
            }
            sender.on_ack(&ack(segment.end()), now);
        }
    }
    (sender, now)
}

#[test]
fn first_window_doubles_with_each_round_trip() {
    let mut sender = TcpSender::new(&config());
    sender.write(u64::MAX);
    let mut expected = 10;
    for round in 0..5 {
        let sent = drain(&mut sender, round * 10 * MS);
        assert_eq!(sent.len(), expected);
        assert!(
            sent.iter()
                .all(|segment| u64::from(segment.payload_bytes) == MSS)
        );
        for pair in sent.chunks(2) {
            sender.on_ack(&ack(pair[1].end()), (round + 1) * 10 * MS);
        }
        expected *= 2;
    }
    assert_eq!(sender.srtt_ns(), Some(10 * MS));
}

#[test]
fn rtt_and_timeout_follow_the_formulas() {
    let mut sender = TcpSender::new(&TcpConfig {
        min_rto_ns: 1,
        ..config()
    });
    assert_eq!((sender.srtt_ns(), sender.rto_ns()), (None, SECOND));
    let (mut srtt, mut rttvar, mut now) = (0.0_f64, 0.0_f64, 0);
    for (round, rtt_ms) in [100, 100, 150, 80, 300, 20, 20, 20].into_iter().enumerate() {
        sender.write(1);
        let segment = sender.next_segment(now).unwrap();
        now += rtt_ms * MS;
        sender.on_ack(&ack(segment.end()), now);
        let rtt = (rtt_ms * MS) as f64;
        if round == 0 {
            (srtt, rttvar) = (rtt, rtt / 2.0);
        } else {
            rttvar = 0.75 * rttvar + 0.25 * (srtt - rtt).abs();
            srtt = 0.875 * srtt + 0.125 * rtt;
        }
        assert!((sender.srtt_ns().unwrap() as f64 - srtt).abs() < 10.0);
        assert!((sender.rto_ns() as f64 - (srtt + 4.0 * rttvar)).abs() < 50.0);
    }
}

#[test]
fn receive_window_is_kept_and_never_shrinks() {
    let mut sender = TcpSender::new(&TcpConfig {
        receive_buffer_bytes: 3000,
        ..config()
    });
    sender.write(u64::MAX);
    assert_eq!(drain(&mut sender, 0).len(), 2);
    // A window of less than a segment is used only when no other data is in flight.
    sender.on_ack(
        &Ack {
            window_bytes: 1600,
            ..ack(MSS)
        },
        MS,
    );
    assert_eq!(drain(&mut sender, MS).len(), 0);
    sender.on_ack(
        &Ack {
            window_bytes: 500,
            ..ack(2 * MSS)
        },
        2 * MS,
    );
    let sent = drain(&mut sender, 2 * MS);
    assert_eq!(
        sent.iter()
            .map(|segment| segment.payload_bytes)
            .collect::<Vec<_>>(),
        [500]
    );
    // An offered window stays valid: the first window of 5000 bytes has room for one more segment.
    let mut sender = TcpSender::new(&TcpConfig {
        receive_buffer_bytes: 5000,
        ..config()
    });
    sender.write(2 * MSS);
    assert_eq!(drain(&mut sender, 0).len(), 2);
    sender.write(u64::MAX);
    sender.on_ack(
        &Ack {
            window_bytes: 10,
            ..ack(MSS)
        },
        MS,
    );
    assert_eq!(drain(&mut sender, MS).len(), 1);
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut sender = TcpSender::new(&config());
    for round in 0..1000 {
        sender.write(5 * MSS);
        for segment in drain(&mut sender, round * MS) {
            sender.on_ack(&ack(segment.end()), (round + 1) * MS);
        }
    }
    assert_eq!(sender.cwnd_bytes(), 10 * MSS);
}

#[test]
fn window_restarts_after_idle_time() {
    for restart_after_idle in [false, true] {
        let config = TcpConfig {
            restart_after_idle,
            ..config()
        };
        let (mut sender, now) = warmed_up(&config, 10 * MS, 100);
        sender.write(u64::MAX);
        let until = now + 5 * SECOND;
        for segment in drain(&mut sender, now) {
            sender.on_ack(&ack(segment.end()), now);
        }
        let grown = sender.cwnd_bytes() / MSS;
        let sent = drain(&mut sender, until).len() as u64;
        assert_eq!(sent, if restart_after_idle { 10 } else { grown });
    }
}

#[test]
fn fixed_gso_packets_reach_their_size() {
    let config = TcpConfig {
        gso_size: GsoSize::Fixed(65_536),
        ..config()
    };
    let mut sender = TcpSender::new(&config);
    sender.write(u64::MAX);
    // Two packets share the first window.
    let sizes = |sent: &[Segment]| {
        sent.iter()
            .map(|s| u64::from(s.payload_bytes) / MSS)
            .collect()
    };
    let first: Vec<u64> = sizes(&drain(&mut sender, 0));
    assert_eq!(first, [10]);
    let (mut sender, now) = warmed_up(&config, 10 * MS, 200);
    sender.write(u64::MAX);
    let sent: Vec<u64> = sizes(&drain(&mut sender, now));
    assert!(sent.iter().all(|&segments| segments == 45), "{sent:?}");
    // Room for two segments becomes free; the sender waits for more.
    let una = sender.acked_bytes();
    for step in 1..=30 {
        sender.on_ack(&ack(una + step * 2 * MSS), now + step);
        for segment in drain(&mut sender, now + step) {
            assert_eq!(u64::from(segment.payload_bytes), 45 * MSS);
        }
    }
    // The remainder of the data does not wait.
    let mut sender = TcpSender::new(&config);
    sender.write(3 * MSS + 5);
    assert_eq!(
        u64::from(sender.next_segment(0).unwrap().payload_bytes),
        3 * MSS + 5
    );
}

#[test]
fn automatic_gso_packets_are_1_ms_of_rate() {
    for (rtt_ms, segments) in [(20, None), (40, None), (320, Some(2)), (1, Some(45))] {
        let config = TcpConfig {
            gso_size: GsoSize::Auto,
            ..config()
        };
        let (mut sender, now) = warmed_up(&config, rtt_ms * MS, 100);
        let rate = sender.cwnd_bytes() * 2 * SECOND / (rtt_ms * MS);
        assert_eq!(sender.pacing_rate_bytes_per_s(), Some(rate));
        let segments = segments.unwrap_or(rate / 1000 / MSS);
        assert!((2..=45).contains(&segments));
        sender.write(u64::MAX);
        let sent = drain(&mut sender, now);
        assert!(!sent.is_empty());
        assert_eq!(u64::from(sent[0].payload_bytes), segments * MSS);
    }
}
