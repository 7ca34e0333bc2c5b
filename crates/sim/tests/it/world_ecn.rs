//! Marks from the discipline to the sender's window (RFC 3168).

use std::sync::{Arc, Mutex};

use crate::world_support::{MS, SECOND, bulk, config, connection, with_discipline};
use taut_path::qdisc::{Backlog, Fifo};
use taut_path::{Ecn, Packet, PacketSink, Qdisc};
use taut_sim::tcp::{GsoSize, TcpConfig};
use taut_sim::world::{App, CLIENT, SERVER, World};

/// Counters of a [`Marker`].
#[derive(Debug, Default)]
struct Log {
    capable: u64,
    not_capable: u64,
    marked: u64,
}

/// Condition of a [`Marker`].
#[derive(Debug, Clone, Copy)]
enum When {
    /// Each packet that leaves within this time.
    Between(u64, u64),
    /// The first packet that leaves from this time on.
    OnceFrom(u64),
    /// Each packet that leaves more than this many bytes in the queue.
    Above(u64),
}

/// A FIFO that marks.
struct Marker {
    fifo: Fifo,
    when: When,
    log: Arc<Mutex<Log>>,
}

impl Qdisc for Marker {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.fifo.enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        let mut packet = self.fifo.dequeue(now_ns, sink)?;
        let mut log = self.log.lock().expect("no test panics holding it");
        if packet.ecn() == Ecn::NotCapable {
            log.not_capable += 1;
            return Some(packet);
        }
        log.capable += 1;
        let marks = match self.when {
            When::Between(from_ns, until_ns) => (from_ns..until_ns).contains(&now_ns),
            When::OnceFrom(from_ns) => now_ns >= from_ns && log.marked == 0,
            When::Above(bytes) => self.fifo.backlog().bytes > bytes,
        };
        if marks {
            log.marked += 1;
            packet.set_ecn(Ecn::Marked);
            sink.marked(&packet);
        }
        Some(packet)
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.fifo.drain(gone);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.fifo.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

/// 100 Mbit/s with this one-way delay: a round trip of 10 ms holds 125,000 bytes.
const RATE: u64 = 100_000_000;
const DELAY_NS: u64 = 5 * MS;

struct EcnRun {
    world: World<()>,
    /// Logs of the hosts.
    logs: [Arc<Mutex<Log>>; 2],
    connection: u32,
}

impl EcnRun {
    fn log<T>(&self, host: usize, of: impl Fn(&Log) -> T) -> T {
        of(&self.logs[host].lock().expect("no test panics holding it"))
    }
}

/// Runs one bulk stream until `until_ns`, with marks at both hosts.
fn run(tcp: TcpConfig, when: When, sender: App, until_ns: u64) -> EcnRun {
    let logs: [Arc<Mutex<Log>>; 2] = Default::default();
    // A small ring, so that packets are queued in the discipline.
    let mut config = config(RATE, DELAY_NS);
    config.nic.slots = 2;
    let marker = |host: usize| {
        let log = Arc::clone(&logs[host]);
        let fifo = Fifo::new(10_000);
        Box::new(Marker { fifo, when, log }) as _
    };
    let mut world = with_discipline(&config, marker, || ());
    let connection = world.connect(&connection(tcp), sender, App::Sink, 0);
    world.run_until(until_ns).expect("no queue goes wrong");
    EcnRun {
        world,
        logs,
        connection,
    }
}

fn ecn() -> TcpConfig {
    TcpConfig {
        ecn: true,
        receive_buffer_bytes: 4 << 20,
        ..TcpConfig::default()
    }
}

#[test]
fn marks_limit_the_window_without_retransmissions() {
    for gso_size in [GsoSize::Off, GsoSize::Fixed(10 * 1_448)] {
        let tcp = TcpConfig { gso_size, ..ecn() };
        // Packets are marked above a quarter of the round trip: as much as CUBIC's decrease.
        let found = run(tcp, When::Above(60_000), bulk(4 << 20), 10 * SECOND);
        let sent = found.world.report(found.connection, CLIENT);
        let marked = found.log(CLIENT, |log| log.marked);
        println!("{gso_size:?}: {marked} marked, {:?}", sent.tcp);
        assert_eq!(found.world.marked_packets(CLIENT), marked);
        assert_eq!(found.world.dropped_packets(CLIENT), 0);
        assert_eq!((sent.tcp.retransmissions, sent.tcp.timeouts), (0, 0));
        assert!(sent.tcp.ecn_reductions > 3, "{:?}", sent.tcp);
        // At most one per round trip, which is at least 10 ms.
        assert!(u64::from(sent.tcp.ecn_reductions) <= 10 * SECOND / (2 * DELAY_NS));
        // Every byte that crossed the wire was delivered.
        let wire_bytes = found.world.wire(CLIENT).time_bytes;
        let frames = found.world.wire(CLIENT).frames;
        let under_way =
            wire_bytes - frames * 66 - found.world.report(found.connection, SERVER).received_bytes;
        assert!(under_way <= RATE / 8 * DELAY_NS / SECOND, "{under_way}");
        // 1448 of 1514 bytes; the first slow start overshoots, and its marks reduce the window.
        let share = (wire_bytes * 8) as f64 / (10 * RATE) as f64;
        assert!(share > 0.93, "{share}");
    }
}

#[test]
fn window_is_reduced_once_per_marked_round_trip() {
    // 64 KiB per round trip leave the link idle for half of the time: no queue changes the 10 ms.
    let sender = bulk(64 << 10);
    let none = run(ecn(), When::Between(0, 0), sender, 3 * SECOND);
    assert_eq!(none.world.report(0, CLIENT).tcp.ecn_reductions, 0);
    for round_trips in [1, 2, 4] {
        let until_ns = SECOND + round_trips * 2 * DELAY_NS;
        let found = run(ecn(), When::Between(SECOND, until_ns), sender, 3 * SECOND);
        let marked = found.log(CLIENT, |log| log.marked);
        assert!(marked > 20 * round_trips, "{marked} packets");
        let reductions = u64::from(found.world.report(0, CLIENT).tcp.ecn_reductions);
        assert!(
            (round_trips..=round_trips + 1).contains(&reductions),
            "{reductions} in {round_trips} round trips"
        );
    }
}

#[test]
fn one_mark_has_one_reaction() {
    let found = run(ecn(), When::OnceFrom(SECOND), bulk(64 << 10), 4 * SECOND);
    assert_eq!(found.log(CLIENT, |log| log.marked), 1);
    let sent = found.world.report(found.connection, CLIENT).tcp;
    assert_eq!((sent.ecn_reductions, sent.retransmissions), (1, 0));
}

#[test]
fn only_ecn_data_can_be_marked() {
    let found = run(ecn(), When::Above(60_000), bulk(4 << 20), SECOND);
    assert_eq!(found.log(CLIENT, |log| log.not_capable), 0);
    assert!(found.log(CLIENT, |log| log.capable) > 1_000);
    // Pure acknowledgements are never capable (RFC 3168, 6.1.4).
    assert_eq!(found.log(SERVER, |log| log.capable), 0);
    assert!(found.log(SERVER, |log| log.not_capable) > 500);

    let without = TcpConfig {
        ecn: false,
        ..ecn()
    };
    let found = run(without, When::Above(0), bulk(4 << 20), SECOND);
    assert_eq!(found.log(CLIENT, |log| log.capable), 0);
    assert_eq!(found.world.marked_packets(CLIENT), 0);
}
