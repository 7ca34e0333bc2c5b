//! Limits under a clock that jumps.

use std::convert::Infallible;

use taut_path::{AnyLimit, Completions, Frame, LateSegmentation, Packet, Queue, TxRing};

use crate::support::wire::Wire;
use crate::support::{FreedOnly, Random};

const SECOND_NS: u64 = 1_000_000_000;
const BYTES_PER_S: u64 = 125_000_000;
/// The device interrupts each 100 us.
const ROUND_NS: u64 = 100_000;

/// A wire with a clock of its own, which does not jump.
struct Steady {
    wire: Wire,
    now_ns: u64,
}

impl TxRing for Steady {
    type Error = Infallible;

    fn capacity_slots(&self) -> u32 {
        self.wire.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(&self.wire)
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.wire.submit(packet, self.now_ns)
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Completions for Steady {
    type Error = Infallible;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(&self.wire)
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Infallible> {
        self.wire.reap(self.now_ns, budget, freed)
    }
}

/// The share of the last second in which a wire of 1 Gbit/s was busy, in percent. The clock of the
/// queue jumps by up to `jump_ns` in one round of ten.
fn busy_percent(limit: &str, jump_ns: i64) -> u64 {
    let device = Steady {
        wire: Wire::new(BYTES_PER_S, 256),
        now_ns: 0,
    };
    let limit: AnyLimit = limit.parse().expect("a limit");
    let queue = Queue::builder_for(device)
        .limit(limit)
        .late_segmentation(LateSegmentation::Off);
    let mut queue = queue.build(0).expect("valid");
    let (mut random, mut offset_ns) = (Random(7), 5 * SECOND_NS);
    let mut busy_before_ns = 0;
    for round in 0..4 * SECOND_NS / ROUND_NS {
        let real_ns = round * ROUND_NS;
        if random.below(10) == 0 {
            let jump_ns = random.below(2 * jump_ns as u64) as i64 - jump_ns;
            offset_ns = offset_ns.saturating_add_signed(jump_ns);
        }
        if real_ns == 3 * SECOND_NS {
            busy_before_ns = queue.device().wire.busy_ns;
        }
        let now_ns = real_ns + offset_ns;
        queue.device_mut().now_ns = real_ns;
        let _ = queue.complete(now_ns, &mut FreedOnly);
        while queue.backlog().packets < 60 {
            queue.enqueue(Packet::new(Frame::new(0), 1_500), now_ns, &mut FreedOnly);
        }
        let _ = queue.run(now_ns, &mut FreedOnly);
    }
    (queue.device().wire.busy_ns - busy_before_ns) * 100 / SECOND_NS
}

#[test]
fn clock_jumps_cost_a_twentieth_of_the_link() {
    for limit in ["taut:1ms", "dql:1ms", "taut", "dql"] {
        for jump_ns in [1_000, 1_000_000, SECOND_NS as i64] {
            let percent = busy_percent(limit, jump_ns);
            assert!(percent >= 95, "{limit}, jumps of {jump_ns} ns: {percent} %");
        }
    }
}
