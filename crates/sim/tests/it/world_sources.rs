//! What the sources of a world send, against closed forms.

use crate::world_support::{MS, SECOND, bulk, config, connection, plain};
use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, Event, Probe};
use taut_sim::single_queue_bench::WhenFull;
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, BlindConfig, BlindReport, CLIENT, HostCost, SERVER, World};

const RATE: u64 = 1_000_000_000;
const DELAY_NS: u64 = 10_000;

fn one(app: App) -> World<()> {
    watched(app, || ())
}

fn watched<P: Probe>(app: App, probe: impl FnMut() -> P) -> World<P> {
    let mut world = plain(&config(RATE, DELAY_NS), probe);
    world.connect(&connection(TcpConfig::default()), app, App::Sink, MS);
    world
}

fn received_bytes<P: Probe>(world: &World<P>) -> u64 {
    world.report(0, SERVER).received_bytes
}

#[test]
fn a_paced_source_is_never_more_than_one_write_from_its_rate() {
    for (rate_bits_per_s, write_bytes) in [(8_000_000, 1_000), (300_000_000, 12_345), (999, 7)] {
        let mut world = one(App::Paced {
            write_bytes,
            buffer_bytes: 131_072,
            rate_bits_per_s,
        });
        for step in 1..=200 {
            let now_ns = MS + step * 7_919_321;
            world.run_until(now_ns).expect("no queue goes wrong");
            // What was written until one crossing ago has arrived; a write takes a while.
            let crossing_ns = DELAY_NS + u64::from(write_bytes) * 10 + 10_000;
            let bytes_by = |ns: u64| rate_bits_per_s * ns / 8 / SECOND;
            let least = bytes_by(now_ns - MS - crossing_ns);
            let most = bytes_by(now_ns - MS) + u64::from(write_bytes);
            let received = received_bytes(&world);
            assert!(
                (least..=most).contains(&received),
                "{received} not in {least}..={most} at {now_ns}"
            );
        }
    }
}

#[test]
fn a_paced_source_above_the_rate_of_the_link_is_a_bulk_source() {
    let bytes = |app| {
        let mut world = one(app);
        world.run_until(SECOND).expect("no queue goes wrong");
        received_bytes(&world)
    };
    let paced = bytes(App::Paced {
        write_bytes: 1_448,
        buffer_bytes: 131_072,
        rate_bits_per_s: 2 * RATE,
    });
    let most = bytes(bulk(131_072));
    assert!(paced.abs_diff(most) < 2 * 131_072, "{paced}, {most}");
}

/// When packets went to the NIC.
#[derive(Default)]
struct Sent(Vec<u64>);

impl Probe for Sent {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Sent(_) = event {
            self.0.push(now_ns);
        }
    }
}

#[test]
fn an_on_off_source_sends_in_its_share_of_the_time_and_what_its_buffer_holds() {
    let (on_ns, off_ns, buffer_bytes) = (10 * MS, 30 * MS, 65_536);
    let source = App::OnOff {
        write_bytes: 1_448,
        buffer_bytes,
        on_ns,
        off_ns,
    };
    let mut world = watched(source, Sent::default);
    let cycles = 50;
    world
        .run_until(MS + cycles * (on_ns + off_ns))
        .expect("no queue goes wrong");
    // 1448 of 1514 bytes while it is on, and then its buffer.
    let most_of_cycle = RATE / 8 * on_ns / SECOND * 1_448 / 1_514 + u64::from(buffer_bytes);
    let received = received_bytes(&world);
    assert!(received <= cycles * most_of_cycle, "{received}");
    assert!(
        received * 100 >= cycles * most_of_cycle * 95,
        "{received} of {}",
        cycles * most_of_cycle
    );
    // The buffer is sent within its time on the wire and a few round trips.
    let drain_ns = u64::from(buffer_bytes) * 8 + 200_000;
    let sent_ns = &world.probe(CLIENT).0;
    let late = |at_ns: &&u64| (**at_ns - MS) % (on_ns + off_ns) > on_ns + drain_ns;
    assert_eq!(sent_ns.iter().filter(late).count(), 0);
}

/// A blind sender of minimal frames above ring 512 and queue 511, for a second.
fn blind(when_full: WhenFull, cost: HostCost) -> (BlindReport, World<()>) {
    let mut config = config(RATE, DELAY_NS);
    config.nic.slots = 512;
    config.nic.framing = taut_sim::nic::Framing::ETHERNET;
    config.cost = cost;
    let parts = |_| (Box::new(Fifo::new(511)) as _, AnyLimit::off(), ());
    let mut world = World::new(&config, parts).expect("the settings are valid");
    let sender = BlindConfig {
        payload_bytes: 18,
        header_bytes: 42,
        priority: 0,
        when_full,
    };
    let number = world.send_blindly(&sender, CLIENT, 0);
    world.run_until(SECOND).expect("no queue goes wrong");
    let report = world.blind_report(number);
    assert_eq!(world.dropped_packets(CLIENT), 0, "blind, and still asked");
    // What was sent and has not arrived is on the wire, in the ring or in the queue.
    let under_way = report.sent_packets - report.arrived_packets;
    assert!(under_way <= 512 + 511 + 16, "{under_way}");
    (report, world)
}

/// Minimal frames in a second: 84 bytes of link time each.
const LINE_RATE: u64 = RATE / 8 / 84;

#[test]
fn a_blind_sender_that_sleeps_sends_a_ring_and_a_queue_in_each_sleep() {
    for (sleep_ms, tick_ms, asleep_ms) in [(18, 0, 18), (18, 1, 19), (18, 10, 20), (1, 1, 2)] {
        let when_full = WhenFull::Sleep {
            sleep_ns: sleep_ms * MS,
            tick_ns: tick_ms * MS,
        };
        let (report, _) = blind(when_full, HostCost::default());
        let sleeps = 1_000 / asleep_ms + 1;
        assert_eq!(report.sent_packets, sleeps * (512 + 511), "{when_full:?}");
        assert_eq!((report.failed_sends, report.wakeups), (sleeps, sleeps));
    }
}

#[test]
fn a_blind_sender_that_spins_has_line_rate_and_burns_the_core() {
    let (report, world) = blind(WhenFull::Spin(1_000), HostCost::default());
    assert!(report.arrived_packets * 1_000 > LINE_RATE * 999);
    assert!(report.failed_sends > 900_000, "{report:?}");
    assert!(world.core_busy_ns(CLIENT) > SECOND * 9 / 10);
}

#[test]
fn a_blind_sender_that_waits_for_room_has_line_rate_and_no_failed_sends() {
    let (report, world) = blind(WhenFull::Wait, HostCost::default());
    assert!(report.arrived_packets * 1_000 > LINE_RATE * 999);
    assert_eq!(report.failed_sends, 0);
    assert!(report.wakeups > 100, "{report:?}");
    assert_eq!(world.core_busy_ns(CLIENT), 0);
    // It is woken when half of the ring is free, which lasts for 172 us.
    let late = HostCost {
        reaction_ns: 400_000,
        ..HostCost::default()
    };
    let (late, _) = blind(WhenFull::Wait, late);
    assert!(late.wakeups > 100 && late.failed_sends == 0, "{late:?}");
}

#[test]
fn each_call_of_a_blind_sender_is_a_packet_to_the_core() {
    let cost = HostCost {
        packet_ns: 5_000,
        ..HostCost::default()
    };
    let (report, _) = blind(WhenFull::Spin(1_000), cost);
    // Slower than the wire: nothing is ever refused.
    assert_eq!((report.sent_packets, report.failed_sends), (200_001, 0));
}

#[test]
fn blind_senders_that_wait_together_keep_the_link_busy() {
    let mut config = config(RATE, DELAY_NS);
    config.nic.slots = 16;
    let parts = |_| (Box::new(Fifo::new(16)) as _, AnyLimit::off(), ());
    let mut world = World::new(&config, parts).expect("the settings are valid");
    let sender = BlindConfig {
        payload_bytes: 1_000,
        header_bytes: 42,
        priority: 0,
        when_full: WhenFull::Wait,
    };
    let numbers = [0; 3].map(|start_ns| world.send_blindly(&sender, SERVER, start_ns));
    world.run_until(SECOND).expect("no queue goes wrong");
    let arrived = numbers.map(|number| world.blind_report(number).arrived_packets);
    let total: u64 = arrived.iter().sum();
    assert!(total * 1_000 > RATE / 8 / 1_042 * 999, "{arrived:?}");
    // The wire holds no more than two.
    assert!(world.wire(SERVER).packets - total <= 2);
}
