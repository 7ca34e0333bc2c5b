//! One case of what the path costs for each packet, for counting instructions:
//! `path_cost off|fixed|dql BATCH PACKETS`.
//!
//! BATCH packets of 1,514 bytes are enqueued, run, and completed in one round, again and again,
//! through a transmit queue over a ring that does nothing. `scripts/cost.sh` counts two runs of
//! different PACKETS: the difference is the packets' own. Prints what was completed.

use std::collections::VecDeque;
use std::convert::Infallible;

use taut_path::limit::{Limit, LimitSpec, LimitUser};
use taut_path::qdisc::Fifo;
use taut_path::{Completions, DropReason, Frame, Packet, PacketSink, QueueConfig, TxQueue, TxRing};

const SLOTS: u32 = 1024;
const PACKET_BYTES: u32 = 1514;

/// The whole ring is the limit's to give: what is counted is its bookkeeping, not its stops.
const FIXED_BYTES: u32 = SLOTS * PACKET_BYTES;

/// A device that finishes a packet as soon as it is submitted.
struct Instant(VecDeque<Packet>);

impl Instant {
    fn free(&self) -> u32 {
        SLOTS - self.0.len() as u32
    }
}

impl TxRing for Instant {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn slots_of_largest(&self) -> u32 {
        1
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) {
        self.0.push_back(packet);
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Instant {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        for _ in 0..budget_packets {
            match self.0.pop_front() {
                Some(packet) => freed(packet),
                None => break,
            }
        }
        Ok(!self.0.is_empty())
    }
}

/// Counts what comes back.
#[derive(Default)]
struct Freed(u64);

impl PacketSink for Freed {
    fn freed(&mut self, packet: Packet) {
        let _ = packet.into_frame();
        self.0 += 1;
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = packet.into_frame();
    }
}

struct Case {
    batch: u32,
    packets: u32,
}

impl LimitUser for Case {
    type Output = u64;

    fn with<L: Limit + Copy + 'static>(self, limit: L) -> u64 {
        let ring = Instant(VecDeque::with_capacity(SLOTS as usize));
        let discipline = Box::new(Fifo::new(SLOTS));
        let config = QueueConfig::new(SLOTS);
        let mut queue = TxQueue::new(discipline, limit, ring, (), config, 0).expect("valid");
        let (mut freed, mut now_ns) = (Freed::default(), 0);
        for _ in 0..self.packets / self.batch {
            for index in 0..self.batch {
                let packet = Packet::new(Frame::new(index), PACKET_BYTES);
                queue.enqueue(packet, now_ns, &mut freed);
            }
            // More than once while the limit has not grown yet: the rest goes after a completion.
            loop {
                let _ = queue.run(now_ns, &mut freed);
                now_ns += 12_304;
                let round = queue.complete(now_ns, &mut freed).expect("in flight");
                if !round.schedule {
                    break;
                }
            }
        }
        freed.0
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [limit, batch, packets] = &arguments[..] else {
        return usage();
    };
    let limit = match limit.as_str() {
        "off" => LimitSpec::Off,
        "fixed" => LimitSpec::Bytes(FIXED_BYTES),
        "dql" => LimitSpec::Dynamic,
        _ => return usage(),
    };
    let (Ok(batch @ 1..=SLOTS), Ok(packets)) = (batch.parse(), packets.parse()) else {
        return usage();
    };
    println!("{}", limit.give_to(Case { batch, packets }));
}

fn usage() {
    eprintln!("usage: path_cost off|fixed|dql BATCH(1..=1024) PACKETS");
    std::process::exit(2);
}
