//! The hosts of a row, the links between them and their queues.

use std::rc::Rc;
use std::sync::Arc;

use taut_linux::af_packet::{AfPacket, PacketReceiver};
use taut_linux::{NetNs, Tap, TapConfig, sched};
use taut_measure::meter::Meter;
use taut_measure::trace::Recording;
use taut_path::{Queue, QueueConfig, qdisc};
use taut_relay::direction::{Direction, DirectionConfig};
use taut_relay::published::Published;
use taut_scenarios::rr_under_load::Case;
use taut_sim::nic::{DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig};

use super::config::{Config, DriverKind};
use super::emulated::EmulatedDirection;
use super::packet_ring::ReceiveDirection;
use super::router::{Route, Watcher};
use super::tap::TapSource;
use crate::control::{Control, Watch};
use crate::world::{
    CLIENT_DEVICE, CLIENT_MAC, Hosts, SERVER_DEVICE, SERVER_MAC, SHAPED_DEVICE, negotiate_ecn,
    shaped_veth,
};

/// Queue length of a TAP. If the packet thread does not run for some milliseconds, the TAP must not
/// drop packets that the discipline should drop.
const TAP_QUEUE_PACKETS: u32 = 10_000;

/// Returns the description of the namespaces and devices of a row.
pub const fn devices(driver: DriverKind) -> &'static str {
    match driver {
        DriverKind::Emulated => "2 network namespaces with a TAP device each",
        DriverKind::AfPacket => {
            "3 network namespaces: a TAP device in the first, and a veth from the second, with a \
             TBF, to the third"
        }
    }
}

/// Two hosts and the links between them.
pub struct RrWorld {
    pub hosts: Hosts,
    client_tap: Tap,
    far_end: FarEnd,
}

/// The server side of the link.
enum FarEnd {
    /// A TAP: the link is emulated.
    Tap(Tap),
    /// A veth from this namespace, shaped by the kernel.
    Veth(NetNs),
}

impl RrWorld {
    /// Creates the hosts of `case`.
    pub fn new(config: &Config, case: &Case) -> anyhow::Result<Self> {
        let hosts = Hosts::new()?;
        if qdisc::marks_ecn(&config.settings.qdisc) {
            negotiate_ecn(&hosts.client)?;
            negotiate_ecn(&hosts.server)?;
        }
        let emulated = config.options.driver == DriverKind::Emulated;
        let tap = |ns, device, mac| {
            let config = TapConfig {
                // A packet ring sends frames unchanged, so checksums must be complete.
                checksum_offload: emulated,
                segmentation_offload: case.tso,
                mac: Some(mac),
                tx_queue_packets: TAP_QUEUE_PACKETS,
                ..TapConfig::default()
            };
            Tap::open(ns, device, config)
        };
        let client_tap = tap(&hosts.client, CLIENT_DEVICE, CLIENT_MAC)?;
        let far_end = if emulated {
            FarEnd::Tap(tap(&hosts.server, SERVER_DEVICE, SERVER_MAC)?)
        } else {
            let rate_bits_per_s = config.settings.rate.0;
            FarEnd::Veth(shaped_veth(&hosts.server, Some(rate_bits_per_s))?)
        };
        hosts.start()?;
        Ok(Self {
            hosts,
            client_tap,
            far_end,
        })
    }
}

/// The common settings of the directions of a row.
pub struct Wiring<'a> {
    pub config: &'a Config,
    pub case: &'a Case,
    pub control: &'a Arc<Control>,
    /// The measured queue records at most this many events, if they are requested.
    pub max_events: Option<usize>,
}

impl Wiring<'_> {
    /// Connects the hosts in both directions; the queue from client to server is measured. Between
    /// TAPs, both directions have a NIC and a queue of the same type.
    pub fn connect(&self, world: RrWorld) -> anyhow::Result<Vec<Box<dyn Route>>> {
        let client_tap = Rc::new(world.client_tap);
        let from_client = TapSource::new(world.hosts.client, Rc::clone(&client_tap));
        match world.far_end {
            FarEnd::Tap(server_tap) => {
                let server_tap = Rc::new(server_tap);
                let from_server = TapSource::new(world.hosts.server, Rc::clone(&server_tap));
                Ok(vec![
                    self.emulated(from_client, server_tap, 0)?,
                    self.emulated(from_server, client_tap, 1)?,
                ])
            }
            FarEnd::Veth(ns) => {
                let to_client = ReceiveDirection {
                    from: PacketReceiver::open(&ns, SHAPED_DEVICE)?,
                    to: client_tap,
                    buffer: vec![0; PacketReceiver::READ_LIMIT_BYTES],
                    rejected_packets: 0,
                };
                let from_client = self.packet_ring(from_client, &ns)?;
                Ok(vec![from_client, Box::new(to_client)])
            }
        }
    }

    /// Returns an emulated NIC from `source` to `to`. Two NICs with the same seed would draw the
    /// same random numbers, so each direction has an `index`.
    fn emulated(
        &self,
        source: TapSource,
        to: Rc<Tap>,
        index: u64,
    ) -> anyhow::Result<Box<dyn Route>> {
        let now_ns = sched::monotonic_ns();
        let nic = EmulatedNic::new(NicConfig {
            rate_bits_per_s: self.config.settings.rate.0,
            framing: Framing::ETHERNET,
            slots: self.config.settings.ring,
            rule: DescriptorRule::E1000,
            interrupt: InterruptRule::every(self.config.settings.coalesce.0),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: self.config.seed.wrapping_add(index),
        })?;
        let config = QueueConfig {
            restart_slots: Some(nic.restart_slots()),
            late_segmentation: self.case.late_segmentation,
            ..QueueConfig::default()
        };
        let queue = Queue::builder_for(nic)
            .qdisc(self.config.settings.qdisc.parse()?)
            .limit(self.case.limit.clone())
            .probe(self.watcher(now_ns, index == 0))
            .config(config)
            .build(now_ns)?;
        let rate_bits_per_s = Some(self.config.settings.rate.0);
        let published = Published::new(source.tap.name(), &self.case.limit, rate_bits_per_s);
        Ok(Box::new(EmulatedDirection {
            frames: source.frames.clone(),
            source,
            queue,
            published,
            to,
            rejected_packets: 0,
        }))
    }

    /// Returns an AF_PACKET ring from `source` to the shaped device in `ns`.
    fn packet_ring(&self, source: TapSource, ns: &NetNs) -> anyhow::Result<Box<dyn Route>> {
        let settings = &self.config.settings;
        let now_ns = sched::monotonic_ns();
        let frames = source.frames.clone();
        let port = AfPacket::open_with(ns, SHAPED_DEVICE, settings.ring, frames.clone())?;
        let config = DirectionConfig {
            qdisc: settings.qdisc.parse()?,
            limit: self.case.limit.clone(),
            coalesce_ns: settings.coalesce.0,
            stall_ns: QueueConfig::default().stall_threshold_ns,
            rate_bits_per_s: Some(settings.rate.0),
        };
        let probe = (self.watcher(now_ns, true), None);
        let mut direction = Direction::new(config, source, (port, frames), probe, now_ns)?;
        direction.set_open(true, now_ns);
        Ok(Box::new(direction))
    }

    /// Returns the probes; the measured direction is the one that is `shown`.
    fn watcher(&self, now_ns: u64, shown: bool) -> Watcher {
        let watch = Watch {
            control: Arc::clone(self.control),
            shown,
        };
        let max_events = self.max_events.filter(|_| shown);
        (
            Meter::new(watch, now_ns, self.config.settings.end_ns()),
            max_events.map(|max| Recording::new(now_ns, max)),
        )
    }
}
