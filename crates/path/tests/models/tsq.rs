//! Model checks of small queues: no flow with room stays throttled and unlisted, and no slot or
//! byte is lost, in any order of two threads' reads and writes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --test models tsq::`

use loom::sync::Arc;
use loom::thread;

use taut_path::tsq::{Charges, Flow, FlowBudgets, SendRequest, Settings, Sizing};
use taut_path::{Frame, Packet};

/// A model with a bound on preemptions, within which all orders are explored.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// A table in which a second packet of a flow exceeds its limit.
fn budgets() -> FlowBudgets {
    let settings = Settings {
        sizing: Sizing::Fixed,
        limit_bytes: 0,
    };
    FlowBudgets::new(1, settings).expect("valid settings")
}

/// A packet below the flow, which any thread can end.
struct Below(Arc<Charges>, Packet);

fn end(below: Below) {
    let Below(charges, packet) = below;
    assert!(charges.release(&packet.into_frame()));
}

fn charged(charges: &Arc<Charges>, flow: &Flow, frame: u32) -> Below {
    let packet = Packet::new(Frame::new(frame), 100);
    assert!(charges.charge(flow, &packet));
    Below(charges.clone(), packet)
}

/// A table with one flow, and room for the charges of three packets.
fn table() -> (FlowBudgets, Flow, Arc<Charges>) {
    let budgets = budgets();
    let flow = budgets.open(7).expect("a slot");
    let charges = Arc::new(budgets.charges(3));
    (budgets, flow, charges)
}

/// The flow finds no room while its packets are freed; then it must be listed.
#[test]
fn flow_throttled_during_a_release_is_deferred() {
    check(|| {
        let (budgets, flow, charges) = table();
        let [first, second] = [0, 1].map(|frame| charged(&charges, &flow, frame));
        let completer = thread::spawn(move || {
            end(first);
            end(second);
        });
        let throttled = !flow.may_send(SendRequest::default());
        completer.join().expect("the completer does not panic");
        let mut run = 0;
        budgets.run_deferred(|tag| run += tag);
        assert!(!throttled || run == 7, "lost wake-up: room, and on no list");
        assert!(!flow.snapshot().is_throttled);
        assert_eq!(budgets.charged_bytes(), 0);
    });
}

/// Two threads free the two packets; each alone makes room.
#[test]
fn one_of_two_releases_lists_the_flow() {
    check(|| {
        let (budgets, flow, charges) = table();
        let [first, second, third] = [0, 1, 2].map(|frame| charged(&charges, &flow, frame));
        assert!(!flow.may_send(SendRequest::default()));
        let completer = thread::spawn(move || end(first));
        end(second);
        completer.join().expect("the completer does not panic");
        let mut run = Vec::new();
        budgets.run_deferred(|tag| run.push(tag));
        assert_eq!(run, [7], "lost wake-up, or listed twice");
        end(third);
    });
}

/// The list runs while another packet is freed and makes room again.
#[test]
fn release_during_a_run_is_not_lost() {
    check(|| {
        let (budgets, flow, charges) = table();
        let [first, second] = [0, 1].map(|frame| charged(&charges, &flow, frame));
        assert!(!flow.may_send(SendRequest::default()));
        end(first);
        // On the list; throttled again, and freed while the list runs.
        let third = charged(&charges, &flow, 2);
        assert!(!flow.may_send(SendRequest::default()));
        let completer = thread::spawn(move || {
            end(second);
            end(third);
        });
        let mut sent_at = 0;
        budgets.run_deferred(|_| sent_at = flow.snapshot().packets);
        completer.join().expect("the completer does not panic");
        // A run that was too early must be followed by another.
        let listed_again = sent_at <= 1 || budgets.has_deferred();
        assert!(
            listed_again,
            "lost wake-up: run with {sent_at} packets below"
        );
    });
}

/// The flow ends while its packet is freed: the slot is free afterwards, once.
#[test]
fn slot_is_free_after_flow_and_packets_ended() {
    check(|| {
        let (budgets, flow, charges) = table();
        let [first, second] = [0, 1].map(|frame| charged(&charges, &flow, frame));
        flow.may_send(SendRequest::default());
        end(first);
        let completer = thread::spawn(move || end(second));
        drop(flow);
        let early = budgets.open(8);
        completer.join().expect("the completer does not panic");
        budgets.run_deferred(|tag| assert_eq!(tag, 8, "a flow that ended"));
        assert_eq!((budgets.packets(), budgets.charged_bytes()), (0, 0));
        assert!(early.is_ok() || budgets.open(9).is_ok(), "the slot is lost");
    });
}
