//! Model checks of the second gate: two queues, two reapers, one budget.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models budget::`

use loom::sync::Arc;
use loom::thread;

use crate::support::{Counts, Nothing, PACKET_BYTES, Reap, Submit, pair, send_until_asleep};
use taut_path::budget::{self, Budgeted, Setup};
use taut_path::limit::Fixed;
use taut_path::qdisc::Fifo;
use taut_path::queue::{QueueConfig, Reaper, Sender};
use taut_path::{Frame, Packet};

type Limited = Budgeted<Fixed, Fixed>;

/// One queue of the device, with packets in its discipline.
struct Queue {
    sender: Sender<Limited>,
    reaper: Reaper<Limited>,
    submit: Submit,
    reap: Reap,
    counts: Arc<Counts>,
}

/// Two queues with `packets` each under a budget that holds one object, and the one more that a soft
/// limit admits.
fn two_queues<const LOOKS_AGAIN: bool>(packets: [u32; 2]) -> [Queue; 2] {
    let setup = |_| Setup {
        discipline: Box::new(Fifo::new(4)) as _,
        limit: Fixed::off(),
        config: QueueConfig::new(8),
    };
    let setups = [0, 1].map(setup).into();
    let split = if LOOKS_AGAIN {
        budget::split
    } else {
        budget::split_without_a_second_look
    };
    let (_, halves) = split(Fixed::bytes(PACKET_BYTES), 0, setups, 0).expect("valid settings");
    let queues: Vec<Queue> = halves
        .into_iter()
        .zip(packets)
        .map(|((mut sender, reaper), packets)| {
            for index in 0..packets {
                let packet = Packet::new(Frame::new(index), PACKET_BYTES);
                sender.enqueue(packet, 0, &mut Nothing, &mut ());
            }
            let (submit, reap, counts) = pair(8);
            Queue {
                sender,
                reaper,
                submit,
                reap,
                counts,
            }
        })
        .collect();
    queues.try_into().ok().expect("two were set up")
}

/// A queue that sleeps has a wake-up behind it, or something in flight whose completion is to come.
fn assert_not_lost(asleep: bool, wakeups: u64, in_device: u32) {
    assert!(
        !asleep || wakeups > 0 || in_device > 0,
        "lost wake-up: asleep, and nothing in flight"
    );
}

/// One queue waits for room that the other's completion gives back, both at the same time.
fn one_waits_while_the_other_completes<const LOOKS_AGAIN: bool>() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let [mut first, mut second] = two_queues::<LOOKS_AGAIN>([2, 3]);
        // The first fills the budget.
        assert!(send_until_asleep(&mut first.sender, &mut first.submit));
        let completer = {
            let Queue {
                mut sender,
                mut submit,
                mut reaper,
                mut reap,
                ..
            } = first;
            thread::spawn(move || {
                let round = reaper.complete(&mut reap, 1, &mut Nothing, &mut ());
                // It was first in line, and has nothing left to send.
                if round
                    .expect("the driver reports what it was given")
                    .schedule
                {
                    send_until_asleep(&mut sender, &mut submit);
                }
            })
        };
        let asleep = send_until_asleep(&mut second.sender, &mut second.submit);
        completer.join().expect("the reaper does not panic");
        // All of the first is complete, so there is room in the budget: nobody may wait for it but
        // for a wake-up that has come. Its own completions are not looked at here.
        let wakeups = second.reaper.wakeups();
        let room = second.counts.submitted() <= 1;
        assert!(
            !asleep || wakeups > 0 || !room,
            "lost wake-up: asleep, and there is room"
        );
    });
}

#[test]
fn a_queue_that_waits_for_the_budget_is_started_by_the_others_completion() {
    one_waits_while_the_other_completes::<true>();
}

#[test]
#[should_panic(expected = "lost wake-up")]
fn a_queue_that_does_not_look_at_the_budget_again_loses_a_wake_up() {
    one_waits_while_the_other_completes::<false>();
}

/// Both complete at the same time, while both wait.
#[test]
fn two_completions_at_once_leave_nobody_behind() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let [mut first, mut second] = two_queues::<true>([4, 4]);
        assert!(send_until_asleep(&mut first.sender, &mut first.submit));
        assert!(send_until_asleep(&mut second.sender, &mut second.submit));
        let complete = |mut reaper: Reaper<Limited>, mut reap: Reap| {
            reaper
                .complete(&mut reap, 1, &mut Nothing, &mut ())
                .expect("the driver reports what it was given");
            (reaper.wakeups(), reap.reaped)
        };
        let (reaper, reap) = (second.reaper, second.reap);
        let other = thread::spawn(move || complete(reaper, reap));
        let (wakeups, reaped) = complete(first.reaper, first.reap);
        let (other_wakeups, other_reaped) = other.join().expect("the reaper does not panic");
        assert_not_lost(true, wakeups, first.counts.submitted() - reaped);
        assert_not_lost(
            true,
            other_wakeups,
            second.counts.submitted() - other_reaped,
        );
    });
}
