//! Compares long runs with closed forms.

use crate::tcp_support::{Fate, Link, MS, Network, SECOND};
use taut_sim::tcp::TcpConfig;

/// One full packet per 1 ms.
const RATE: u64 = 12_000_000;

fn config() -> TcpConfig {
    TcpConfig {
        receive_buffer_bytes: 1 << 30,
        ..TcpConfig::default()
    }
}

fn link(round_trip_ms: u64, buffer_packets: usize) -> Link {
    Link {
        rate_bits_per_s: RATE,
        round_trip_ns: round_trip_ms * MS,
        buffer_packets,
        mark_above: None,
        jitter_ns: 0,
    }
}

struct Sawtooth {
    highest: f64,
    lowest: f64,
    utilisation: f64,
}

/// Runs one bulk flow for `seconds`, without the first `skip` in the results.
fn sawtooth(link: Link, skip: u64, seconds: u64) -> Sawtooth {
    let mut network = Network::new(link, &[config()]);
    network.write(0, u64::MAX);
    network.run_until(skip * SECOND);
    let (sent_before, timeouts_before) =
        (network.sent_bytes, network.flows[0].sender.stats().timeouts);
    let (mut highest, mut lowest) = (vec![], vec![]);
    let mut last = 0.0;
    for step in skip * 1000..seconds * 1000 {
        network.run_until(step * MS);
        let cwnd = network.flows[0].sender.cwnd_bytes() as f64 / 1448.0;
        if cwnd < last * 0.95 {
            highest.push(last);
            lowest.push(cwnd);
        }
        last = cwnd;
    }
    println!(
        "{:?}, {} timeouts before",
        network.flows[0].sender.stats(),
        timeouts_before
    );
    assert_eq!(network.flows[0].sender.stats().timeouts, timeouts_before);
    let cycles = highest.len() - 1;
    assert!(cycles >= 3, "{cycles} cycles are too few to judge");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let sent = (network.sent_bytes - sent_before) as f64;
    Sawtooth {
        highest: mean(&highest),
        lowest: mean(&lowest),
        utilisation: sent * 8.0 / RATE as f64 / (seconds - skip) as f64,
    }
}

fn near(what: &str, is: f64, expected: f64, tolerance: f64) {
    println!(
        "{what}: {is:.4}, expected {expected:.4} ({:+.2} %)",
        (is / expected - 1.0) * 100.0
    );
    assert!(
        (is / expected - 1.0).abs() <= tolerance,
        "{what}: {is} instead of {expected}"
    );
}

#[test]
fn cubic_uses_the_link() {
    for (buffer, smallest) in [(100, 0.99), (50, 0.98), (10, 0.85)] {
        let saw = sawtooth(link(99, buffer), 60, 300);
        println!("cubic, buffer {buffer}: {:.4}", saw.utilisation);
        assert!(saw.utilisation > smallest, "{}", saw.utilisation);
        near(
            "lowest of highest window",
            saw.lowest / saw.highest,
            0.7,
            0.02,
        );
    }
}

/// A path that is never full. One packet is lost when the window reaches `most`. From then on, the
/// window at each time is compared with `expected(seconds since, packets)`.
fn after_one_loss(
    round_trip_ms: u64,
    max: u64,
    seconds: u64,
    tolerance: f64,
    expected: impl Fn(f64, f64) -> f64,
) {
    let link = Link {
        rate_bits_per_s: 1_000_000_000_000,
        ..link(round_trip_ms, 1 << 20)
    };
    let mut network = Network::new(link, &[config()]);
    network.data_fate = Box::new(move |_, packet| match packet.number == 2 * max {
        true => Fate::Drop,
        false => Fate::Deliver,
    });
    network.write(0, u64::MAX);
    while network.flows[0].sender.stats().recoveries == 0 {
        let next = network.now_ns + MS / 10;
        let cwnd = network.flows[0].sender.cwnd_bytes();
        network.run_until(next);
        if network.flows[0].sender.stats().recoveries > 0 {
            println!("the plateau: {:.1}", cwnd as f64 / 1448.0);
        }
    }
    let ssthresh = network.flows[0].sender.ssthresh_bytes() as f64 / 1448.0;
    while network.flows[0].sender.in_recovery() {
        let next = network.now_ns + MS / 10;
        network.run_until(next);
    }
    let epoch = network.now_ns;
    let mut worst: f64 = 0.0;
    for step in 1..seconds * 20 {
        let at = epoch + step * 50 * MS;
        network.run_until(at);
        let cwnd = network.flows[0].sender.cwnd_bytes() as f64 / 1448.0;
        let want = expected((at - epoch) as f64 / SECOND as f64, ssthresh);
        worst = worst.max((cwnd / want - 1.0).abs());
        if step % (seconds * 2) == 0 {
            println!(
                "{:5.2} s: {cwnd:9.2}, expected {want:9.2}",
                step as f64 / 20.0
            );
        }
    }
    println!("worst {:.3} %", worst * 100.0);
    assert!(worst <= tolerance, "off by {worst}");
    assert_eq!(network.flows[0].sender.stats().recoveries, 1);
}

#[test]
fn cubic_grows_as_its_formula() {
    // W(t) = 0.4 (t - K)^3 + W_max with K = cbrt((W_max - cwnd) / 0.4), and cwnd = 0.7 W_max.
    after_one_loss(100, 1000, 20, 0.02, |t, ssthresh| {
        let w_max = ssthresh / 0.7;
        let k = ((w_max - ssthresh) / 0.4).cbrt();
        0.4 * (t - k).powi(3) + w_max
    });
}

#[test]
fn cubic_grows_as_reno_would_on_a_short_path() {
    // 9/17 of a segment in each round trip until the old window, then a whole one; at 10 ms the
    // cubic function exceeds it only after sqrt(100 / 0.4) = 15 s.
    after_one_loss(10, 40, 8, 0.03, |t, ssthresh| {
        let (w_max, rounds) = (ssthresh / 0.7, t / 0.010);
        let to_w_max = (w_max - ssthresh) * 17.0 / 9.0;
        if rounds < to_w_max {
            ssthresh + rounds * 9.0 / 17.0
        } else {
            w_max + rounds - to_w_max
        }
    });
}

/// Returns the bytes of the window after a first loss, an unused time, and a second loss before the
/// plateau of the first is reached, and the thresholds of both.
#[test]
fn cubic_leaves_room_after_a_second_loss() {
    let config = TcpConfig {
        restart_after_idle: false,
        ..config()
    };
    let link = Link {
        rate_bits_per_s: 1_000_000_000_000,
        ..link(100, 1 << 20)
    };
    let mut network = Network::new(link, &[config]);
    let lost = std::rc::Rc::new(std::cell::Cell::new(2000));
    let drop_at = std::rc::Rc::clone(&lost);
    network.data_fate = Box::new(move |_, packet| {
        if packet.number >= drop_at.get() && !packet.retransmission {
            drop_at.set(u64::MAX);
            return Fate::Drop;
        }
        Fate::Deliver
    });
    let window = |network: &Network| network.flows[0].sender.cwnd_bytes() as f64 / 1448.0;
    let recover = |network: &mut Network, number: u32| {
        while network.flows[0].sender.stats().recoveries < number
            || network.flows[0].sender.in_recovery()
        {
            network.run_until(network.now_ns + MS / 10);
        }
    };
    let curve = |t: f64, w_max: f64, ssthresh: f64| {
        0.4 * (t - ((w_max - ssthresh) / 0.4).cbrt()).powi(3) + w_max
    };
    // Enough data for an epoch of a few seconds, then none.
    network.write(0, 60_000 * 1448);
    recover(&mut network, 1);
    let ssthresh = network.flows[0].sender.ssthresh_bytes() as f64 / 1448.0;
    let epoch = network.now_ns;
    while network.flows[0].sender.unacked_bytes() > 0 {
        network.run_until(network.now_ns + MS);
    }
    let used_s = (network.now_ns - epoch) as f64 / SECOND as f64;
    let reached = window(&network);
    near(
        "window at the end of the data",
        reached,
        curve(used_s, ssthresh / 0.7, ssthresh),
        0.03,
    );
    network.run_until(network.now_ns + 30 * SECOND);
    network.write(0, u64::MAX / 2);
    network.run_until(network.now_ns + SECOND);
    near(
        "a second later",
        window(&network),
        curve(used_s + 1.0, ssthresh / 0.7, ssthresh),
        0.03,
    );
    // The second loss, below the first plateau.
    lost.set(0);
    let before = window(&network);
    assert!(before < ssthresh / 0.7);
    recover(&mut network, 2);
    let (ssthresh, epoch) = (
        network.flows[0].sender.ssthresh_bytes() as f64 / 1448.0,
        network.now_ns,
    );
    for seconds in 1..12 {
        network.run_until(epoch + seconds * SECOND);
        let expected = curve(seconds as f64, ssthresh / 0.7 * 0.85, ssthresh);
        near("after the second loss", window(&network), expected, 0.03);
    }
}

fn shares(flows: usize, seconds: u64) -> Vec<f64> {
    let configs = vec![config(); flows];
    let link = Link {
        jitter_ns: 2 * MS,
        ..link(60, 60)
    };
    let mut network = Network::new(link, &configs);
    for flow in 0..flows {
        network.run_until(flow as u64 * 100 * MS);
        network.write(flow, u64::MAX);
    }
    network.run_until(60 * SECOND);
    let acked = |network: &Network| -> Vec<u64> {
        network
            .flows
            .iter()
            .map(|flow| flow.sender.acked_bytes())
            .collect()
    };
    let before = acked(&network);
    network.run_until((60 + seconds) * SECOND);
    let bits = |(now, before): (&u64, &u64)| (now - before) as f64 * 8.0;
    let fair = RATE as f64 * 1448.0 / 1500.0 * seconds as f64 / flows as f64;
    acked(&network)
        .iter()
        .zip(&before)
        .map(bits)
        .map(|bits| bits / fair)
        .collect()
}

#[test]
fn equal_flows_get_equal_shares() {
    for flows in [2, 8] {
        let shares = shares(flows, 3000);
        let (sum, squares): (f64, f64) = (
            shares.iter().sum(),
            shares.iter().map(|share| share * share).sum(),
        );
        let jain = sum * sum / squares / flows as f64;
        let smallest = shares.iter().copied().fold(f64::MAX, f64::min);
        let max = shares.iter().copied().fold(0.0, f64::max);
        println!(
            "{flows}: {smallest:.3} to {max:.3}, Jain {jain:.5}, utilisation {:.4}",
            sum / flows as f64
        );
        let mean = sum / flows as f64;
        assert!(smallest > 0.95 * mean && max < 1.05 * mean, "{shares:?}");
        assert!(mean > 0.97, "{mean}");
    }
}

#[test]
fn receive_window_limits_to_one_per_round_trip() {
    for window in [14_480_u32, 65_536, 131_072] {
        let config = TcpConfig {
            receive_buffer_bytes: window,
            ..TcpConfig::default()
        };
        let link = Link {
            rate_bits_per_s: 10_000_000_000,
            ..link(100, 1000)
        };
        let mut network = Network::new(link, &[config]);
        network.write(0, u64::MAX);
        network.run_until(5 * SECOND);
        let before = network.flows[0].sender.acked_bytes();
        network.run_until(25 * SECOND);
        let acked = (network.flows[0].sender.acked_bytes() - before) as f64;
        // Whole segments only: the remainder of the window stays unused.
        let whole = (window / 1448 * 1448) as f64;
        near("bytes in 20 s", acked, whole * 200.0, 0.01);
    }
}
