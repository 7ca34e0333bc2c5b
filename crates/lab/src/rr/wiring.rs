//! The queues of a row.

use std::rc::Rc;
use std::sync::Arc;

use taut_linux::af_packet::AfPacket;
use taut_linux::publish::QueueInfo;
use taut_linux::{NetNs, Tap, sched};
use taut_measure::meter::Meter;
use taut_measure::trace::Recording;
use taut_path::limit::Unit;
use taut_path::{AnyLimit, LateSegmentation, Limit, Queue, QueueConfig};
use taut_relay::Direction;
use taut_relay::parts::DirectionConfig;
use taut_relay::published::Published;
use taut_sim::nic::{DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig};

use super::config::Config;
use super::emulated::EmulatedDirection;
use super::packet_ring::RingParts;
use super::router::{Route, Watcher};
use super::tap_source::TapSource;
use crate::control::{Control, Watch};
use crate::world::{CLIENT_DEVICE, SERVER_DEVICE, SHAPED_DEVICE};

/// The common settings of the directions of a row.
pub struct Wiring<'a> {
    pub config: &'a Config,
    pub control: &'a Arc<Control>,
    pub limit: &'a AnyLimit,
    pub late_segmentation: LateSegmentation,
    pub max_events: Option<usize>,
}

impl Wiring<'_> {
    /// Returns an emulated NIC from `source` to `to`. Two NICs with the same seed would draw the
    /// same random numbers, so each direction has an `index`.
    pub fn emulated(
        &self,
        source: TapSource,
        to: Rc<Tap>,
        index: u64,
    ) -> anyhow::Result<Box<dyn Route>> {
        let now_ns = sched::monotonic_ns();
        let device = if index == 0 {
            CLIENT_DEVICE
        } else {
            SERVER_DEVICE
        };
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
            late_segmentation: self.late_segmentation,
            ..QueueConfig::default()
        };
        let queue = Queue::builder_for(nic)
            .qdisc(self.config.settings.qdisc.parse()?)
            .limit(self.limit.clone())
            .probe(self.watcher(now_ns, index == 0))
            .config(config)
            .build(now_ns)?;
        let published = self.published(device);
        Ok(Box::new(EmulatedDirection::new(
            source, queue, published, to,
        )))
    }

    /// Returns an AF_PACKET ring from `source` to the shaped device in `ns`.
    pub fn packet_ring(&self, source: TapSource, ns: &NetNs) -> anyhow::Result<Box<dyn Route>> {
        let settings = &self.config.settings;
        let now_ns = sched::monotonic_ns();
        let frames = source.frames.clone();
        let port = AfPacket::open_with(ns, SHAPED_DEVICE, settings.ring, frames.clone())?;
        let config = DirectionConfig {
            qdisc: settings.qdisc.parse()?,
            limit: self.limit.clone(),
            split: self.late_segmentation,
            coalesce_ns: settings.coalesce.0,
            stall_ns: QueueConfig::default().stall_threshold_ns,
            rate_bits_per_s: Some(settings.rate.0),
        };
        let probe = (self.watcher(now_ns, true), None);
        let direction: Direction<RingParts> =
            Direction::new(config, source, (port, frames), probe, now_ns)?;
        let mut direction = Box::new(direction);
        direction.set_open(true, now_ns);
        Ok(direction)
    }

    /// Publishes a queue to `device` for other programs.
    fn published(&self, device: &str) -> Published {
        Published::new(&QueueInfo {
            device,
            queue: 0,
            limit: &self.limit.to_string(),
            in_packets: self.limit.unit() == Unit::Packets,
            rate_bits_per_s: Some(self.config.settings.rate.0),
        })
    }

    /// Returns the probes; the measured direction is the one that is `shown`.
    fn watcher(&self, now_ns: u64, shown: bool) -> Watcher {
        let watch = Watch {
            control: Arc::clone(self.control),
            shown,
        };
        let max_events = self.max_events.filter(|_| shown);
        (
            Meter::new(watch, now_ns, self.config.row_ns()),
            max_events.map(|max| Recording::new(now_ns, max)),
        )
    }
}
