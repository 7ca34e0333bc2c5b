//! Hosts run alternately for the delay of the link; the length of these runs must not matter.

use crate::world_support::{MS, bulk, config, connection, with_discipline};
use taut_path::qdisc::Fifo;
use taut_path::{Event, Probe};
use taut_sim::nic::InterruptRule;
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, CLIENT, EndpointReport, Messages, SERVER, World};

/// All events of a queue.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log(Vec<(u64, String)>);

impl Probe for Log {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        // The index of the queue in the process differs between worlds.
        let text = match event {
            Event::Enqueued(packet) => format!("in {} {}", packet.flow, packet.wire_bytes()),
            Event::Sent(packet) => format!("out {} {}", packet.flow, packet.wire_bytes()),
            Event::Completed(done) => format!("{done:?}"),
            Event::Dropped(_, reason) => format!("{reason:?}"),
            _ => return,
        };
        self.0.push((now_ns, text));
    }
}

/// Returns a world in which each source of events is active, with many simultaneous events.
fn busy(delay_ns: u64) -> World<Log> {
    let mut world = config(1_000_000_000, delay_ns);
    world.nic.slots = 16;
    world.nic.interrupt = InterruptRule {
        packets: Some(3),
        ..InterruptRule::every(20_000)
    };
    // Short enough for some drops.
    let mut world = with_discipline(&world, |_| Box::new(Fifo::new(40)), Log::default);
    let tcp = connection(TcpConfig::default());
    let asks = App::Client(Messages {
        request_bytes: 3_000,
        response_bytes: 1,
        think_ns: 100_000,
    });
    let answers = App::Server(Messages {
        request_bytes: 3_000,
        response_bytes: 1,
        think_ns: 0,
    });
    world.connect(&tcp, asks, answers, 0);
    world.connect(&tcp, bulk(131_072), App::Sink, MS);
    world.connect(&tcp, bulk(131_072), bulk(20_000), MS);
    world
}

fn reports(world: &World<Log>) -> Vec<EndpointReport> {
    let ends = (0..3).flat_map(|connection| [CLIENT, SERVER].map(|host| (connection, host)));
    ends.map(|(connection, host)| world.report(connection, host))
        .collect()
}

#[test]
fn short_runs_equal_one_long_run() {
    for delay_ns in [50_000, 3, 0] {
        let mut whole = busy(delay_ns);
        whole.run_until(60 * MS).expect("no queue goes wrong");
        let mut parts = busy(delay_ns);
        let mut now_ns = 0;
        while now_ns < 60 * MS {
            now_ns = (now_ns + 7_919).min(60 * MS);
            parts.run_until(now_ns).expect("no queue goes wrong");
        }
        assert!(whole.dropped_packets(CLIENT) > 0, "there must be losses");
        assert!(!whole.latency_ns().is_empty());
        assert_eq!(whole.latency_ns(), parts.latency_ns(), "delay {delay_ns}");
        assert_eq!(reports(&whole), reports(&parts), "delay {delay_ns}");
        assert_eq!(whole.events(), parts.events(), "delay {delay_ns}");
        for host in [CLIENT, SERVER] {
            assert_eq!(whole.probe(host), parts.probe(host), "delay {delay_ns}");
        }
    }
}
