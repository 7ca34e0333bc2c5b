//! One bulk stream with a small queue and requests at high priority: the data below the socket, and
//! its cost.

use std::collections::VecDeque;

use taut_measure::meter::{Level, Since};
use taut_path::qdisc::{BandLimit, PfifoFast};
use taut_path::tsq::memory_bytes;
use taut_path::{AnyLimit, Event, Packet, Probe, Segmentation};
use taut_sim::HEADER_BYTES;
use taut_sim::nic::{Framing, link_ns};
use taut_sim::tcp::GsoSize;
use taut_sim::world::{App, CLIENT, SERVER, SmallQueues, World};

use crate::budget::Budget;
use crate::prelude::*;
use crate::two_hosts::{
    FIRST_BAND_PRIORITY, GSO_PACKET_BYTES, MSS_BYTES, SEND_BUFFER_BYTES, card, first_band, hosts,
    max_payload_bits_per_s, request_response, stream, world,
};

/// The part of the stream with requests.
pub(super) const STREAM: &str = "stream";

/// Capacity of `pfifo_fast`, in packets.
const QDISC_PACKETS: u32 = 1_000;

/// Samples of the stream's own values.
const SAMPLES: u64 = 200;

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct OneStream {
    /// The part of the table.
    pub part: &'static str,
    pub rate: Rate,
    pub tso: bool,
    pub budget: Budget,
    /// The limit of the ring.
    pub limit: AnyLimit,
    /// Whether the driver orphans packets.
    pub orphans: bool,
    pub ring: u32,
    pub coalesce: Time,
    /// Time from the end of one request to the next, in ns; `None` for no requests.
    pub requests_every_ns: Option<u64>,
    pub warm_up_ns: u64,
    pub duration_ns: u64,
}

impl OneStream {
    /// Runs it in virtual time, with the deferred list `deferred` after a flow was added to it.
    /// Returns the row, whose `kept_share` depends on other rows, its comparison with published
    /// results, and the data below the socket over the measured time.
    pub fn run(&self, deferred: Time, seed: u64) -> Result<Results, ScenarioError> {
        let mut world = self.world(deferred, seed)?;
        world.run_until(self.warm_up_ns)?;
        let before = world.arrived_bytes(SERVER);
        let samples = self.sample(&mut world)?;
        let delivered = world.arrived_bytes(SERVER) - before;
        let throughput = delivered as f64 * 8e9 / self.duration_ns as f64;
        let below = world.probe(CLIENT);
        let (backlog_bytes, time_bytes) = (below.bytes.quantiles(), below.time_bytes.quantiles());
        let [p90_ns, max_ns] =
            [time_bytes.p90, time_bytes.max].map(|bytes| link_ns(bytes, self.rate.0));
        let packet_mean_bytes = below.stream_bytes as f64 / below.stream_packets.max(1) as f64;
        let cwnd_bytes = samples.cwnd_bytes as f64;
        // Twice the window, in memory: the send buffer after autotuning.
        let in_memory = f64::from(self.packet_memory_bytes()) / f64::from(self.packet_payload());
        let socket_memory_bytes = 2.0 * in_memory * cwnd_bytes / SAMPLES as f64;
        let totals = world.small_queue_totals(CLIENT);
        let latency_ns = world.latency_ns();
        let latency_us =
            |share| (!latency_ns.is_empty()).then(|| latency_ns.value_at_quantile(share) / 1_000);
        let mut found = Results::row(json!({
            "part": self.part,
            "rate_bits_per_s": self.rate.0,
            "coalesce_us": us(self.coalesce.0),
            "tso": self.tso,
            "budget": self.budget.to_string(),
            "limit": self.limit.to_string(),
            "orphans": self.orphans,
            "throughput_bits_per_s": throughput,
            "kept_share": null,
            "link_share": throughput / max_payload_bits_per_s(self.rate),
            "backlog_mean_bytes": below.bytes.mean(),
            "backlog_p90_bytes": backlog_bytes.p90,
            "backlog_max_bytes": backlog_bytes.max,
            "backlog_p90_us": us(p90_ns),
            "backlog_max_us": us(max_ns),
            "charged_max_bytes": samples.charged_max_bytes,
            "packet_mean_bytes": packet_mean_bytes,
            "round_trip_mean_us": samples.srtt_ns as f64 / SAMPLES as f64 / 1e3,
            "window_mean_bytes": cwnd_bytes / SAMPLES as f64,
            "socket_memory_mean_bytes": socket_memory_bytes.min(f64::from(SEND_BUFFER_BYTES)),
            "requests_p50_us": latency_us(0.5),
            "requests_p99_us": latency_us(0.99),
            "throttled": totals.throttled,
            "deferred": totals.deferred,
            "drops": world.dropped_packets(CLIENT),
            "orphaned_packets": world.orphaned_packets(CLIENT),
        }));
        if self.part == STREAM {
            self.compare(&mut found, p90_ns);
            let tso = if self.tso { "TSO" } else { "no TSO" };
            let (mbit, budget) = (self.rate.0 / 1_000_000, self.budget);
            let row = format!("{mbit} Mbit/s, {tso}, {budget}");
            found
                .series
                .push(Series::bytes(row, "backlog", samples.backlog_bytes));
        }
        Ok(found)
    }

    /// Compares the row with published results.
    fn compare(&self, found: &mut Results, backlog_p90_ns: u64) {
        let bytes = |key: &str| found.rows[0][key].as_f64().unwrap_or_default();
        let (backlog, packet) = (bytes("backlog_p90_bytes"), bytes("packet_mean_bytes"));
        let mut compare = |what: &str, value: f64| {
            let id = format!("E3, {}, {}, {what}", self.rate, self.budget);
            found.compare(id, value);
        };
        if self.tso {
            compare("backlog", backlog);
            compare("GSO packet", packet);
        } else {
            compare("buffering", backlog_p90_ns as f64 / 1e6);
        }
    }

    fn sample(&self, world: &mut World<Below>) -> Result<StreamSamples, ScenarioError> {
        let mut samples = StreamSamples::default();
        for sample in 1..=SAMPLES {
            let at_ns = self.warm_up_ns + self.duration_ns * sample / SAMPLES;
            world.run_until(at_ns)?;
            let backlog_bytes = world.probe(CLIENT).bytes.now as f64;
            samples.backlog_bytes.push((at_ns, backlog_bytes));
            let stream = world.report(BULK, CLIENT);
            samples.srtt_ns += stream.srtt_ns;
            samples.cwnd_bytes += stream.cwnd_bytes;
            let charged = world
                .small_queue(BULK, CLIENT)
                .map_or(0, |it| it.charged_bytes);
            samples.charged_max_bytes = samples.charged_max_bytes.max(charged);
        }
        Ok(samples)
    }

    fn world(&self, deferred: Time, seed: u64) -> Result<World<Below>, ScenarioError> {
        let card = card(self.rate, self.ring, self.coalesce, seed);
        let hosts = hosts(card, self.warm_up_ns);
        let discipline = || Box::new(PfifoFast::new(QDISC_PACKETS, BandLimit::Total)) as _;
        let below = |_| Below::new(self.warm_up_ns);
        let mut world = world(&hosts, &self.limit, discipline, below)?;
        let small_queues = SmallQueues {
            settings: self.budget.settings(),
            connections: 2,
            deferred_delay_ns: deferred.0,
            hold_ns: 0,
            orphans: self.orphans,
        };
        world.use_small_queues(&small_queues)?;
        self.connect(&mut world);
        Ok(world)
    }

    fn connect(&self, world: &mut World<Below>) {
        let bulk = stream(match (self.tso, self.budget) {
            (false, _) => GsoSize::Off,
            (true, Budget::Rate) => GsoSize::Auto,
            (true, _) => GsoSize::Fixed(GSO_PACKET_BYTES),
        });
        // The size of a send buffer is in memory.
        let payload = u64::from(self.packet_payload());
        let buffer_bytes = u64::from(SEND_BUFFER_BYTES) * payload;
        let sender = App::Bulk {
            write_bytes: self.packet_payload(),
            buffer_bytes: (buffer_bytes / u64::from(self.packet_memory_bytes())) as u32,
        };
        world.connect(&bulk, sender, App::Sink, 0);
        if let Some(think_ns) = self.requests_every_ns {
            let (client, _) = request_response(1, think_ns);
            let (_, server) = request_response(1, 0);
            world.connect(&first_band(bulk), client, server, 0);
        }
    }

    /// Returns the payload of a full packet that no budget shortens.
    const fn packet_payload(&self) -> u32 {
        if self.tso {
            GSO_PACKET_BYTES
        } else {
            MSS_BYTES
        }
    }

    fn packet_memory_bytes(&self) -> u32 {
        let cut = Segmentation::new(HEADER_BYTES, MSS_BYTES as u16);
        let wire_bytes = self.packet_payload() + u32::from(HEADER_BYTES);
        memory_bytes(wire_bytes, cut.filter(|_| self.tso))
    }
}

/// Converts ns to us.
pub(super) fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// The stream is connected first.
const BULK: u32 = 0;

/// Samples of the stream: sums, and the data below it.
#[derive(Default)]
struct StreamSamples {
    srtt_ns: u64,
    cwnd_bytes: u64,
    charged_max_bytes: u64,
    backlog_bytes: Vec<(u64, f64)>,
}

/// A probe for the data below the sockets: packets enqueued and not finished.
struct Below {
    from: Since,
    bytes: Level,
    /// Link time of this data, in bytes.
    time_bytes: Level,
    /// Link time of each packet in the ring, oldest first, in bytes.
    in_ring: VecDeque<u64>,
    /// Packets of the stream, and their bytes, enqueued in the measured time.
    stream_packets: u64,
    stream_bytes: u64,
}

impl Below {
    fn new(from_ns: u64) -> Self {
        let from = Since(from_ns);
        Self {
            bytes: Level::new(0, &from),
            time_bytes: Level::new(0, &from),
            from,
            in_ring: VecDeque::new(),
            stream_packets: 0,
            stream_bytes: 0,
        }
    }

    fn comes(&mut self, now_ns: u64, packet: &Packet) {
        let more = self.bytes.now + u64::from(packet.wire_bytes());
        self.bytes.change(more, now_ns, &self.from);
        let more = self.time_bytes.now + time_bytes(packet);
        self.time_bytes.change(more, now_ns, &self.from);
        if now_ns >= self.from.0 && packet.priority != FIRST_BAND_PRIORITY {
            self.stream_packets += 1;
            self.stream_bytes += u64::from(packet.wire_bytes());
        }
    }

    fn leaves(&mut self, now_ns: u64, bytes: u64, time_bytes: u64) {
        let left = self.bytes.now.saturating_sub(bytes);
        self.bytes.change(left, now_ns, &self.from);
        let left = self.time_bytes.now.saturating_sub(time_bytes);
        self.time_bytes.change(left, now_ns, &self.from);
    }
}

fn time_bytes(packet: &Packet) -> u64 {
    Framing::ETHERNET.packet_time(packet).bytes
}

impl Probe for Below {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Enqueued(packet) => self.comes(now_ns, packet),
            Event::Dropped(packet, _) => {
                self.leaves(now_ns, packet.wire_bytes().into(), time_bytes(packet));
            }
            Event::Sent(packet) => self.in_ring.push_back(time_bytes(packet)),
            Event::Completed(done) => {
                let time_bytes = self.in_ring.drain(..done.packets as usize).sum();
                self.leaves(now_ns, done.bytes.into(), time_bytes);
            }
            _ => {}
        }
    }
}
