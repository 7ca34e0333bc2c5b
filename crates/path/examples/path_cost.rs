//! Measures the cost of the path per packet, for counting instructions:
//! `path_cost off|fixed|dql BATCH PACKETS [owned|any|shared|ring|bare]`.
//!
//! BATCH packets of 1,514 bytes are enqueued, run, and completed in one batch, repeatedly, through
//! a transmit queue over a ring that does nothing. `scripts/cost.sh` counts two runs with different
//! PACKETS: the difference is the cost of the packets. Prints the completed packets.
//!
//! `owned` is a queue on one thread with static types of limit and discipline. `any` is one with
//! both chosen by name. `shared` has the halves for two threads (run by one here). `ring` is the
//! example's ring, sink and packet alone. `bare` is the lower bound: the same packets through an
//! `rtrb` ring.

mod device;

use std::cell::RefCell;
use std::convert::Infallible;
use std::hint::black_box;
use std::rc::Rc;

use taut_path::limit::{AnyLimit, Dynamic, Fixed, Limit};
use taut_path::qdisc::{AnyQdisc, Fifo, Qdisc};
use taut_path::{Completions, Frame, LateSegmentation, Packet, PacketSink, Queue, TxRing};

use device::{Freed, Instant, SLOTS, STEP_NS, send_all};

const PACKET_BYTES: u32 = 1514;

/// The limit admits the whole ring, so that its accounting is measured and not its stops.
const FIXED_BYTES: u32 = SLOTS * PACKET_BYTES;

#[derive(Clone, Copy)]
struct Case {
    batch: u32,
    packets: u32,
}

impl Case {
    /// One thread.
    fn owned<L: Limit, Q: Qdisc>(self, limit: L, discipline: Q) -> u64 {
        let builder = Queue::builder_for(Instant::new())
            .with_qdisc(discipline)
            .with_limit(limit)
            .late_segmentation(LateSegmentation::Off);
        let mut queue = builder.build(0).expect("valid");
        let (mut freed, mut now_ns) = (Freed::default(), 0);
        for _ in 0..self.packets / self.batch {
            for index in 0..self.batch {
                let packet = Packet::new(Frame::new(index), PACKET_BYTES);
                queue.enqueue(packet, now_ns, &mut freed);
            }
            send_all(&mut queue, &mut now_ns, &mut freed);
        }
        freed.0
    }

    /// The halves for two threads.
    fn shared<L: Limit, Q: Qdisc>(self, limit: L, discipline: Q) -> u64 {
        let ring = Rc::new(RefCell::new(Instant::new()));
        let halves = Queue::builder(Half(ring.clone()), Half(ring));
        let queue = halves
            .with_qdisc(discipline)
            .with_limit(limit)
            .build_halves(0);
        let (mut sender, mut completer, _watch) = queue.expect("valid");
        let (mut freed, mut now_ns) = (Freed::default(), 0);
        for _ in 0..self.packets / self.batch {
            for index in 0..self.batch {
                let packet = Packet::new(Frame::new(index), PACKET_BYTES);
                sender.enqueue(packet, now_ns, &mut freed);
            }
            loop {
                let _ = sender.run(now_ns, &mut freed);
                now_ns += STEP_NS;
                let round = completer.complete(now_ns, &mut freed).expect("in flight");
                if !round.schedule {
                    break;
                }
            }
        }
        freed.0
    }

    /// The cost of the example's own ring, sink and packet.
    fn ring(self) -> u64 {
        let (mut ring, mut freed, mut now_ns) = (Instant::new(), Freed::default(), 0);
        for _ in 0..self.packets / self.batch {
            for index in 0..self.batch {
                let packet = Packet::new(Frame::new(index), PACKET_BYTES);
                let _ = black_box(&mut ring).submit(packet, now_ns);
            }
            let _ = ring.kick(now_ns);
            now_ns += STEP_NS;
            let sink: &mut dyn PacketSink = black_box(&mut freed);
            let _ = ring.reap(now_ns, u32::MAX, &mut |packet| sink.freed(packet));
        }
        freed.0
    }

    /// The same packets through a ring between two threads only.
    fn bare(self) -> u64 {
        let (mut producer, mut consumer) = rtrb::RingBuffer::<Packet>::new(SLOTS as usize);
        let mut freed = Freed::default();
        for _ in 0..self.packets / self.batch {
            for index in 0..self.batch {
                let packet = Packet::new(Frame::new(index), PACKET_BYTES);
                let _ = black_box(&mut producer).push(packet);
            }
            while let Ok(packet) = black_box(&mut consumer).pop() {
                freed.freed(packet);
            }
        }
        freed.0
    }

    fn under<L: Limit>(self, limit: L, variant: &str) -> Option<u64> {
        match variant {
            "owned" => Some(self.owned(limit, Fifo::new(SLOTS))),
            "shared" => Some(self.shared(limit, Fifo::new(SLOTS))),
            "ring" => Some(self.ring()),
            "bare" => Some(self.bare()),
            _ => None,
        }
    }

    fn run(self, limit: &str, variant: &str) -> Option<u64> {
        match (limit, variant) {
            (_, "any") => {
                let name = if limit == "fixed" { "1514k" } else { limit };
                let limit: AnyLimit = name.parse().ok()?;
                Some(self.owned(limit, "pfifo limit 1024".parse::<AnyQdisc>().ok()?))
            }
            ("off", variant) => self.under(Fixed::off(), variant),
            ("fixed", variant) => self.under(Fixed::bytes(FIXED_BYTES), variant),
            ("dql", variant) => self.under(Dynamic::default(), variant),
            _ => None,
        }
    }
}

/// A half of the ring, for one thread with both.
struct Half(Rc<RefCell<Instant>>);

impl TxRing for Half {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        SLOTS
    }

    #[inline]
    fn slots_free(&self) -> u32 {
        self.0.borrow().free()
    }

    #[inline]
    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        self.0.borrow_mut().submit(packet, now_ns)
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Half {
    type Error = Infallible;

    #[inline]
    fn slots_free(&self) -> u32 {
        self.0.borrow().free()
    }

    #[inline]
    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        self.0.borrow_mut().reap(now_ns, budget_packets, freed)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (limit, batch, packets, variant) = match words[..] {
        [limit, batch, packets] => (limit, batch, packets, "owned"),
        [limit, batch, packets, variant] => (limit, batch, packets, variant),
        _ => return usage(),
    };
    let (Ok(batch @ 1..=SLOTS), Ok(packets)) = (batch.parse(), packets.parse()) else {
        return usage();
    };
    match (Case { batch, packets }).run(limit, variant) {
        Some(completed) => println!("{completed}"),
        None => usage(),
    }
}

fn usage() {
    eprintln!(
        "usage: path_cost off|fixed|dql BATCH(1..=1024) PACKETS [owned|any|shared|ring|bare]"
    );
    std::process::exit(2);
}
