//! One TCP stream that saturates a link.

use taut_path::qdisc::{BandLimit, PfifoFast};
use taut_path::{AnyLimit, Event, Probe};

use super::{Seen, Settings};
use crate::registry::ScenarioError;
use crate::rr_under_load::{
    DELAY_NS, HEADER_BYTES, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, WRITE_BYTES,
};
use taut_sim::course::CourseWatch;
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::{SuperPacket, TcpConfig};
use taut_sim::world::{App, CLIENT, ConnectionConfig, HostCost, World, WorldConfig};

/// Packets that the discipline holds: more than the send buffer, so that nothing is lost.
const BACKLOG_PACKETS: u32 = 10_000;

/// The course, and the largest packet of all.
struct Watch {
    course: CourseWatch,
    largest_object_bytes: u64,
}

impl Probe for Watch {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Sent(packet) = event {
            let bytes = u64::from(packet.wire_bytes());
            self.largest_object_bytes = self.largest_object_bytes.max(bytes);
        }
        self.course.event(now_ns, event);
    }
}

/// Runs one stream with the settings' card at the rate of the maximal packets.
pub(super) fn run(
    settings: &Settings,
    super_packet: SuperPacket,
    rule: &AnyLimit,
    seed: u64,
) -> Result<Seen, ScenarioError> {
    let end_ns = settings.tcp_duration.0;
    let parts = |_| {
        let watch = Watch {
            course: CourseWatch::new(end_ns),
            largest_object_bytes: 0,
        };
        let discipline = PfifoFast::new(BACKLOG_PACKETS, BandLimit::Each);
        (Box::new(discipline) as _, rule.clone(), watch)
    };
    let mut world = World::new(&config(settings, seed), parts)?;
    connect(&mut world, super_packet);
    world.run_until(end_ns)?;
    let watch = world.probe(CLIENT);
    let course = watch.course.course().clone();
    let link_bits = world.wire(CLIENT).time_bytes as f64 * 8.0;
    let rate_bits_per_s = settings.maximal_rate.0 as f64;
    Ok(Seen {
        limit_bytes: course.limit_bytes.last().map_or(0, |&(_, limit)| limit),
        largest_object_bytes: watch.largest_object_bytes,
        utilisation: link_bits * 1e9 / rate_bits_per_s / end_ns as f64,
        course,
    })
}

fn config(settings: &Settings, seed: u64) -> WorldConfig {
    WorldConfig {
        nic: NicConfig {
            rate_bits_per_s: settings.maximal_rate.0,
            framing: Framing::ETHERNET,
            slots: settings.ring,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(settings.cadence.0),
            finished_at: FinishedAt::End,
            segments_apart: true,
            seed,
        },
        restart_slots: None,
        delay_ns: DELAY_NS,
        cost: HostCost::default(),
        record_from_ns: 0,
    }
}

fn connect(world: &mut World<Watch>, super_packet: SuperPacket) {
    let connection = ConnectionConfig {
        tcp: TcpConfig {
            super_packet,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            ..TcpConfig::default()
        },
        header_bytes: HEADER_BYTES,
        priority: 0,
    };
    let sender = App::Bulk {
        write_bytes: WRITE_BYTES,
        buffer_bytes: SEND_BUFFER_BYTES,
    };
    world.connect(&connection, sender, App::Sink, 0);
}
