//! Devices that finish packets before the sender has returned from handing them over.

use crate::support::{Bench, Books, Broken, FakeRing, packet};
use taut_path::limit::Dynamic;
use taut_path::queue::{self, QueueConfig, Reaper};
use taut_path::{Packet, Stop, TxRing};

/// A device that finishes, interrupts and is reaped before `submit` returns.
struct Hasty {
    ring: FakeRing,
    reaper: Reaper<Dynamic>,
    books: Books,
}

impl TxRing for Hasty {
    type Error = Broken;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(&self.ring)
    }

    fn slots_of_largest(&self) -> u32 {
        1
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) {
        let bytes = packet.wire_bytes;
        self.ring.submit(packet, now_ns);
        self.ring.kick(now_ns).expect("nothing is broken");
        self.ring.finish(1);
        let round = self
            .reaper
            .complete(&mut self.ring, now_ns, &mut self.books, &mut ());
        assert_eq!(round.map(|round| round.done.bytes), Ok(bytes));
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Broken> {
        Ok(())
    }
}

#[test]
fn a_packet_is_accounted_for_before_the_device_can_finish_it() {
    let discipline = taut_path::qdisc::by_name("pfifo").expect("it is in the table");
    let (mut sender, reaper) =
        queue::split(discipline, Dynamic::default(), QueueConfig::new(8), 0).expect("valid");
    let mut books = Books::default();
    for frame in 0..100 {
        sender.enqueue(packet(frame, 60 + frame), 0, &mut books, &mut ());
    }
    let mut device = Hasty {
        ring: FakeRing::new(8),
        reaper,
        books: Books::default(),
    };
    assert_eq!(sender.run(&mut device, 0, &mut books, &mut ()), Stop::Idle);
    assert_eq!(device.books.freed, (0..100).collect::<Vec<_>>());
    assert_eq!(sender.in_flight(), 0);
}

#[test]
fn what_is_finished_inside_the_doorbell_never_counts_as_too_much() {
    let mut ring = FakeRing::new(64);
    ring.instant = true;
    let mut bench = Bench::with(Dynamic::default(), ring, QueueConfig::new(64), ());
    bench.enqueue(200, 1_514);
    let mut rounds = 0;
    while bench.run() != Stop::Idle {
        assert!(bench.complete(0).schedule);
        rounds += 1;
        assert!(rounds <= 200, "no progress");
    }
    bench.complete(0);
    assert_eq!(bench.books.freed.len(), 200);
    assert_eq!(bench.queue.snapshot().in_flight, 0);
}
