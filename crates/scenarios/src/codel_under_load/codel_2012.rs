//! CoDel with a defect of 2012: once it signals, it can signal every packet until the sojourn time
//! is below the target. This model always does. Only for a reconstruction.

use std::collections::VecDeque;

use taut_path::qdisc::{Backlog, CodelConfig};
use taut_path::{DropReason, Ecn, Packet, PacketSink, Qdisc};

/// Default of `tc`.
const LIMIT_PACKETS: usize = 1000;

pub(super) struct Codel2012 {
    config: CodelConfig,
    /// The packets with their enqueue times, in ns.
    packets: VecDeque<(u64, Packet)>,
    bytes: u64,
    /// Time of the first signal if the sojourn time stays above the target, in ns.
    signals_from_ns: Option<u64>,
}

impl Codel2012 {
    pub fn new(ecn: bool) -> Self {
        let default = CodelConfig::default();
        Self {
            config: CodelConfig { ecn, ..default },
            packets: VecDeque::new(),
            bytes: 0,
            signals_from_ns: None,
        }
    }

    fn pop(&mut self) -> Option<(u64, Packet)> {
        let (since_ns, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some((since_ns, packet))
    }

    /// Returns `true` if a packet enqueued at `since_ns` must be signalled.
    fn signals(&mut self, since_ns: u64, now_ns: u64) -> bool {
        // RFC 8289, 4.1: less than a packet is not a queue.
        let is_good = now_ns - since_ns < self.config.target_ns || self.packets.is_empty();
        if is_good {
            self.signals_from_ns = None;
            return false;
        }
        let interval_ns = self.config.interval_ns;
        let from_ns = *self.signals_from_ns.get_or_insert(now_ns + interval_ns);
        now_ns >= from_ns
    }
}

impl Qdisc for Codel2012 {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back((now_ns, packet));
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        loop {
            let (since_ns, mut packet) = self.pop()?;
            if !self.signals(since_ns, now_ns) {
                return Some(packet);
            }
            if self.config.ecn && packet.ecn() != Ecn::NotCapable {
                packet.set_ecn(Ecn::Marked);
                sink.marked(&packet);
                return Some(packet);
            }
            sink.dropped(packet, DropReason::WaitedTooLong);
        }
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        while let Some((_, packet)) = self.pop() {
            gone(packet);
        }
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        self.packets.len() < LIMIT_PACKETS
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }
}
