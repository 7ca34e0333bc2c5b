//! The command with a limit and a discipline of its own, in every verb:
//!
//! ```text
//! cargo run --example own_rule -- sim rr-under-load --limit double --qdisc newest
//! ```

use std::fmt;
use std::process::ExitCode;

use taut_path::limit::{CompletionBatch, Limit, LimitInfo};
use taut_path::qdisc::{Backlog, Qdisc};
use taut_path::{AnyLimit, DropReason, Packet, PacketSink, Registry};

// ANCHOR: main
fn main() -> ExitCode {
    let mut registry = Registry::new();
    let double = registry.register_limit(DOUBLE, |_| Ok(AnyLimit::new(Double::default())));
    let newest = registry.register_qdisc("newest", "the newest packet first", |it| match it {
        "" => Ok(Box::new(Newest::default())),
        _ => Err(format!("newest takes no parameters, not {it:?}")),
    });
    double.and(newest).expect("the names are free");
    taut::run(std::env::args_os(), registry)
}
// ANCHOR_END: main

const DOUBLE: LimitInfo = LimitInfo {
    name: "double",
    usage: "double",
    help: "twice the largest completion batch",
    adapts: true,
};

/// Twice the largest completion batch since the start.
#[derive(Debug, Clone, Default)]
struct Double {
    max_batch: u32,
}

impl Limit for Double {
    fn limit(&self) -> u32 {
        2 * self.max_batch
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        self.max_batch = self.max_batch.max(batch.units);
        self.limit()
    }

    fn reset(&mut self, _now_ns: u64) {
        self.max_batch = 0;
    }
}

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DOUBLE.name)
    }
}

const MAX_PACKETS: u32 = 1_000;

/// The newest packet is sent first; a packet above the maximum is dropped.
#[derive(Default)]
struct Newest {
    packets: Vec<Packet>,
    bytes: u64,
}

impl Newest {
    fn take(&mut self) -> Option<Packet> {
        let packet = self.packets.pop()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some(packet)
    }
}

impl Qdisc for Newest {
    fn enqueue(&mut self, packet: Packet, _now_ns: u64, sink: &mut dyn PacketSink) {
        if !self.accepts(&packet) {
            return sink.dropped(packet, DropReason::QueueFull);
        }
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push(packet);
    }

    fn dequeue(&mut self, _now_ns: u64, _sink: &mut dyn PacketSink) -> Option<Packet> {
        self.take()
    }

    fn drain(&mut self, gone: &mut dyn FnMut(Packet)) {
        // One at a time: the backlog is exact if `gone` panics.
        while let Some(packet) = self.take() {
            gone(packet);
        }
    }

    fn max_packets(&self) -> Option<u32> {
        Some(MAX_PACKETS)
    }

    fn accepts(&self, _packet: &Packet) -> bool {
        self.packets.len() < MAX_PACKETS as usize
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }
}
