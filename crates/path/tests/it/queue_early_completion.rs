//! Devices that complete packets before `submit` or `kick` returns.

use crate::support::{Bench, Books, Broken, FakeRing, SharedRing, packet};
use taut_path::limit::Dynamic;
use taut_path::queue::{Completer, QueueConfig};
use taut_path::{Packet, Queue, Stop, TxRing};

/// A device that completes, interrupts and is reaped before `submit` returns.
struct Hasty {
    ring: SharedRing,
    /// Set after the queue is split.
    completer: Option<Completer<SharedRing, Dynamic>>,
    books: Books,
}

impl TxRing for Hasty {
    type Error = Broken;

    fn capacity_slots(&self) -> u32 {
        self.ring.capacity_slots()
    }

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(&self.ring)
    }

    fn submit(&mut self, packet: Packet, now_ns: u64) -> Result<(), Packet> {
        let bytes = packet.wire_bytes();
        self.ring.submit(packet, now_ns)?;
        self.ring.kick(now_ns).expect("nothing is broken");
        self.ring.get().finish(1);
        let completer = self.completer.as_mut().expect("the queue is split");
        let batch = completer.complete(now_ns, &mut self.books);
        assert_eq!(batch.map(|batch| batch.counts.bytes), Ok(bytes));
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Broken> {
        Ok(())
    }
}

#[test]
fn packet_is_counted_before_it_can_complete() {
    let ring = SharedRing::new(8);
    let device = Hasty {
        ring: ring.clone(),
        completer: None,
        books: Books::default(),
    };
    let queue = Queue::builder(device, ring)
        .with_limit(Dynamic::default())
        .build_halves(0);
    let (mut sender, completer, _) = queue.expect("the defaults are valid");
    sender.ring_mut().completer = Some(completer);
    let mut books = Books::default();
    for frame in 0..100 {
        sender.enqueue(packet(frame, 60 + frame), 0, &mut books);
    }
    assert_eq!(sender.run(0, &mut books), Stop::Idle);
    assert_eq!(sender.ring().books.freed, (0..100).collect::<Vec<_>>());
    assert_eq!(sender.in_flight(), 0);
}

#[test]
fn completion_inside_the_doorbell_is_valid() {
    let mut ring = FakeRing::new(64);
    ring.instant = true;
    let mut bench = Bench::with(Dynamic::default(), ring, QueueConfig::default(), ());
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
