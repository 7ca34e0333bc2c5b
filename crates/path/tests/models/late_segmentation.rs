//! Model checks of GSO packets in chunks: the packet ends once, whichever half sees its end first.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models late_segmentation::`

use std::sync::Mutex;

use loom::thread;

use crate::support::{Reap, Submit, pair};
use taut_path::limit::Fixed;
use taut_path::qdisc::Fifo;
use taut_path::queue::{Completer, Sender};
use taut_path::{DropReason, Frame, LateSegmentation, Packet, PacketSink, Queue, Segmentation};

/// The frames that ended. Not a lock of loom, because it orders nothing.
#[derive(Clone, Default)]
struct Ends(std::sync::Arc<Mutex<Vec<u32>>>);

impl PacketSink for Ends {
    fn freed(&mut self, packet: Packet) {
        assert!(packet.chunk().is_none(), "a chunk in a sink");
        let mut ends = self.0.lock().expect("no thread panics while it is locked");
        ends.push(packet.into_frame().index());
    }

    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.freed(packet);
    }

    fn unknown_completion(&mut self, _packet: Packet) {
        panic!("the ring returns submitted packets only");
    }
}

type Halves = (Sender<Submit, Fifo>, Completer<Reap, Fixed>);

/// A queue with `packets` GSO packets of two segments.
fn queue(limit: Fixed, packets: u32, ends: &mut Ends) -> Halves {
    let (submit, reap, _) = pair(8);
    let halves = Queue::builder(submit, reap)
        .with_limit(limit)
        .with_qdisc(Fifo::new(packets))
        .late_segmentation(LateSegmentation::EachSegment)
        .build_halves(0);
    let (mut sender, completer, _) = halves.expect("valid settings");
    for frame in 0..packets {
        let mut packet = Packet::new(Frame::new(frame), 54 + 150);
        packet.segmentation = Segmentation::new(54, 100);
        sender.enqueue(packet, 0, ends);
    }
    (sender, completer)
}

fn check(limit: Fixed, packets: u32, flushes: bool) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let mut ends = Ends::default();
        let (mut sender, mut completer) = queue(limit, packets, &mut ends);
        let mut theirs = ends.clone();
        let completing = thread::spawn(move || {
            for _ in 0..2 {
                assert!(completer.complete(1, &mut theirs).is_ok());
            }
            completer
        });
        let _ = sender.run(0, &mut ends);
        if flushes {
            sender.flush(0, &mut ends);
        }
        let mut completer = completing.join().expect("the completer does not panic");
        for _ in 0..2 * packets {
            let _ = sender.run(2, &mut ends);
            assert!(completer.complete(2, &mut ends).is_ok());
        }
        let mut ended = ends
            .0
            .lock()
            .expect("no thread panics while it is locked")
            .clone();
        ended.sort_unstable();
        assert_eq!(ended, (0..packets).collect::<Vec<_>>(), "each once");
        assert_eq!(sender.in_flight(), 0);
    });
}

#[test]
fn packet_in_chunks_ends_once() {
    check(Fixed::off(), 1, false);
    check(Fixed::packets(1), 1, false);
}

#[test]
fn packet_with_dropped_remainder_ends_once() {
    check(Fixed::packets(1), 1, true);
}

#[test]
fn place_is_reused_after_a_packet_ended() {
    check(Fixed::packets(1), 2, false);
}
