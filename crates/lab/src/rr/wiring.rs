//! The queues of a row.

use std::rc::Rc;
use std::sync::Arc;

use taut_linux::af_packet::AfPacket;
use taut_linux::publish::About;
use taut_linux::{NetNs, Tap, sched};
use taut_measure::meter::Meter;
use taut_measure::trace::Tape;
use taut_path::limit::Unit;
use taut_path::queue::Builder;
use taut_path::{AnyLimit, Completions, Limit, Queue, QueueConfig, Split, TxRing};
use taut_relay::published::Published;
use taut_scenarios::rr_under_load::Settings;
use taut_sim::nic::{DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig};

use super::config::Config;
use super::emulated::EmulatedDirection;
use super::packet_ring::RingDirection;
use super::router::Direction;
use super::tap_source::{MeteredQueue, TapSource, Watcher};
use crate::control::{Control, Watch};
use crate::world::{CLIENT_DEVICE, SERVER_DEVICE, SHAPED_DEVICE};

/// What every direction of a row has in common.
pub struct Wiring<'a> {
    pub config: &'a Config,
    pub control: &'a Arc<Control>,
    pub limit: &'a AnyLimit,
    pub split: Split,
    pub max_events: Option<usize>,
}

impl Wiring<'_> {
    /// An emulated NIC from `source` to `to`. Two NICs of one seed would draw the same numbers, so
    /// each direction has its `index`.
    pub fn emulated(
        &self,
        mut source: TapSource,
        to: Rc<Tap>,
        index: u64,
    ) -> anyhow::Result<Box<dyn Direction>> {
        let device = if index == 0 {
            CLIENT_DEVICE
        } else {
            SERVER_DEVICE
        };
        source.published = self.published(device);
        let nic = EmulatedNic::new(NicConfig {
            rate_bits_per_s: self.config.settings.rate.0,
            framing: Framing::ETHERNET,
            slots: self.config.settings.ring,
            rule: DescriptorRule::E1000,
            interrupt: InterruptRule::every(self.config.settings.cadence.0),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: self.config.seed.wrapping_add(index),
        })?;
        let restart_slots = Some(nic.restart_slots());
        let queue = self.queue(Queue::builder_for(nic), restart_slots, index == 0)?;
        Ok(Box::new(EmulatedDirection::new(source, queue, to)))
    }

    /// An AF_PACKET ring from `source` to the shaped device in `ns`.
    pub fn packet_ring(
        &self,
        mut source: TapSource,
        ns: &NetNs,
    ) -> anyhow::Result<Box<dyn Direction>> {
        let Settings { ring, cadence, .. } = self.config.settings;
        source.published = self.published(SHAPED_DEVICE);
        let (tx, completions) =
            AfPacket::open_with(ns, SHAPED_DEVICE, ring, source.frames.clone())?;
        let queue = self.queue(Queue::builder(tx, completions), None, true)?;
        Ok(Box::new(RingDirection::new(source, queue, cadence.0)))
    }

    /// Where others see a queue to `device`.
    fn published(&self, device: &str) -> Published {
        Published::new(&About {
            device,
            queue: 0,
            limit: &self.limit.to_string(),
            in_packets: self.limit.unit() == Unit::Packets,
            rate_bits_per_s: Some(self.config.settings.rate.0),
        })
    }

    fn queue<D: TxRing + Completions>(
        &self,
        builder: Builder<D>,
        restart_slots: Option<u32>,
        shown: bool,
    ) -> anyhow::Result<MeteredQueue<D>> {
        let now_ns = sched::monotonic_ns();
        let watch = Watch {
            control: Arc::clone(self.control),
            shown,
        };
        let max_events = self.max_events.filter(|_| shown);
        let watcher: Watcher = (
            Meter::new(watch, now_ns, self.config.row_ns()),
            max_events.map(|max| Tape::new(now_ns, max)),
        );
        let config = QueueConfig {
            restart_slots,
            split: self.split,
            ..QueueConfig::default()
        };
        Ok(builder
            .qdisc(self.config.settings.qdisc.parse()?)
            .limit(self.limit.clone())
            .probe(watcher)
            .config(config)
            .build(now_ns)?)
    }
}
