//! What work costs on a host's one core, and what waits for it.

use crate::world_support::{MS, SECOND, bulk, config, connection, plain};
use taut_path::qdisc::{Backlog, Fifo};
use taut_path::{AnyLimit, Event, Packet, PacketSink, Probe, Qdisc};
use taut_sim::error::TestbedError;
use taut_sim::nic::InterruptRule;
use taut_sim::queue::{Fault, QueueFault};
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, CLIENT, HostCost, SERVER, World, WorldConfig};

const US: u64 = 1_000;
const DELAY_NS: u64 = 10 * US;

fn with_cost(rate_bits_per_s: u64, cost: HostCost) -> WorldConfig {
    WorldConfig {
        cost,
        ..config(rate_bits_per_s, DELAY_NS)
    }
}

/// When packets went to the NIC, and when how many came back.
#[derive(Debug, Default)]
struct Times {
    sent_ns: Vec<u64>,
    reaped: Vec<(u64, u32)>,
}

impl Probe for Times {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Sent(_) => self.sent_ns.push(now_ns),
            Event::Completed(done) => self.reaped.push((now_ns, done.packets)),
            _ => {}
        }
    }
}

/// One request of `request_bytes` and its response of one byte; then nothing for a long time.
fn once(world: &mut World<Times>, request_bytes: u32) {
    let client = App::Client {
        request_bytes,
        response_bytes: 1,
        think_ns: 1_000 * SECOND,
    };
    let server = App::Server {
        request_bytes,
        response_bytes: 1,
        think_ns: 0,
    };
    world.connect(&connection(TcpConfig::default()), client, server, 0);
    world.run_until(20 * SECOND).expect("no queue goes wrong");
    assert_eq!(world.report(0, CLIENT).transactions, 1);
}

/// Packets of a bulk stream at 10 Gbit/s in a second, and how busy the two cores were.
fn bulk_packets(cost: HostCost) -> (u64, [u64; 2]) {
    let mut world = plain(&with_cost(10_000_000_000, cost), || ());
    let tcp = TcpConfig {
        receive_buffer_bytes: 4 << 20,
        ..TcpConfig::default()
    };
    world.connect(&connection(tcp), bulk(4 << 20), App::Sink, 0);
    world.run_until(SECOND).expect("no queue goes wrong");
    let busy_ns = [CLIENT, SERVER].map(|host| world.core_busy_ns(host));
    (world.wire(CLIENT).packets, busy_ns)
}

#[test]
fn a_core_that_needs_so_long_for_a_packet_sends_so_many_and_no_more() {
    // The link would take 826,000.
    for packet_ns in [2 * US, 5 * US, 20 * US] {
        let cost = HostCost {
            packet_ns,
            ..HostCost::default()
        };
        let (packets, [busy_ns, _]) = bulk_packets(cost);
        let most = SECOND / packet_ns;
        assert!(packets <= most, "{packets} of {most}");
        assert!(packets * 100 >= most * 98, "{packets} of {most}");
        assert!(busy_ns <= SECOND + packet_ns, "{busy_ns} ns in a second");
    }
}

#[test]
fn a_core_that_needs_so_long_for_a_segment_receives_so_many_and_no_more() {
    let cost = HostCost {
        segment_ns: 4 * US,
        ..HostCost::default()
    };
    let (packets, [_, busy_ns]) = bulk_packets(cost);
    let most = SECOND / (4 * US);
    // What was sent and not received is a window at most.
    assert!(packets <= most + (4 << 20) / 1_448, "{packets} of {most}");
    assert!(packets * 100 >= most * 98, "{packets} of {most}");
    assert!(busy_ns <= SECOND + 4 * US, "{busy_ns} ns in a second");
}

#[test]
fn each_thing_is_paid_for_once() {
    let cost = HostCost {
        interrupt_ns: 7_001,
        reap_ns: 311,
        packet_ns: 1_009,
        segment_ns: 503,
        reaction_ns: 20 * US,
    };
    let mut config = with_cost(1_000_000_000, cost);
    // Several packets for each interrupt.
    config.nic.interrupt = InterruptRule::every(100 * US);
    let mut world = plain(&config, Times::default);
    once(&mut world, 1_000_000);
    assert!(world.wire(CLIENT).packets > 4 * world.wire(CLIENT).interrupts);
    for host in [CLIENT, SERVER] {
        let (mine, other) = (world.wire(host), world.wire(1 - host));
        let reaped: u32 = world.probe(host).reaped.iter().map(|&(_, n)| n).sum();
        assert_eq!(u64::from(reaped), mine.packets, "all came back");
        let paid_ns = mine.interrupts * cost.interrupt_ns
            + mine.packets * (cost.packet_ns + cost.reap_ns)
            + other.frames * cost.segment_ns;
        assert_eq!(world.core_busy_ns(host), paid_ns);
    }
}

#[test]
fn an_interrupt_waits_for_the_packets_that_the_core_is_making() {
    let cost = HostCost {
        packet_ns: MS,
        interrupt_ns: 10 * US,
        ..HostCost::default()
    };
    let mut world = plain(&with_cost(1_000_000_000, cost), Times::default);
    once(&mut world, 3 * 1_448);
    let seen = world.probe(CLIENT);
    assert_eq!(seen.sent_ns[..3], [MS, 2 * MS, 3 * MS]);
    // The first two were sent long before the core was through with the third. That one is finished
    // 12,112 ns later, before the second interrupt is served.
    assert_eq!(
        seen.reaped[..2],
        [(3 * MS + 10 * US, 2), (3 * MS + 20 * US, 1)]
    );
}

#[test]
fn a_queue_starts_again_when_what_was_reaped_is_dealt_with() {
    let cost = HostCost {
        reap_ns: 100 * US,
        ..HostCost::default()
    };
    let mut config = with_cost(1_000_000_000, cost);
    config.nic.slots = 2;
    config.restart_slots = Some(1);
    let mut world = plain(&config, Times::default);
    once(&mut world, 3 * 1_448);
    // A full packet takes 12,112 ns.
    assert_eq!(world.probe(CLIENT).sent_ns[..3], [0, 0, 12_112 + 100 * US]);
}

#[test]
fn both_applications_react_later_once_in_each_transaction() {
    for reaction_ns in [0, 1, 30 * US, 2 * MS] {
        let cost = HostCost {
            reaction_ns,
            ..HostCost::default()
        };
        let config = with_cost(1_000_000_000, cost);
        let parts = |_| (Box::new(Fifo::new(100)) as _, AnyLimit::off(), ());
        let mut world = World::new(&config, parts).expect("the settings are valid");
        let (request_bytes, response_bytes, think_ns) = (1, 1, 0);
        world.connect(
            &connection(TcpConfig::default()),
            App::Client {
                request_bytes,
                response_bytes,
                think_ns,
            },
            App::Server {
                request_bytes,
                response_bytes,
                think_ns,
            },
            0,
        );
        world.run_until(SECOND).expect("no queue goes wrong");
        // 67 bytes each way.
        let transaction_ns = 2 * (67 * 8 + DELAY_NS + reaction_ns);
        let latency_ns = world.transactions().latency_ns();
        assert_eq!(latency_ns.len(), SECOND / transaction_ns);
        assert_eq!(
            latency_ns.value_at_quantile(0.0),
            latency_ns.lowest_equivalent(transaction_ns)
        );
    }
}

#[test]
fn a_bulk_sender_that_reacts_late_loses_nothing_while_its_buffer_lasts() {
    let goodput = |reaction_ns, buffer_bytes| {
        let cost = HostCost {
            reaction_ns,
            ..HostCost::default()
        };
        let mut world = plain(&with_cost(1_000_000_000, cost), || ());
        let tcp = TcpConfig {
            receive_buffer_bytes: 1 << 20,
            ..TcpConfig::default()
        };
        world.connect(&connection(tcp), bulk(buffer_bytes), App::Sink, 0);
        world.run_until(SECOND).expect("no queue goes wrong");
        world.report(0, SERVER).received_bytes
    };
    // The link takes 125,000 bytes in a millisecond.
    let [at_once, enough] = [0, MS].map(|reaction_ns| goodput(reaction_ns, 1 << 20));
    assert!(enough * 1_000 > at_once * 995, "{enough} of {at_once}");
    // A full buffer each 2 ms and a little.
    let starved = goodput(2 * MS, 100_000);
    assert!(starved <= 100_000 * 501, "{starved}");
    assert!(starved >= 100_000 * 400, "{starved}");
}

/// Never ready before 5 us have passed.
struct Shaper(Fifo);

impl Qdisc for Shaper {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.0.enqueue(packet, now_ns, sink);
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        (now_ns >= 5 * US)
            .then(|| self.0.dequeue(now_ns, sink))
            .flatten()
    }

    fn hand_back(&mut self, rest: Packet, unsent_bytes: u32, now_ns: u64) {
        self.0.hand_back(rest, unsent_bytes, now_ns);
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.0.drain(gone);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.0.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn next_ready(&self, now_ns: u64) -> Option<u64> {
        (now_ns < 5 * US).then_some(5 * US)
    }
}

#[test]
fn a_discipline_that_nobody_would_ask_again_ends_the_world_with_a_report() {
    let parts = |_| (Box::new(Shaper(Fifo::new(100))) as _, AnyLimit::off(), ());
    let config = config(1_000_000_000, DELAY_NS);
    let mut world = World::new(&config, parts).expect("the settings are valid");
    world.connect(
        &connection(TcpConfig::default()),
        bulk(1_448),
        App::Sink,
        US,
    );
    let fault = QueueFault {
        queue: CLIENT,
        at_ns: US,
        fault: Fault::NotReady { ready_ns: 5 * US },
    };
    assert_eq!(world.run_until(SECOND), Err(TestbedError::Fault(fault)));
}
