//! A burst of packets leaves a discipline as single packets do, and a closed discipline drops its
//! packets without a decision.

use proptest::prelude::*;
use taut_path::qdisc::{Burst, DISCIPLINES, Qdisc, by_name};
use taut_path::{DropReason, Ecn, Frame, Packet, PacketSink};

/// The fate of a packet, by its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Sent(u32, Ecn),
    Dropped(u32, DropReason),
    Marked(u32),
}

/// All actions of a discipline, in order.
#[derive(Debug, Default)]
struct Record {
    fates: Vec<Fate>,
    /// Packets that can still be pushed.
    room: usize,
}

impl Record {
    fn send(&mut self, packet: Packet) {
        let ecn = packet.ecn();
        self.fates
            .push(Fate::Sent(packet.into_frame().index(), ecn));
    }
}

impl PacketSink for Record {
    fn freed(&mut self, _packet: Packet) {
        panic!("a discipline sends nothing by itself");
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let frame = packet.into_frame().index();
        self.fates.push(Fate::Dropped(frame, reason));
    }

    fn marked(&mut self, packet: &Packet) {
        self.fates.push(Fate::Marked(packet.frame().index()));
    }
}

impl Burst for Record {
    fn push(&mut self, packet: Packet) -> bool {
        assert!(self.room > 0, "pushed into a full burst");
        self.room -= 1;
        self.send(packet);
        self.room > 0
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Enqueue { bytes: u32, class: u8 },
    Dequeue { packets: usize },
    Wait { ns: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u32..70_000, any::<u8>()).prop_map(|(bytes, class)| Step::Enqueue { bytes, class }),
        8 => (1u32..2_000, any::<u8>()).prop_map(|(bytes, class)| Step::Enqueue { bytes, class }),
        3 => (1usize..9).prop_map(|packets| Step::Dequeue { packets }),
        2 => (0u64..3_000_000).prop_map(|ns| Step::Wait { ns }),
    ]
}

fn ecn_of(class: u8) -> Ecn {
    [Ecn::NotCapable, Ecn::Capable, Ecn::Marked][usize::from(class) % 3]
}

fn packet(frame: usize, bytes: u32, class: u8) -> Packet {
    let mut packet = Packet::new(Frame::new(frame as u32), bytes).with_charge(bytes + 700);
    (packet.priority, packet.flow) = (class, (class % 7).into());
    packet.set_ecn(ecn_of(class));
    packet
}

/// Every discipline, also with parameters that cause all kinds of drops and marks.
fn disciplines() -> impl Iterator<Item = &'static str> {
    let plain = DISCIPLINES.iter().map(|discipline| discipline.name);
    plain.chain([
        "pfifo limit 9",
        "pfifo_fast limit 9 total",
        "codel target 1ms interval 3ms",
        "codel target 1ms interval 2ms ecn ce_threshold 500us limit 50",
        "fq_codel flows 3 target 1ms interval 3ms memory_limit 256Kb",
        "fq_codel quantum 256 target 1ms interval 2ms noecn limit 30",
        "fq_codel flows 1 target 1ms interval 2ms ce_threshold 2ms",
    ])
}

/// Runs the same steps with one way to dequeue.
fn run(text: &str, steps: &[Step], dequeue: fn(&mut dyn Qdisc, u64, &mut Record)) -> Vec<Fate> {
    let mut discipline = by_name(text).expect(text);
    let mut record = Record::default();
    let mut now_ns = 0;
    for (frame, step) in steps.iter().enumerate() {
        match *step {
            Step::Enqueue { bytes, class } => {
                discipline.enqueue(packet(frame, bytes, class), now_ns, &mut record);
            }
            Step::Dequeue { packets } => {
                record.room = packets;
                dequeue(&mut *discipline, now_ns, &mut record);
            }
            Step::Wait { ns } => now_ns += ns,
        }
    }
    record.room = usize::MAX;
    dequeue(&mut *discipline, now_ns, &mut record);
    assert_eq!(discipline.backlog().packets, 0, "{text}");
    record.fates
}

fn one_by_one(discipline: &mut dyn Qdisc, now_ns: u64, record: &mut Record) {
    while record.room > 0 {
        let Some(packet) = discipline.dequeue(now_ns, record) else {
            break;
        };
        record.room -= 1;
        record.send(packet);
    }
}

proptest! {
    #[test]
    fn burst_equals_repeated_dequeues(
        steps in prop::collection::vec(step(), 1..400),
    ) {
        for text in disciplines() {
            let bursts = run(text, &steps, |discipline, now_ns, record| {
                discipline.dequeue_burst(now_ns, record);
            });
            prop_assert_eq!(bursts, run(text, &steps, one_by_one), "{}", text);
        }
    }

    #[test]
    fn drain_returns_every_packet_without_drops(
        before in prop::collection::vec(step(), 1..200),
        after in prop::collection::vec(step(), 1..100),
    ) {
        for text in disciplines() {
            let mut discipline = by_name(text).expect(text);
            let mut record = Record { room: 3, ..Record::default() };
            for (frame, step) in before.iter().enumerate() {
                if let Step::Enqueue { bytes, class } = *step {
                    discipline.enqueue(packet(frame, bytes, class), 0, &mut record);
                }
            }
            // In the middle of a turn, with all packets late.
            discipline.dequeue_burst(1_000_000_000, &mut record);
            let waiting = discipline.backlog();
            let (mut packets, mut bytes) = (0, 0);
            discipline.drain(&mut |packet| {
                packets += 1;
                bytes += u64::from(packet.wire_bytes());
                let class = match before[packet.frame().index() as usize] {
                    Step::Enqueue { class, .. } => class,
                    _ => panic!("never enqueued"),
                };
                let marked = Fate::Marked(packet.frame().index());
                assert!(packet.ecn() == ecn_of(class) || record.fates.contains(&marked));
                drop(packet.into_frame());
            });
            prop_assert_eq!((packets, bytes), (waiting.packets, waiting.bytes), "{}", text);
            prop_assert_eq!(discipline.backlog(), Default::default(), "{}", text);
            // It works as a new one: no earlier state decides about later packets.
            for (frame, step) in after.iter().enumerate() {
                if let Step::Enqueue { bytes, class } = *step {
                    discipline.enqueue(packet(frame, bytes, class), 1_000_000_000, &mut record);
                }
            }
            record.fates.clear();
            record.room = usize::MAX;
            let waiting = discipline.backlog().packets;
            discipline.dequeue_burst(1_000_000_000, &mut record);
            let sent = |fate: &&Fate| matches!(fate, Fate::Sent(..));
            prop_assert_eq!(record.fates.iter().filter(sent).count() as u64, waiting, "{}", text);
            prop_assert_eq!(record.fates.len() as u64, waiting, "{}", text);
        }
    }
}

/// Pings next to a bulk transfer: each waits longer than the target, but nothing waits behind it.
/// An interval that outlived the empty queue would expire at the next pings.
#[test]
fn empty_flow_queue_clears_codel_state() {
    const MS: u64 = 1_000_000;
    for (text, ping_packets, ping_bytes) in [
        ("fq_codel", 1, 98),
        ("fq_codel", 2, 9_000),
        ("codel", 1, 98),
        ("codel", 2, 9_000),
    ] {
        let mut discipline = by_name(text).expect(text);
        let mut record = Record::default();
        for ping in 0..200 {
            let now_ns = ping * 150 * MS;
            for _ in 0..ping_packets {
                discipline.enqueue(packet(ping as usize, ping_bytes, 6), now_ns, &mut record);
            }
            record.room = usize::MAX;
            discipline.dequeue_burst(now_ns + 20 * MS, &mut record);
        }
        assert_eq!(record.fates.len() as u64, 200 * ping_packets, "{text}");
        let sent = |fate: &Fate| matches!(fate, Fate::Sent(_, Ecn::NotCapable));
        assert!(record.fates.iter().all(sent), "{text}");
    }
}
