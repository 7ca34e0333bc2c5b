//! Model checks of the recheck of a budget. A sender that does not check the room again after it
//! closed its gate loses a wake-up; the check must detect that.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib budget::models`

use alloc::sync::Arc;
use alloc::vec;
use core::cell::Cell;

use loom::thread;

use super::{Member, attach_as};
use crate::limit::{AnyLimit, Fixed};
use crate::models_support::{Counts, Nothing, PACKET_BYTES, Reap, Submit, pair, send_until_asleep};
use crate::packet::{Frame, Packet};
use crate::qdisc::Fifo;
use crate::queue::shared::Shared;
use crate::queue::{Admission, Builder, Queue, Sender};
use crate::sharing::Threads;

/// A member that does not recheck the budget after its gate was closed.
struct Hasty {
    member: Member,
    shared: Arc<Shared<Threads>>,
    is_hasty: bool,
}

impl Admission for Hasty {
    const SHARED: bool = true;

    fn admits(&self, limit_has_room: bool) -> bool {
        let looks = !self.is_hasty || !limit_has_room || !self.shared.is_stopped_by_stack();
        looks && self.member.admits(limit_has_room)
    }

    fn can_charge(&self, bytes: u32) -> bool {
        self.member.can_charge(bytes)
    }

    fn charge(&self, bytes: u32, now_ns: u64) {
        self.member.charge(bytes, now_ns);
    }

    fn note_blocked(&self) {
        self.member.note_blocked();
    }

    fn share_room(&self) {
        if !self.is_hasty || !self.shared.is_stopped_by_stack() {
            self.member.share_room();
        }
    }
}

type QueueBuilder = Builder<(Submit, Reap), Fixed, Fifo, ()>;

fn queue() -> (QueueBuilder, loom::sync::Arc<Counts>) {
    let (submit, reap, counts) = pair(8);
    let builder = Queue::builder(submit, reap)
        .with_limit(Fixed::off())
        .with_qdisc(Fifo::new(4));
    (builder, counts)
}

fn enqueue<A: Admission>(sender: &mut Sender<Submit, Fifo, (), A>, packets: u32) {
    for index in 0..packets {
        let packet = Packet::new(Frame::new(index), PACKET_BYTES);
        sender.enqueue(packet, 0, &mut Nothing);
    }
}

/// The first queue fills the budget and completes, while the second waits for room. `admission`
/// builds the admission of a sender, for the second queue if the flag is set.
fn one_waits_while_the_other_completes<A: Admission>(
    admission: fn(Member, Arc<Shared<Threads>>, bool) -> A,
) where
    A: Send + 'static,
{
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let ((first, _), (second, counts)) = (queue(), queue());
        let rule = AnyLimit::bytes(PACKET_BYTES);
        let is_second = Cell::new(false);
        let attached = attach_as(rule, 0, vec![first, second], 0, |member, shared| {
            admission(member, shared.clone(), is_second.replace(true))
        });
        let (_, halves) = attached.expect("the rule counts bytes");
        let mut halves = halves.into_iter();
        let (Some(first), Some(second)) = (halves.next(), halves.next()) else {
            unreachable!("two queues were attached");
        };
        let (mut sender, mut completer, _) = first;
        enqueue(&mut sender, 2);
        assert!(send_until_asleep(&mut sender));
        let completing = thread::spawn(move || {
            let completed = completer.complete(1, &mut Nothing);
            // It is the first in line, and has nothing left to send.
            if completed.expect("no error").schedule {
                send_until_asleep(&mut sender);
            }
        });
        let (mut sender, completer, _) = second;
        enqueue(&mut sender, 3);
        let asleep = send_until_asleep(&mut sender);
        completing.join().expect("the completer does not panic");
        // All of the first queue is complete, so the budget has room. The second queue may wait for
        // it only if it was woken. Its own completions are not reaped here.
        let has_room = counts.submitted() <= 1;
        assert!(
            !asleep || completer.wakeups() > 0 || !has_room,
            "lost wake-up: asleep, and there is room"
        );
    });
}

#[test]
fn completion_of_another_queue_starts_one_that_waits() {
    one_waits_while_the_other_completes(|member, _, _| member);
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn sender_without_recheck_loses_a_wakeup() {
    one_waits_while_the_other_completes(|member, shared, is_hasty| Hasty {
        member,
        shared,
        is_hasty,
    });
}
