//! What the disciplines cost for each packet, enqueue and dequeue together.
//!
//! `qdisc_cost`: packets a second of every discipline with 1, 100, 1,024 and 10,000 active flows.
//! `qdisc_cost QDISC FLOWS PACKETS [full]`: one of them alone, for counting its instructions;
//! `full` keeps it at its limit, so that one packet is dropped for each that is sent.
//! `scripts/qdisc_cost.sh` runs both.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use taut_path::qdisc::{ParseQdiscError, Qdisc, by_name};
use taut_path::{DropReason, Frame, Packet, PacketSink};

const DISCIPLINES: [&str; 5] = [
    "pfifo_fast",
    "pfifo",
    "codel",
    "fq_codel",
    "fq_codel flows 65536",
];
const ACTIVE_FLOWS: [u32; 4] = [1, 100, 1_024, 10_000];
const PACKETS: u64 = 1 << 22;

/// Packets that each flow has waiting, and the least for all of them together.
const PACKETS_EACH: u32 = 2;
const LEAST_PACKETS: u32 = 64;

/// Between two packets, in ns: with 20,000 waiting, nothing waits for too long.
const STEP_NS: u64 = 100;

/// Packets that were dropped, to be offered again.
struct Dropped(Vec<Packet>);

impl PacketSink for Dropped {
    fn freed(&mut self, packet: Packet) {
        self.0.push(packet);
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.0.push(packet);
    }
}

struct Load {
    discipline: Box<dyn Qdisc + Send>,
    spare: Dropped,
    now_ns: u64,
}

impl Load {
    /// A discipline in which `flows` flows wait, at its limit if it is to be `full`.
    fn new(qdisc: &str, flows: u32, full: bool) -> Result<Self, ParseQdiscError> {
        let packets = (PACKETS_EACH * flows).max(LEAST_PACKETS);
        let limit = if full { packets } else { packets + 1 };
        let mut load = Self {
            discipline: by_name(&format!("{qdisc} limit {limit}"))?,
            spare: Dropped(Vec::with_capacity(4096)),
            now_ns: 0,
        };
        for number in 0..packets {
            let mut packet = Packet::new(Frame::new(number), 64 + number % 1_451);
            // Far from each other, as hashes are.
            packet.flow = (number % flows).wrapping_mul(2_654_435_761);
            load.discipline.enqueue(packet, 0, &mut load.spare);
        }
        let extra = if full { 2_048 } else { 0 };
        let spare = |number| Packet::new(Frame::new(packets + number), 1_514);
        load.spare.0.extend((0..extra).map(spare));
        Ok(load)
    }

    /// Takes packets out and puts them in again. Returns how many were dropped meanwhile.
    #[inline(never)]
    fn run(&mut self, packets: u64) -> u64 {
        let mut dropped = 0;
        for _ in 0..packets {
            self.now_ns += STEP_NS;
            let Some(packet) = self.discipline.dequeue(self.now_ns, &mut self.spare) else {
                break;
            };
            self.discipline
                .enqueue(packet, self.now_ns, &mut self.spare);
            if let Some(packet) = self.spare.0.pop() {
                let before = self.spare.0.len();
                self.discipline
                    .enqueue(packet, self.now_ns, &mut self.spare);
                dropped += (self.spare.0.len() - before) as u64;
            }
        }
        dropped
    }

    fn packets_per_s(&mut self, packets: u64, clock: &Clock) -> f64 {
        self.run(packets / 8);
        let start_ns = clock.now_ns();
        black_box(self.run(packets));
        packets as f64 * 1e9 / (clock.now_ns() - start_ns).max(1) as f64
    }
}

/// The processor time of this process, or the time on the wall where the kernel does not tell.
struct Clock {
    started: Instant,
}

impl Clock {
    fn now_ns(&self) -> u64 {
        let told = std::fs::read_to_string("/proc/self/schedstat").ok();
        told.and_then(|text| text.split_whitespace().next()?.parse().ok())
            .unwrap_or_else(|| self.started.elapsed().as_nanos() as u64)
    }
}

fn table() -> Result<(), ParseQdiscError> {
    let clock = Clock {
        started: Instant::now(),
    };
    println!("million packets in a second of processor time, enqueue and dequeue of each");
    println!("(less on a machine that is busy with something else)");
    print!("{:<26}", "active flows");
    for flows in ACTIVE_FLOWS {
        print!("{flows:>9}");
    }
    println!();
    for (qdisc, full) in DISCIPLINES
        .map(|qdisc| (qdisc, false))
        .into_iter()
        .chain([("fq_codel", true), ("fq_codel flows 65536", true)])
    {
        let name = format!("{qdisc}{}", if full { ", full" } else { "" });
        print!("{name:<26}");
        for flows in ACTIVE_FLOWS {
            let rate = Load::new(qdisc, flows, full)?.packets_per_s(PACKETS, &clock);
            print!("{:>9.1}", rate / 1e6);
        }
        println!();
    }
    Ok(())
}

fn one(qdisc: &str, flows: &str, packets: &str, full: bool) -> Option<()> {
    let flows = flows
        .parse()
        .ok()
        .filter(|flows| (1..100_000).contains(flows))?;
    let packets = packets.parse().ok()?;
    let mut load = Load::new(qdisc, flows, full).ok()?;
    let dropped = black_box(&mut load).run(packets);
    println!("{dropped} dropped");
    Some(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => table().ok(),
        [qdisc, flows, packets] => one(qdisc, flows, packets, false),
        [qdisc, flows, packets, "full"] => one(qdisc, flows, packets, true),
        _ => None,
    };
    match done {
        Some(()) => ExitCode::SUCCESS,
        None => {
            eprintln!("usage: qdisc_cost [QDISC FLOWS PACKETS [full]] (FLOWS 1 to 99999)");
            ExitCode::from(2)
        }
    }
}
