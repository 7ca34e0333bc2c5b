//! Small queues: the bytes that a flow may have below its socket, and how it resumes.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Books, FakeRing, packet};
use taut_path::limit::Fixed;
use taut_path::tsq::{
    Charges, Flow, FlowBudgets, FlowBudgetsError, LIMIT_2012_BYTES, MAX_FLOWS, ReleasingSink,
    SendRequest, Settings, Sizing, memory_bytes,
};
use taut_path::{DropReason, Ecn, Frame, Packet, PacketSink, Queue, Segmentation};

const MTU_REQUEST: SendRequest = SendRequest {
    packet_bytes: 2_304,
    rate_bytes_per_s: 0,
};

/// The budgets of some flows, and the charges of their packets, each in a frame of its own.
struct Table {
    budgets: FlowBudgets,
    charges: Charges,
    frames: Cell<u32>,
}

impl Deref for Table {
    type Target = FlowBudgets;

    fn deref(&self) -> &FlowBudgets {
        &self.budgets
    }
}

impl Table {
    fn of(budgets: FlowBudgets) -> Self {
        Self {
            charges: budgets.charges(1_000),
            budgets,
            frames: Cell::new(0),
        }
    }

    fn charged(&self, flow: &Flow, charge_bytes: u32) -> Packet {
        let frame = self.frames.replace(self.frames.get() + 1);
        let packet = packet(frame, 1_514).with_charge(charge_bytes);
        assert!(self.charges.charge(flow, &packet));
        packet
    }

    /// Sends packets of an MTU until the flow is throttled.
    fn fill(&self, flow: &Flow) -> Vec<Packet> {
        let sent = || {
            flow.may_send(MTU_REQUEST)
                .then(|| self.charged(flow, 2_304))
        };
        std::iter::from_fn(sent).take(1_000_000).collect()
    }

    fn end(&self, packet: Packet) {
        assert!(self.charges.release(&packet.into_frame()));
    }
}

fn budgets(flows: u32, limit_bytes: u32) -> Table {
    let settings = Settings {
        sizing: Sizing::Fixed,
        limit_bytes,
    };
    Table::of(FlowBudgets::new(flows, settings).expect("valid settings"))
}

/// Returns the tags on the first list.
fn deferred(budgets: &FlowBudgets) -> Vec<u32> {
    let mut tags = Vec::new();
    budgets.run_deferred(|tag| tags.push(tag));
    tags
}

#[test]
fn charges_match_host_memory() {
    assert_eq!(memory_bytes(1_514, None), 2_304);
    assert_eq!(memory_bytes(66, None), 768);
    let cut = Segmentation::new(66, 1_448);
    // 65,160 bytes of payload lie in 16 pages.
    let large = memory_bytes(66 + 45 * 1_448, cut);
    assert_eq!(large, 16 * 4_096 + 512 + 256);
    assert_eq!(memory_bytes(u32::MAX, None), u32::MAX);
}

#[test]
fn flow_exceeds_its_limit_by_one_packet() {
    for (limit_bytes, packets) in [
        (LIMIT_2012_BYTES, 57),
        (40_000, 18),
        // Exactly full is not above the limit.
        (2 * 2_304, 3),
        (2 * 2_304 - 1, 2),
    ] {
        let budgets = budgets(1, limit_bytes);
        let flow = budgets.open(7).expect("a slot");
        let below = budgets.fill(&flow);
        assert_eq!(below.len(), packets, "limit {limit_bytes}");
        let seen = flow.snapshot();
        assert_eq!(seen.charged_bytes, below.len() as u64 * 2_304);
        assert_eq!(seen.packets as usize, below.len());
        assert_eq!(budgets.totals().throttled, 1);
        assert!(seen.is_throttled);
        below.into_iter().for_each(|packet| budgets.end(packet));
    }
}

#[test]
fn flow_with_at_most_one_packet_may_send() {
    let budgets = budgets(1, 0);
    let flow = budgets.open(0).expect("a slot");
    let below = budgets.fill(&flow);
    assert_eq!(below.len(), 2, "whatever the limit and their size");
    below.into_iter().for_each(|packet| budgets.end(packet));
    assert!(flow.may_send(MTU_REQUEST));
}

#[test]
fn only_throttled_flows_with_room_are_listed_once() {
    let budgets = budgets(3, 4_000);
    let idle = budgets.open(1).expect("a slot");
    let flow = budgets.open(2).expect("a slot");
    let mut below = budgets.fill(&flow);
    assert_eq!(deferred(&budgets), [], "no room yet");
    below.push(budgets.charged(&idle, 100_000));
    below.into_iter().for_each(|packet| budgets.end(packet));
    assert!(
        !flow.snapshot().is_throttled,
        "no check needed, the flag is cleared"
    );
    assert!(budgets.has_deferred());
    assert_eq!(deferred(&budgets), [2]);
    assert_eq!(deferred(&budgets), [], "told once");
    assert_eq!(
        (budgets.totals().throttled, budgets.totals().deferred),
        (1, 1)
    );
}

#[test]
fn list_runs_in_order_of_releases() {
    let budgets = budgets(5, 0);
    let flows: Vec<Flow> = (0..5)
        .map(|tag| budgets.open(tag).expect("a slot"))
        .collect();
    let mut below: Vec<Vec<Packet>> = flows.iter().map(|flow| budgets.fill(flow)).collect();
    for flow in [3, 0, 4, 1] {
        below[flow].drain(..).for_each(|packet| budgets.end(packet));
    }
    assert_eq!(deferred(&budgets), [3, 0, 4, 1]);
    below
        .into_iter()
        .flatten()
        .for_each(|packet| budgets.end(packet));
}

#[test]
fn locked_flow_is_left_to_its_owner() {
    let budgets = budgets(1, 0);
    let flow = budgets.open(9).expect("a slot");
    let below = budgets.fill(&flow);
    assert!(flow.try_lock_or_mark(), "the application has the lock");
    below.into_iter().for_each(|packet| budgets.end(packet));
    assert_eq!(
        deferred(&budgets),
        [],
        "not sent while the owner has the lock"
    );
    assert_eq!(budgets.totals().deferred_to_owner, 1);
    assert!(!flow.try_unlock(), "there is work to do");
    assert!(flow.try_unlock());
    assert!(!budgets.has_deferred());
}

#[test]
fn runner_processes_marks_set_while_it_sends() {
    let budgets = budgets(1, 0);
    let flow = budgets.open(9).expect("a slot");
    budgets
        .fill(&flow)
        .into_iter()
        .for_each(|packet| budgets.end(packet));
    let mut runs = 0;
    budgets.run_deferred(|_| {
        runs += 1;
        if runs == 1 {
            assert!(!flow.try_lock_or_mark(), "the runner has the lock");
        }
    });
    assert_eq!(runs, 2);
    assert!(flow.try_lock_or_mark());
}

#[test]
fn panicking_send_keeps_flows_listed_and_unlocked() {
    let budgets = budgets(3, 0);
    let flows = [0, 1, 2].map(|tag| budgets.open(tag).expect("a slot"));
    let below: Vec<Packet> = flows.iter().flat_map(|flow| budgets.fill(flow)).collect();
    below.into_iter().for_each(|packet| budgets.end(packet));
    let run = catch_unwind(AssertUnwindSafe(|| {
        budgets.run_deferred(|tag| {
            assert!(!flows[tag as usize].try_lock_or_mark(), "the runner has it");
            panic!("in the first send");
        })
    }));
    assert!(run.is_err());
    assert!(flows[0].try_lock_or_mark(), "it is unlocked");
    assert!(flows[0].try_unlock());
    assert!(budgets.has_deferred());
    // The flow that panicked comes last, so that the others run even if it always panics.
    assert_eq!(deferred(&budgets), [1, 2, 0]);
    for flow in &flows {
        budgets
            .fill(flow)
            .into_iter()
            .for_each(|packet| budgets.end(packet));
    }
    assert_eq!(deferred(&budgets), [0, 1, 2]);
    drop(flows);
    let again = [0, 1, 2].map(|tag| budgets.open(tag));
    assert!(again.iter().all(Result::is_ok), "no slot stays taken");
}

#[test]
fn rate_sizing_follows_the_pacing_rate() {
    let settings = Settings {
        sizing: Sizing::Rate { time_ns: 1_000_000 },
        limit_bytes: 100_000,
    };
    let budgets = FlowBudgets::new(1, settings).expect("valid");
    let flow = budgets.open(0).expect("a slot");
    for (rate_bytes_per_s, limit_bytes) in [
        (0, 4_608),
        (4_000_000, 4_608),
        (12_500_000, 12_500),
        (1_250_000_000, 100_000),
        (u64::MAX, 100_000),
    ] {
        flow.may_send(SendRequest {
            packet_bytes: 2_304,
            rate_bytes_per_s,
        });
        assert_eq!(
            flow.snapshot().limit_bytes,
            limit_bytes,
            "{rate_bytes_per_s} B/s"
        );
    }
    assert_eq!(flow.max_gso_payload_bytes(), 50_000, "half of the limit");
}

#[test]
fn slot_is_reused_after_the_last_packet() {
    let budgets = budgets(2, 4_000);
    let first = budgets.open(1).expect("a slot");
    let second = budgets.open(2).expect("a slot");
    let mut below = budgets.fill(&first);
    drop(first);
    let full = budgets.open(3).map(drop);
    assert_eq!(full, Err(FlowBudgetsError::Full { flows: 2 }));
    budgets.end(below.remove(0));
    assert!(budgets.open(3).is_err(), "one is still below");
    assert_eq!(budgets.charged_bytes(), 2_304, "and is still counted");
    below.into_iter().for_each(|packet| budgets.end(packet));
    assert_eq!(deferred(&budgets), [], "no open flow to list");
    let third = budgets.open(3).expect("the slot is free");
    let fresh = third.snapshot();
    assert_eq!((fresh.charged_bytes, fresh.packets), (0, 0));
    assert!(!fresh.is_throttled);
    drop(second);
}

#[test]
fn ended_flow_on_the_list_is_not_run() {
    let budgets = budgets(1, 0);
    let flow = budgets.open(1).expect("a slot");
    budgets
        .fill(&flow)
        .into_iter()
        .for_each(|packet| budgets.end(packet));
    drop(flow);
    assert!(budgets.open(2).is_err(), "it is on the list");
    assert_eq!(deferred(&budgets), []);
    assert!(budgets.open(2).is_ok());
}

#[test]
fn invalid_arguments_are_rejected() {
    for flows in [0, MAX_FLOWS + 1] {
        let made = FlowBudgets::new(flows, Settings::default()).map(drop);
        assert_eq!(made, Err(FlowBudgetsError::Flows(flows)));
    }
    let rate_of_nothing = Settings {
        sizing: Sizing::Rate { time_ns: 0 },
        limit_bytes: 1,
    };
    let made = FlowBudgets::new(1, rate_of_nothing).map(drop);
    assert_eq!(made, Err(FlowBudgetsError::RateTimeZero));
}

#[test]
fn early_release_leaves_only_the_byte_limit() {
    for (early, limit, in_ring) in [
        // Two packets exceed the limit of 4,000 bytes of memory by one.
        (false, Fixed::off(), 2),
        // The budget limits nothing, and the ring is the only bound.
        (true, Fixed::off(), 64),
        (true, Fixed::bytes(3_000), 2),
    ] {
        let budgets = budgets(1, 4_000);
        let flow = budgets.open(0).expect("a slot");
        let mut queue = Queue::builder_for(FakeRing::new(64))
            .with_limit(limit)
            .build(0)
            .expect("valid settings");
        let mut books = Books::default();
        for _ in 0..100 {
            let mut sink = ReleasingSink::new(&budgets.charges, &mut books);
            if flow.may_send(MTU_REQUEST) {
                let packet = budgets.charged(&flow, 2_304);
                let frame = Frame::new(packet.frame().index());
                queue.enqueue(packet, 0, &mut sink);
                let _ = queue.run(0, &mut sink);
                // A driver that orphans its packets does this when they reach the ring.
                if early {
                    budgets.charges.release(&frame);
                }
            }
        }
        assert_eq!(queue.device().packets(), in_ring, "early {early}");
        queue.device_mut().finish(usize::MAX);
        let mut sink = ReleasingSink::new(&budgets.charges, &mut books);
        let batch = queue.complete(1, &mut sink).expect("nothing is broken");
        assert_eq!(batch.counts.packets, in_ring as u32);
        assert_eq!(budgets.charged_bytes(), 0, "released exactly once");
    }
}

#[test]
fn frame_has_one_charge_at_a_time() {
    let budgets = budgets(2, LIMIT_2012_BYTES);
    let [first, second] = [1, 2].map(|tag| budgets.open(tag).expect("a slot"));
    let packet = packet(7, 1_514).with_charge(2_304);
    assert!(budgets.charges.charge(&first, &packet));
    assert!(budgets.charges.charge(&second, &packet));
    let charged = [&first, &second].map(|flow| flow.snapshot().charged_bytes);
    assert_eq!(charged, [0, 2_304], "the earlier charge is released");
    assert!(budgets.charges.release(packet.frame()));
    assert!(!budgets.charges.release(packet.frame()), "not twice");
    assert_eq!((budgets.packets(), budgets.charged_bytes()), (0, 0));
}

#[test]
fn frame_above_the_store_is_not_charged() {
    let mut budgets = budgets(1, LIMIT_2012_BYTES);
    let flow = budgets.open(1).expect("a slot");
    let packet = packet(1_000, 1_514);
    assert!(!budgets.charges.charge(&flow, &packet));
    assert!(!budgets.charges.release(packet.frame()));
    budgets.charges.grow(1_001);
    budgets.charges.grow(5);
    assert_eq!(budgets.charges.frames(), 1_001);
    assert!(budgets.charges.charge(&flow, &packet));
    assert_eq!(flow.snapshot().charged_bytes, 1_514);
}

#[test]
fn sink_releases_ended_packets_only() {
    let budgets = budgets(1, LIMIT_2012_BYTES);
    let flow = budgets.open(1).expect("a slot");
    let [mut freed, dropped, unknown] = [0; 3].map(|_| budgets.charged(&flow, 100));
    freed.set_ecn(Ecn::Marked);
    let mut books = Books::default();
    let mut sink = ReleasingSink::new(&budgets.charges, &mut books);
    sink.marked(&freed);
    sink.chunk_freed(&freed);
    sink.segments_dropped(&freed, DropReason::QueueFull);
    assert_eq!(flow.snapshot().packets, 3);
    sink.freed(freed);
    assert_eq!(flow.snapshot().packets, 2);
    sink.dropped(dropped, DropReason::QueueFull);
    assert_eq!(flow.snapshot().packets, 1);
    sink.unknown_completion(unknown);
    assert_eq!(flow.snapshot().packets, 1, "its frame might be in use");
    let mut sink = ReleasingSink::new(None, &mut books);
    sink.freed(packet(2, 100));
    assert_eq!(flow.snapshot().packets, 1, "no charges, no release");
}
