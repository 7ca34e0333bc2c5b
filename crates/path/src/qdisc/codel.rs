//! One queue whose packets do not wait for long.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::codel_parameters::CodelParameters;
use super::codel_state::{CodelConfig, CodelRule, CodelState, Waiting};
use super::table::Make;
use super::tokens::{Parameter, Settings};
use super::{Backlog, DEFAULT_LIMIT_PACKETS, LIMIT_PACKETS, Qdisc};
use crate::packet::{DropReason, Packet, PacketSink};

/// `codel`: one queue, first in, first out, that drops or marks what waits too long.
#[derive(Debug)]
pub struct Codel {
    queue: Queue,
    state: CodelState,
    rule: CodelRule,
    limit_packets: usize,
}

#[derive(Debug)]
struct Queue {
    packets: VecDeque<Stamped>,
    backlog: Backlog,
}

/// A packet, and since when it waits.
#[derive(Debug)]
struct Stamped {
    packet: Packet,
    since_ns: u64,
}

impl Codel {
    /// A queue for at most `limit_packets` packets.
    pub fn new(limit_packets: u32, config: CodelConfig) -> Self {
        Self {
            queue: Queue {
                packets: VecDeque::with_capacity(super::capacity(limit_packets)),
                backlog: Backlog::default(),
            },
            state: CodelState::default(),
            rule: CodelRule::new(config),
            limit_packets: limit_packets as usize,
        }
    }
}

impl Waiting for Queue {
    fn oldest(&mut self) -> Option<(&mut Packet, u64)> {
        let oldest = self.packets.front_mut()?;
        Some((&mut oldest.packet, oldest.since_ns))
    }

    fn pop(&mut self) -> Option<Packet> {
        let Stamped { packet, .. } = self.packets.pop_front()?;
        self.backlog.remove(&packet);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
}

impl Qdisc for Codel {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.queue.backlog.add(&packet);
        self.queue.packets.push_back(Stamped {
            packet,
            since_ns: now_ns,
        });
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        self.state.judge(&self.rule, now_ns, &mut self.queue, sink);
        self.queue.pop()
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        self.queue.backlog = Backlog::default();
        self.state.forget();
        let packets = self.queue.packets.drain(..);
        packets.for_each(|stamped| gone(stamped.packet));
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        self.queue.packets.len() < self.limit_packets
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog
    }
}

/// What `codel` can be told.
pub(super) struct CodelSettings {
    limit_packets: u32,
    codel: CodelConfig,
}

impl Default for CodelSettings {
    fn default() -> Self {
        Self {
            limit_packets: DEFAULT_LIMIT_PACKETS,
            codel: CodelConfig::default(),
        }
    }
}

impl CodelParameters for CodelSettings {
    fn codel(&mut self) -> &mut CodelConfig {
        &mut self.codel
    }

    fn codel_ref(&self) -> &CodelConfig {
        &self.codel
    }
}

impl Settings for CodelSettings {
    const NAME: &'static str = "codel";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::value(
            "limit",
            LIMIT_PACKETS,
            |settings| Some(settings.limit_packets.into()),
            |settings, packets| settings.limit_packets = packets as u32,
        ),
        Self::TARGET,
        Self::INTERVAL,
        Self::ECN,
        Self::NO_ECN,
        Self::CE_THRESHOLD,
    ];
}

impl Make for CodelSettings {
    fn make(self) -> Box<dyn Qdisc + Send> {
        Box::new(Codel::new(self.limit_packets, self.codel))
    }
}
