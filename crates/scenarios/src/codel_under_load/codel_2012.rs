//! CoDel with a defect that it had in 2012: once it signals, it may signal every packet until the
//! waiting time is below the target. Here it always does. For a reconstruction only.

use std::collections::VecDeque;

use taut_path::qdisc::{Backlog, CodelConfig};
use taut_path::{DropReason, Ecn, Packet, PacketSink, Qdisc};

/// What `tc` chooses.
const LIMIT_PACKETS: usize = 1000;

pub(super) struct Codel2012 {
    config: CodelConfig,
    /// With the time since when each waits, in ns.
    packets: VecDeque<(u64, Packet)>,
    bytes: u64,
    /// It signals at the end of an interval of waiting for too long, in ns.
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

    /// Whether what waited since then is to be signalled.
    fn signals(&mut self, since_ns: u64, now_ns: u64) -> bool {
        // RFC 8289, 4.1: what is less than a packet is no queue.
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
