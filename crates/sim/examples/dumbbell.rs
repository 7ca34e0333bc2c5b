//! The speed of many hosts: a dumbbell of 64, stated in full so that any simulator can run the same.
//!
//! `cargo run --release -p taut-sim --example dumbbell [-- HOSTS]`, HOSTS an even number from 4 to 64.
//!
//! Two switches, 1 Gbit/s and 50 us one way between them, each end with `fq_codel` and the dynamic limit.
//! Hosts are 10 Gbit/s and 25 us away from their switch. One pair asks for a byte and answers with one; of
//! the others each has 4 bulk streams, of segments of 1448 bytes and 54 bytes of headers. 10 s.

use std::process::ExitCode;
use std::time::Instant;

use taut_path::qdisc::{Fifo, by_name};
use taut_path::{AnyLimit, Qdisc};
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::TcpConfig;
use taut_sim::world::network::{Network, NetworkConfig, NetworkError, Side, Trunk, TrunkReport};
use taut_sim::world::{App, ConnectionConfig, HostCost, SERVER, WorldConfig};

const END_NS: u64 = 10_000_000_000;
const STREAMS: u32 = 4;
const HOST_DELAY_NS: u64 = 25_000;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let hosts = argument.as_deref().unwrap_or("64").parse();
    let Some(hosts) = hosts.ok().filter(|it| (4..=64).contains(it) && it % 2 == 0) else {
        eprintln!("usage: dumbbell [HOSTS], HOSTS an even number from 4 to 64");
        return ExitCode::from(2);
    };
    match run(hosts) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dumbbell: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(hosts: u32) -> Result<(), NetworkError> {
    let mut network = Network::new(&config(), 2, |_| {
        let discipline = by_name("fq_codel").expect("there is one");
        (discipline, AnyLimit::dql(), ())
    })?;
    let mut streams = Vec::new();
    for pair in 0..hosts / 2 {
        let both = [host(&mut network, 0)?, host(&mut network, 1)?];
        if pair == 0 {
            let apps = [
                App::Client {
                    request_bytes: 1,
                    response_bytes: 1,
                    think_ns: 0,
                },
                App::Server {
                    request_bytes: 1,
                    response_bytes: 1,
                    think_ns: 0,
                },
            ];
            network.connect(&connection(), both, apps, 500_000_000)?;
            continue;
        }
        let bulk = App::Bulk {
            write_bytes: 65_536,
            buffer_bytes: 131_072,
        };
        for stream in 0..STREAMS {
            let start_ns = 1_000_000 * u64::from(pair * STREAMS + stream);
            streams.push(network.connect(&connection(), both, [bulk, App::Sink], start_ns)?);
        }
    }
    let started = Instant::now();
    network.run_until(END_NS)?;
    let seconds = started.elapsed().as_secs_f64();
    let there = network.trunk(Trunk {
        from: 0,
        to: Side::Right,
    });
    let back = network.trunk(Trunk {
        from: 1,
        to: Side::Left,
    });
    let frames = |trunk: Option<TrunkReport>| trunk.map_or(0, |it| it.wire.frames);
    let received = |&stream| network.report(stream, SERVER).map(|it| it.received_bytes);
    let received: u64 = streams.iter().filter_map(received).sum();
    let packets = frames(there) + frames(back);
    println!(
        "{:>5} {:>9} {:>9} {:>6} {:>7} {:>8} {:>10} {:>8} {:>10}",
        "hosts", "there", "back", "drops", "Mbit/s", "trans/s", "events", "wall ms", "packets/s"
    );
    println!(
        "{hosts:>5} {:>9} {:>9} {:>6} {:>7.1} {:>8} {:>10} {:>8.0} {:>10.0}",
        frames(there),
        frames(back),
        there.map_or(0, |it| it.dropped_packets),
        received as f64 * 8e3 / END_NS as f64,
        network.transactions().latency_ns().len() * 1_000_000_000 / END_NS,
        network.events(),
        seconds * 1e3,
        packets as f64 / seconds,
    );
    Ok(())
}

fn host(network: &mut Network<()>, at: usize) -> Result<usize, NetworkError> {
    let own: Box<dyn Qdisc + Send> = Box::new(Fifo::new(10_000));
    network.add_host(at, HOST_DELAY_NS, (own, AnyLimit::dql()))
}

fn connection() -> ConnectionConfig {
    ConnectionConfig {
        tcp: TcpConfig::default(),
        header_bytes: 54,
        priority: 0,
    }
}

fn config() -> NetworkConfig {
    NetworkConfig {
        host: WorldConfig {
            nic: nic(10_000_000_000),
            restart_slots: None,
            delay_ns: 0,
            cost: HostCost::default(),
            record_from_ns: 0,
        },
        trunk: nic(1_000_000_000),
        trunk_delay_ns: 50_000,
    }
}

fn nic(rate_bits_per_s: u64) -> NicConfig {
    NicConfig {
        rate_bits_per_s,
        framing: Framing::BARE,
        slots: 1_024,
        rule: DescriptorRule::OnePerPacket,
        interrupt: InterruptRule::every(0),
        finished_at: FinishedAt::End,
        segments_apart: true,
        seed: 1,
    }
}
