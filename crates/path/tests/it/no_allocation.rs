//! No discipline allocates after its creation.

use taut_path::qdisc::{DISCIPLINES, Qdisc, by_name, marks_ecn};
use taut_path::{DropReason, Ecn, Frame, Packet, PacketSink};

#[derive(Default)]
struct Ends {
    dropped: u64,
    marked: u64,
}

impl PacketSink for Ends {
    fn freed(&mut self, _packet: Packet) {}

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        let _ = packet.into_frame().index();
        self.dropped += 1;
    }

    fn marked(&mut self, _packet: &Packet) {
        self.marked += 1;
    }
}

/// Fills the discipline above its limits, with many flows and priorities, and drains it, three
/// times.
fn fill_and_drain(discipline: &mut dyn Qdisc, ends: &mut Ends) -> u64 {
    let (mut sent, mut now_ns) = (0, 0);
    for repetition in 0..3 {
        for number in 0..4_000u32 {
            let mut packet = Packet::new(Frame::new(number), 64 + number % 1_451);
            packet.flow = (number % 61).wrapping_mul(2_654_435_761) + repetition;
            packet.priority = (number % 16) as u8;
            packet.set_ecn([Ecn::NotCapable, Ecn::Capable][number as usize % 2]);
            now_ns += 1_000;
            discipline.enqueue(packet, now_ns, ends);
        }
        while discipline.backlog().packets > 0 {
            now_ns += 1_000_000;
            if let Some(packet) = discipline.dequeue(now_ns, ends) {
                let _ = packet.into_frame().index();
                sent += 1;
            }
        }
    }
    sent
}

#[test]
fn disciplines_do_not_allocate_after_creation() {
    for name in DISCIPLINES.iter().map(|discipline| discipline.name) {
        let mut discipline = by_name(&format!("{name} limit 1000")).expect(name);
        let mut ends = Ends::default();
        let mut sent = 0;
        let allocations = allocation_counter::measure(|| {
            sent = fill_and_drain(&mut *discipline, &mut ends);
        });
        assert_eq!(allocations.count_total, 0, "{name}");
        assert_eq!(sent + ends.dropped, 12_000, "{name}");
        assert!(ends.dropped > 0, "{name} was full");
        assert_eq!(ends.marked > 0, marks_ecn(name), "{name}");
    }
    // Check of the counter: creation allocates.
    let made = allocation_counter::measure(|| drop(by_name("fq_codel")));
    assert!(made.count_total > 3);
}
