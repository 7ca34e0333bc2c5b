//! Measures the cost of the disciplines per packet, enqueue and dequeue together.
//!
//! `qdisc_cost`: packets per second of every discipline with 1, 100, 1,024 and 10,000 active flows.
//! `qdisc_cost QDISC FLOWS PACKETS [full|burst]`: one discipline, for counting its instructions.
//! `full` keeps it at its limit, so that one packet is dropped for each that is sent. `burst`
//! dequeues packets in bursts, as a transmit queue does. `scripts/cost.sh --qdiscs` runs both.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use taut_path::qdisc::{Burst, ParseQdiscError, Qdisc, by_name};
use taut_path::{DropReason, Frame, Packet, PacketSink};

/// Every discipline, and `fq_codel` with so many queues that flows hardly ever share one.
const ROWS: [(&str, How); 9] = [
    ("pfifo_fast", How::Plain),
    ("pfifo", How::Plain),
    ("codel", How::Plain),
    ("fq_codel", How::Plain),
    ("fq_codel flows 16384", How::Plain),
    ("pfifo", How::Burst),
    ("fq_codel flows 16384", How::Burst),
    ("fq_codel", How::Full),
    ("fq_codel flows 16384", How::Full),
];
const ACTIVE_FLOWS: [u32; 4] = [1, 100, 1_024, 10_000];

const ROUNDS: usize = 15;
/// A slice takes a fraction of a millisecond: even on a busy machine most are not interrupted.
const SLICES: usize = 8;
const SLICE_PACKETS: u64 = 1 << 13;
/// More than the maximum backlog, so that each packet was moved once.
const WARM_UP_PACKETS: u64 = 1 << 15;

/// Queued packets per flow, and the minimum for all flows together.
const PACKETS_EACH: u32 = 2;
const LEAST_PACKETS: u32 = 64;

/// Packets per burst: as many as a transmit queue sends per doorbell.
const BURST_PACKETS: usize = 64;

/// Time between two packets, in ns: with 20,000 queued, no packet waits too long.
const STEP_NS: u64 = 100;

/// The pattern of enqueues and dequeues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// One dequeue, one enqueue.
    Plain,
    /// One dequeue, two enqueues, one of which is dropped.
    Full,
    /// Many dequeues, many enqueues.
    Burst,
}

impl How {
    fn by_name(name: &str) -> Option<Self> {
        match name {
            "full" => Some(Self::Full),
            "burst" => Some(Self::Burst),
            _ => None,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Full => ", full",
            Self::Burst => ", burst",
        }
    }
}

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

struct Load {
    how: How,
    discipline: Box<dyn Qdisc + Send>,
    spare: Spare,
    now_ns: u64,
}

impl Load {
    /// Creates a discipline with packets of `flows` flows, at its limit for `Full`.
    fn new(qdisc: &str, flows: u32, how: How) -> Result<Self, ParseQdiscError> {
        let full = how == How::Full;
        let packets = (PACKETS_EACH * flows).max(LEAST_PACKETS);
        let limit = if full { packets } else { packets + 1 };
        let mut load = Self {
            how,
            discipline: by_name(&format!("{qdisc} limit {limit}"))?,
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
        Ok(load)
    }

    /// Dequeues packets and enqueues them again. Returns the number of drops.
    fn run(&mut self, packets: u64) -> u64 {
        match self.how {
            How::Burst => self.run_in_bursts(packets),
            How::Plain | How::Full => self.run_one_by_one(packets),
        }
    }

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

    /// Returns the packets per second of the fastest slice.
    fn best_rate(&mut self) -> f64 {
        self.run(WARM_UP_PACKETS);
        let slices = (0..SLICES).map(|_| {
            let started = Instant::now();
            black_box(self.run(SLICE_PACKETS));
            SLICE_PACKETS as f64 / started.elapsed().as_secs_f64()
        });
        slices.fold(0.0, f64::max)
    }
}

fn table() -> Result<(), ParseQdiscError> {
    println!("million packets in a second, enqueue and dequeue of each: best of {ROUNDS} rounds");
    print!("{:<29}", "active flows");
    ACTIVE_FLOWS.iter().for_each(|flows| print!("{flows:>9}"));
    println!();
    for (qdisc, how) in ROWS {
        print!("{:<29}", format!("{qdisc}{}", how.suffix()));
        for flows in ACTIVE_FLOWS {
            let mut best: f64 = 0.0;
            for _ in 0..ROUNDS {
                best = best.max(Load::new(qdisc, flows, how)?.best_rate());
            }
            print!("{:>9.1}", best / 1e6);
        }
        println!();
    }
    Ok(())
}

fn one(qdisc: &str, flows: &str, packets: &str, how: How) -> Option<()> {
    let flows = flows
        .parse()
        .ok()
        .filter(|flows| (1..100_000).contains(flows))?;
    let packets = packets.parse().ok()?;
    let mut load = Load::new(qdisc, flows, how).ok()?;
    let dropped = black_box(&mut load).run(packets);
    println!("{dropped} dropped");
    Some(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => table().ok(),
        [qdisc, flows, packets] => one(qdisc, flows, packets, How::Plain),
        [qdisc, flows, packets, how] => {
            How::by_name(how).and_then(|how| one(qdisc, flows, packets, how))
        }
        _ => None,
    };
    match done {
        Some(()) => ExitCode::SUCCESS,
        None => {
            eprintln!("usage: qdisc_cost [QDISC FLOWS PACKETS [full|burst]] (FLOWS 1 to 99999)");
            ExitCode::from(2)
        }
    }
}
