//! A mark of the discipline is counted, reported to the probe and the sink, and submitted.

use crate::support::{Books, FakeRing, packet};
use taut_path::{AnyLimit, Ecn, Event, Probe, Queue, Stop};

#[derive(Default)]
struct Marks(Vec<(u64, u32)>);

impl Probe for Marks {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Event::Marked(packet) = event {
            self.0.push((now_ns, packet.frame().index()));
        }
    }
}

#[test]
fn mark_is_counted_reported_and_submitted() {
    let qdisc = "fq_codel ce_threshold 1ms".parse();
    let mut queue = Queue::builder_for(FakeRing::new(64))
        .qdisc(qdisc.expect("it is well formed"))
        .limit(AnyLimit::off())
        .probe(Marks::default())
        .build(0)
        .expect("the settings are valid");
    let mut books = Books::default();
    for frame in 0..6 {
        let mut packet = packet(frame, 1514);
        packet.set_ecn([Ecn::NotCapable, Ecn::Capable, Ecn::Marked][frame as usize % 3]);
        queue.enqueue(packet, 0, &mut books);
    }
    assert_eq!(queue.run(1_000_001, &mut books), Stop::Idle);
    // Frames 2 and 5 arrived with a mark, which is kept and not counted.
    assert_eq!(books.marked, [1, 4]);
    assert_eq!(queue.probe().0, [(1_000_001, 1), (1_000_001, 4)]);
    assert_eq!(queue.sender_counters().marked_packets, 2);
    let in_device = queue.device().in_device.iter();
    let marked: Vec<u32> = in_device
        .filter(|packet| packet.ecn() == Ecn::Marked)
        .map(|packet| packet.frame().index())
        .collect();
    assert_eq!(marked, [1, 2, 4, 5]);
    assert_eq!(books.dropped, []);
}
