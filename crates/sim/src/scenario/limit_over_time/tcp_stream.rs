//! One TCP stream that saturates a link.

use taut_path::limit::{Done, Limit, LimitCompleter, LimitSpec, LimitUser};
use taut_path::qdisc::{BandLimit, PfifoFast};
use taut_path::ring::DescriptorRule;
use taut_path::{Packet, Probe};

use super::{Seen, Settings};
use crate::course::CourseWatch;
use crate::nic::{FinishedAt, Framing, InterruptRule, NicConfig};
use crate::scenario::registry::ScenarioError;
use crate::scenario::rr_under_load::{
    DELAY_NS, HEADER_BYTES, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, WRITE_BYTES,
};
use crate::tcp::{SuperPacket, TcpConfig};
use crate::world::{App, CLIENT, ConnectionConfig, HostCost, World, WorldConfig};

/// Packets that the discipline holds: more than the send buffer, so that nothing is lost.
const BACKLOG_PACKETS: u32 = 10_000;

/// The course, and the largest packet of all.
struct Watch {
    course: CourseWatch,
    largest_object_bytes: u64,
}

impl Probe for Watch {
    fn on_sent(&mut self, now_ns: u64, packet: &Packet) {
        let bytes = u64::from(packet.wire_bytes);
        self.largest_object_bytes = self.largest_object_bytes.max(bytes);
        self.course.on_sent(now_ns, packet);
    }

    fn on_completed(&mut self, now_ns: u64, done: Done) {
        self.course.on_completed(now_ns, done);
    }

    fn on_limit(&mut self, now_ns: u64, limit: u32) {
        self.course.on_limit(now_ns, limit);
    }
}

/// Runs one stream with the settings' card at the rate of the maximal packets.
pub(super) fn run(
    settings: &Settings,
    super_packet: SuperPacket,
    rule: LimitSpec,
    seed: u64,
) -> Result<Seen, ScenarioError> {
    rule.give_to(Stream {
        settings,
        super_packet,
        seed,
    })
}

/// A stream, all but the limit.
struct Stream<'a> {
    settings: &'a Settings,
    super_packet: SuperPacket,
    seed: u64,
}

impl LimitUser for Stream<'_> {
    type Output = Result<Seen, ScenarioError>;

    fn with<L: Limit + Copy + 'static>(self, limit: L) -> Self::Output {
        let end_ns = self.settings.tcp_duration.0;
        // Where the rule starts: nothing says so when it does.
        let halves = limit.split(0);
        let (_, completer) = halves.map_err(|error| ScenarioError::Setting(error.to_string()))?;
        let first_limit = completer.snapshot().limit;
        let parts = |_| {
            let mut course = CourseWatch::new(end_ns);
            course.set_limit(first_limit, 0);
            let watch = Watch {
                course,
                largest_object_bytes: 0,
            };
            let discipline = PfifoFast::new(BACKLOG_PACKETS, BandLimit::Each);
            (Box::new(discipline) as _, limit, watch)
        };
        let world = World::new(&self.config(), parts);
        let mut world = world.map_err(|error| ScenarioError::Setting(error.to_string()))?;
        self.connect(&mut world);
        world.run_until(end_ns);
        let watch = world.probe(CLIENT);
        let course = watch.course.course().clone();
        let link_bits = world.wire(CLIENT).time_bytes as f64 * 8.0;
        let rate_bits_per_s = self.settings.maximal_rate.0 as f64;
        Ok(Seen {
            limit_bytes: course.limit_bytes.last().map_or(0, |&(_, limit)| limit),
            largest_object_bytes: watch.largest_object_bytes,
            utilisation: link_bits * 1e9 / rate_bits_per_s / end_ns as f64,
            course,
        })
    }
}

impl Stream<'_> {
    fn config(&self) -> WorldConfig {
        WorldConfig {
            nic: NicConfig {
                rate_bits_per_s: self.settings.maximal_rate.0,
                framing: Framing::ETHERNET,
                slots: self.settings.ring,
                rule: DescriptorRule::OnePerPacket,
                interrupt: InterruptRule::every(self.settings.cadence.0),
                finished_at: FinishedAt::End,
                segments_apart: true,
                seed: self.seed,
            },
            restart_slots: None,
            delay_ns: DELAY_NS,
            cost: HostCost::default(),
            record_from_ns: 0,
        }
    }

    fn connect<L: Limit, P: Probe>(&self, world: &mut World<L, P>) {
        let connection = ConnectionConfig {
            tcp: TcpConfig {
                super_packet: self.super_packet,
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
}
