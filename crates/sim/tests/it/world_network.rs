//! Several hosts at a row of switches.

use taut_measure::meter::{Meter, Since};
use taut_path::{AnyLimit, qdisc};
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::{Congestion, TcpConfig};
use taut_sim::world::network::{Network, NetworkConfig, NetworkError, Side, Trunk};
use taut_sim::world::{App, CLIENT, ConnectionConfig, HostCost, SERVER, WorldConfig};

const MS: u64 = 1_000_000;
const TRUNK_BITS_PER_S: u64 = 100_000_000;
/// A full segment and its headers.
const FRAME_BYTES: u64 = 1_514;
const THERE: Trunk = Trunk {
    from: 0,
    to: Side::Right,
};

type Measured = Network<Meter<Since>>;

fn nic(rate_bits_per_s: u64) -> NicConfig {
    NicConfig {
        rate_bits_per_s,
        framing: Framing::BARE,
        slots: 256,
        rule: DescriptorRule::OnePerPacket,
        interrupt: InterruptRule::every(0),
        finished_at: FinishedAt::End,
        segments_apart: true,
        seed: 1,
    }
}

fn row(switches: usize, discipline: &str, limit: &str) -> Measured {
    let config = NetworkConfig {
        host: WorldConfig {
            nic: nic(1_000_000_000),
            restart_slots: None,
            delay_ns: 0,
            cost: HostCost::default(),
            record_from_ns: 0,
        },
        trunk: nic(TRUNK_BITS_PER_S),
        trunk_delay_ns: MS,
    };
    let parts = |_| {
        let discipline = qdisc::by_name(discipline).expect("a discipline");
        let limit: AnyLimit = limit.parse().expect("a limit");
        (discipline, limit, Meter::new(Since(0), 0, 1))
    };
    Network::new(&config, switches, parts).expect("a row of switches")
}

fn host(network: &mut Measured, at: usize, delay_ns: u64) -> usize {
    let discipline = qdisc::by_name("pfifo limit 10000").expect("a discipline");
    let parts = (discipline, AnyLimit::dql());
    network.add_host(at, delay_ns, parts).expect("a host")
}

fn tcp(tcp: TcpConfig) -> ConnectionConfig {
    ConnectionConfig {
        tcp: TcpConfig {
            receive_buffer_bytes: 4 << 20,
            ..tcp
        },
        header_bytes: 66,
        priority: 0,
    }
}

/// A pair of hosts at the ends of the row, and a bulk stream between them.
fn stream(network: &mut Measured, [from, to]: [usize; 2], delay_ns: u64, config: TcpConfig) -> u32 {
    let hosts = [host(network, from, delay_ns), host(network, to, delay_ns)];
    let bulk = App::Bulk {
        write_bytes: 65_536,
        buffer_bytes: 4 << 20,
    };
    let connected = network.connect(&tcp(config), hosts, [bulk, App::Sink], 0);
    connected.expect("two hosts")
}

fn received(network: &Measured, stream: u32) -> u64 {
    let report = network.report(stream, SERVER).expect("a connection");
    report.received_bytes
}

#[test]
fn streams_of_several_hosts_fill_the_trunk_and_what_comes_out_went_in() {
    let mut network = row(2, "pfifo limit 100", "dql");
    let streams: Vec<u32> = (0..8)
        .map(|_| stream(&mut network, [0, 1], MS, TcpConfig::default()))
        .collect();
    network.run_until(2_000 * MS).expect("runs");
    let before: u64 = streams.iter().map(|&it| received(&network, it)).sum();
    network.run_until(6_000 * MS).expect("runs");
    let after: u64 = streams.iter().map(|&it| received(&network, it)).sum();
    let payload_bits_per_s = (after - before) * 8 / 4;
    let most = TRUNK_BITS_PER_S * 1_448 / FRAME_BYTES;
    // What came out of order before is read in this time.
    let (least, most) = (most * 99 / 100, most * 1_005 / 1_000);
    assert!(
        (least..most).contains(&payload_bits_per_s),
        "{payload_bits_per_s}"
    );
    let trunk = network.trunk(THERE).expect("a trunk");
    assert!(trunk.dropped_packets > 0, "the discipline is short");
    // Each stream had its share, and what TCP sent again was dropped, or taken for it.
    let sent_again: u64 = streams
        .iter()
        .map(|&it| network.report(it, CLIENT).expect("a connection"))
        .map(|report| report.tcp.retransmissions)
        .sum();
    assert!(sent_again >= trunk.dropped_packets * 9 / 10);
    assert!(streams.iter().all(|&it| received(&network, it) > 1 << 20));
    assert_eq!(network.dropped_at_hosts(), 0);
}

#[test]
fn however_the_time_is_cut_the_same_happens() {
    let run = |step_ns: u64| {
        let mut network = row(3, "fq_codel", "taut");
        for from in 0..2 {
            stream(&mut network, [from, 2], 3 * MS, TcpConfig::default());
            stream(&mut network, [2, from], MS / 2, TcpConfig::default());
        }
        let mut now_ns = 0;
        while now_ns < 1_500 * MS {
            now_ns = (now_ns + step_ns).min(1_500 * MS);
            network.run_until(now_ns).expect("runs");
        }
        let reports: Vec<_> = (0..4)
            .flat_map(|it| [network.report(it, CLIENT), network.report(it, SERVER)])
            .collect();
        (reports, network.trunk(THERE), network.events())
    };
    let whole = run(u64::MAX / 2);
    assert_eq!(run(7_777_777), whole);
    assert_eq!(run(MS), whole);
}

#[test]
fn fair_queueing_at_the_trunk_shares_it_between_streams_of_any_delay() {
    let shares = |discipline: &str| {
        let mut network = row(2, discipline, "dql");
        let reno = TcpConfig {
            congestion: Congestion::Reno,
            ..TcpConfig::default()
        };
        let near = stream(&mut network, [0, 1], MS, reno);
        let far = stream(&mut network, [0, 1], 5 * MS, reno);
        network.run_until(20_000 * MS).expect("runs");
        received(&network, near) as f64 / received(&network, far) as f64
    };
    let (first_come, fair) = (shares("pfifo limit 30"), shares("fq_codel"));
    assert!(first_come > 3.0, "the near one has more: {first_come}");
    // A window that is cut by half does not fill its share all the time, least of all the far one's.
    assert!((0.9..1.5).contains(&fair), "{fair}");
}

#[test]
fn a_switch_marks_what_can_be_marked_and_nothing_is_lost() {
    let mut network = row(2, "codel limit 10000 ecn", "dql");
    let ecn = TcpConfig {
        ecn: true,
        ..TcpConfig::default()
    };
    let streams = [(); 4].map(|()| stream(&mut network, [0, 1], 5 * MS, ecn));
    network.run_until(5_000 * MS).expect("runs");
    let trunk = network.trunk(THERE).expect("a trunk");
    assert!(trunk.marked_packets > 10, "{trunk:?}");
    assert_eq!(trunk.dropped_packets, 0);
    for it in streams {
        let report = network.report(it, CLIENT).expect("a connection");
        assert_eq!(report.tcp.retransmissions, 0);
    }
    // Acknowledgements alone are not to be marked.
    let back = Trunk {
        from: 1,
        to: Side::Left,
    };
    assert_eq!(network.trunk(back).expect("a trunk").marked_packets, 0);
}

#[test]
fn along_a_chain_a_long_stream_meets_another_at_each_trunk() {
    let mut network = row(4, "fq_codel", "dql");
    let long = stream(&mut network, [0, 3], MS, TcpConfig::default());
    let short: Vec<u32> = (0..3)
        .map(|at| stream(&mut network, [at, at + 1], MS, TcpConfig::default()))
        .collect();
    network.run_until(10_000 * MS).expect("runs");
    let half = TRUNK_BITS_PER_S / 8 * 10 / 2;
    for it in short.into_iter().chain([long]) {
        let share = received(&network, it) as f64 / half as f64;
        assert!((0.85..1.05).contains(&share), "{it}: {share}");
    }
}

#[test]
fn a_limit_at_the_trunk_holds_what_is_in_its_ring() {
    let in_flight = |limit: &str| {
        let mut network = row(2, "pfifo limit 1000", limit);
        for _ in 0..4 {
            stream(&mut network, [0, 1], MS, TcpConfig::default());
        }
        network.run_until(3_000 * MS).expect("runs");
        let probe = network.probe(THERE).expect("a trunk");
        probe.in_flight_bytes().p50
    };
    let full = in_flight("off");
    assert!(full > 100 * FRAME_BYTES, "the ring is long: {full}");
    assert!(in_flight("dql") <= 4 * FRAME_BYTES);
}

#[test]
fn a_request_crosses_the_row_and_comes_back_in_its_delays_and_times_on_the_wire() {
    let mut network = row(3, "pfifo limit 10", "off");
    let hosts = [host(&mut network, 0, 2 * MS), host(&mut network, 2, 3 * MS)];
    let client = App::Client {
        request_bytes: 34,
        response_bytes: 34,
        think_ns: 0,
    };
    let server = App::Server {
        request_bytes: 34,
        response_bytes: 34,
        think_ns: 0,
    };
    let config = tcp(TcpConfig::default());
    let connected = network.connect(&config, hosts, [client, server], 0);
    connected.expect("two hosts");
    network.run_until(1_000 * MS).expect("runs");
    // 100 bytes each way: 0.8 us at the host, 8 us at each of two trunks; delays of 7 ms each way.
    let one_way_ns = (2 + 1 + 1 + 3) * MS + 800 + 2 * 8_000;
    let latency_ns = network.transactions().latency_ns();
    let found = latency_ns.value_at_quantile(0.5);
    assert!(latency_ns.equivalent(found, 2 * one_way_ns), "{found}");
    assert_eq!(latency_ns.len(), 1_000 * MS / (2 * one_way_ns));
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let config = tcp(TcpConfig::default());
    let apps = [App::Sink, App::Sink];
    let mut network = row(2, "pfifo limit 10", "off");
    let refused = |error: NetworkError, says: &str| assert_eq!(error.to_string(), says);
    let error = network.connect(&config, [0, 1], apps, 0).unwrap_err();
    refused(error, "there is no host 0, nor any other");
    let first = host(&mut network, 0, MS);
    let error = network.connect(&config, [first, 7], apps, 0).unwrap_err();
    refused(error, "there is no host 7, only 0 to 0");
    let error = network
        .connect(&config, [first, first], apps, 0)
        .unwrap_err();
    refused(
        error,
        "both ends of a connection would be at host 0; they must be at two",
    );
    let parts = || {
        (
            qdisc::by_name("pfifo limit 10").expect("one"),
            AnyLimit::off(),
        )
    };
    let error = network.add_host(2, MS, parts()).unwrap_err();
    refused(error, "there is no switch 2, only 0 to 1");
    for _ in 1..256 {
        host(&mut network, 1, MS);
    }
    let error = network.add_host(0, MS, parts()).unwrap_err();
    refused(error, "a network has at most 256 hosts");
    let no_left = Trunk {
        from: 0,
        to: Side::Left,
    };
    assert_eq!(network.trunk(no_left), None);
    assert!(network.report(0, CLIENT).is_none());
}

#[test]
fn two_connections_of_a_host_are_two() {
    let mut network = row(2, "fq_codel", "dql");
    let first = stream(&mut network, [0, 1], MS, TcpConfig::default());
    let bulk = App::Bulk {
        write_bytes: 65_536,
        buffer_bytes: 4 << 20,
    };
    let config = tcp(TcpConfig::default());
    let second = network.connect(&config, [0, 1], [bulk, App::Sink], 0);
    let second = second.expect("the same two hosts");
    network.run_until(3_000 * MS).expect("runs");
    let (first, second) = (received(&network, first), received(&network, second));
    assert!(
        first.min(second) * 3 > first.max(second),
        "{first}, {second}"
    );
}

#[test]
fn a_higher_band_of_the_trunk_overtakes_what_waits() {
    let latency_ns = |priority: u8| {
        let mut network = row(2, "pfifo_fast", "dql");
        stream(&mut network, [0, 1], MS, TcpConfig::default());
        let request = ConnectionConfig {
            priority,
            ..tcp(TcpConfig::default())
        };
        let hosts = [host(&mut network, 0, MS), host(&mut network, 1, MS)];
        let (request_bytes, response_bytes, think_ns) = (34, 34, 0);
        let client = App::Client {
            request_bytes,
            response_bytes,
            think_ns,
        };
        let server = App::Server {
            request_bytes,
            response_bytes,
            think_ns,
        };
        let connected = network.connect(&request, hosts, [client, server], 0);
        connected.expect("two hosts");
        network.run_until(3_000 * MS).expect("runs");
        network.transactions().latency_ns().value_at_quantile(0.5)
    };
    let (behind, before) = (latency_ns(0), latency_ns(6));
    assert!(before * 3 < behind, "{before} ns, {behind} ns");
}

#[test]
fn what_a_host_has_no_room_for_is_counted_there() {
    let mut network = row(2, "pfifo limit 10000", "off");
    let discipline = qdisc::by_name("pfifo limit 2").expect("a discipline");
    let short = network.add_host(0, MS, (discipline, AnyLimit::dql()));
    let hosts = [short.expect("a host"), host(&mut network, 1, MS)];
    let bulk = App::Bulk {
        write_bytes: 65_536,
        buffer_bytes: 4 << 20,
    };
    let config = tcp(TcpConfig::default());
    let connected = network.connect(&config, hosts, [bulk, App::Sink], 0);
    let connected = connected.expect("two hosts");
    network.run_until(2_000 * MS).expect("runs");
    let report = network.report(connected, CLIENT).expect("a connection");
    let dropped = network.dropped_at_hosts();
    assert!(dropped > 0);
    assert!(report.tcp.retransmissions >= dropped * 9 / 10, "{dropped}");
    assert_eq!(network.trunk(THERE).expect("a trunk").dropped_packets, 0);
}

#[test]
fn a_frame_takes_memory_at_the_trunk() {
    let dropped = |memory: &str| {
        // CoDel is kept from dropping before the memory is full.
        let discipline = format!("fq_codel target 1s interval 4s memory_limit {memory}");
        let mut network = row(2, &discipline, "dql");
        stream(&mut network, [0, 1], MS, TcpConfig::default());
        network.run_until(2_000 * MS).expect("runs");
        network.trunk(THERE).expect("a trunk").dropped_packets
    };
    assert!(dropped("128k") > 0);
    assert_eq!(dropped("64m"), 0);
}
