//! The cost of a discipline for each packet, enqueue and dequeue together.
//!
//! `full` keeps it at its limit, so that one packet is dropped for each that is sent. `burst`
//! dequeues packets in bursts, as a transmit queue does. Prints the number of drops.

use std::hint::black_box;

use taut_path::qdisc::{Burst, Qdisc, by_name};
use taut_path::{DropReason, Frame, Packet, PacketSink};

/// Queued packets per flow, and the minimum for all flows together.
const PACKETS_EACH: u32 = 2;
const MIN_PACKETS: u32 = 64;

/// Packets per burst: as many as a transmit queue sends per doorbell.
const BURST_PACKETS: usize = 64;

/// Time between two packets, in ns: with 20,000 queued, no packet waits too long.
const STEP_NS: u64 = 100;

/// Dropped packets and a dequeued burst, to be offered again.
struct Spare {
    dropped: Vec<Packet>,
    burst: Vec<Packet>,
}

impl PacketSink for Spare {
    fn freed(&mut self, packet: Packet) {
        self.dropped.push(packet);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.dropped.push(packet);
    }
}

impl Burst for Spare {
    fn push(&mut self, packet: Packet) -> bool {
        self.burst.push(packet);
        self.burst.len() < BURST_PACKETS
    }
}

struct QdiscLoad {
    discipline: Box<dyn Qdisc + Send>,
    spare: Spare,
    now_ns: u64,
}

impl QdiscLoad {
    /// Creates a discipline with packets of `flows` flows, at its limit if `full`.
    fn new(qdisc: &str, flows: u32, full: bool) -> Option<Self> {
        let packets = (PACKETS_EACH * flows).max(MIN_PACKETS);
        let limit = if full { packets } else { packets + 1 };
        let mut load = Self {
            discipline: by_name(&format!("{qdisc} limit {limit}")).ok()?,
            spare: Spare {
                dropped: Vec::with_capacity(4096),
                burst: Vec::with_capacity(BURST_PACKETS),
            },
            now_ns: 0,
        };
        for number in 0..packets {
            let mut packet = Packet::new(Frame::new(number), 64 + number % 1_451);
            // Spread flows as hashes are.
            packet.flow = (number % flows).wrapping_mul(2_654_435_761);
            load.discipline.enqueue(packet, 0, &mut load.spare);
        }
        let extra = if full { 2_048 } else { 0 };
        let spare = |number| Packet::new(Frame::new(packets + number), 1_514);
        load.spare.dropped.extend((0..extra).map(spare));
        Some(load)
    }

    /// Dequeues packets one by one and enqueues them again, and a dropped packet after each.
    /// Returns the number of drops.
    #[inline(never)]
    fn run_one_by_one(&mut self, packets: u64) -> u64 {
        let mut dropped = 0;
        for _ in 0..packets {
            self.now_ns += STEP_NS;
            let Some(packet) = self.discipline.dequeue(self.now_ns, &mut self.spare) else {
                break;
            };
            self.discipline
                .enqueue(packet, self.now_ns, &mut self.spare);
            if let Some(packet) = self.spare.dropped.pop() {
                let before = self.spare.dropped.len();
                self.discipline
                    .enqueue(packet, self.now_ns, &mut self.spare);
                dropped += (self.spare.dropped.len() - before) as u64;
            }
        }
        dropped
    }

    #[inline(never)]
    fn run_in_bursts(&mut self, packets: u64) -> u64 {
        for _ in 0..packets / BURST_PACKETS as u64 {
            self.now_ns += STEP_NS * BURST_PACKETS as u64;
            self.discipline.dequeue_burst(self.now_ns, &mut self.spare);
            let mut burst = std::mem::take(&mut self.spare.burst);
            for packet in burst.drain(..) {
                self.discipline
                    .enqueue(packet, self.now_ns, &mut self.spare);
            }
            self.spare.burst = burst;
        }
        0
    }
}

pub fn run(qdisc: &str, mode: &str, flows: &str, packets: &str) -> Option<String> {
    let flows = flows.parse().ok().filter(|it| (1..100_000).contains(it))?;
    let packets = packets.parse().ok()?;
    let mut load = QdiscLoad::new(qdisc, flows, mode == "full")?;
    let load = black_box(&mut load);
    let dropped = match mode {
        "plain" | "full" => load.run_one_by_one(packets),
        "burst" => load.run_in_bursts(packets),
        _ => return None,
    };
    Some(format!("{dropped} dropped"))
}
