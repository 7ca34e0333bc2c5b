//! Tests of the gate in virtual time.

use std::net::SocketAddr;

use proptest::prelude::*;
use taut_path::AnyLimit;

use crate::gate::Gate;
use crate::gates::Gates;

const MS: u64 = 1_000_000;
const OVERHEAD_BYTES: u32 = 60;
const THRESHOLD_NS: u64 = 1_000 * MS;

fn gate(limit_bytes: u32) -> Gate {
    Gate::new(
        AnyLimit::bytes(limit_bytes),
        OVERHEAD_BYTES,
        THRESHOLD_NS,
        0,
    )
}

/// The datagram that WireGuard makes of a packet, without outer headers.
fn sealed(inner_bytes: u32) -> u32 {
    inner_bytes.next_multiple_of(16) + 32
}

#[test]
fn bytes_count_from_release_to_departure() {
    let mut gate = gate(3_000);
    gate.release(1_400, 0);
    gate.release(1_400, 0);
    assert!(gate.has_room(0), "2,920 of 3,000");
    gate.release(1_400, 0);
    assert!(!gate.has_room(0));
    assert_eq!((gate.program_bytes, gate.kernel_bytes), (4_380, 0));
    let sent = gate.sent(sealed(1_400), MS);
    assert_eq!(
        (sent.units, gate.program_bytes, gate.kernel_bytes),
        (1_460, 2_920, 1_460)
    );
    assert!(!gate.has_room(MS));
    gate.departed(sent, false, 2 * MS);
    gate.end_batch(2 * MS);
    assert!(gate.has_room(2 * MS));
}

#[test]
fn one_datagram_carries_several_packets() {
    let mut gate = gate(10_000);
    (0..4).for_each(|_| gate.release(300, 0));
    let units = gate.sent(2 * 300 + 60, 0).units;
    assert_eq!((units, gate.program_bytes), (2 * 360, 2 * 360));
}

#[test]
fn handshake_counts_itself() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0);
    assert_eq!(gate.sent(148, 0).units, 208);
    assert_eq!(
        gate.program_bytes, 1_460,
        "the packet is still in the program"
    );
}

#[test]
fn residuals_expire_and_are_counted() {
    let mut gate = gate(2_000);
    gate.release(1_400, 0);
    gate.release(1_400, 0);
    assert!(!gate.check(9 * MS), "not yet");
    assert!(!gate.check(10 * MS), "suspected");
    assert!(!gate.has_room(10 * MS));
    assert!(gate.check(20 * MS), "a second check agrees");
    assert!(gate.has_room(20 * MS));
    let counters = gate.counters;
    assert_eq!(
        (counters.expired_packets, counters.expired_bytes),
        (2, 2_920)
    );
}

#[test]
fn expired_packet_sent_later_is_late() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0);
    gate.check(10 * MS);
    gate.check(20 * MS);
    let handshake = gate.sent(148, 21 * MS);
    assert_eq!(handshake.units, 208);
    assert_eq!(gate.counters.late_residuals, 0);
    let sent = gate.sent(sealed(1_400), 22 * MS);
    assert_eq!(gate.counters.late_residuals, 1);
    gate.departed(sent, false, 23 * MS);
    gate.departed(handshake, false, 23 * MS);
    gate.end_batch(23 * MS);
    assert_eq!((gate.program_bytes, gate.kernel_bytes), (0, 0));
}

#[test]
fn stopped_process_expires_nothing() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0);
    // SIGSTOP for 5 s: the first check is late, and the program continues.
    assert!(!gate.check(5_000 * MS));
    assert_eq!(gate.sent(sealed(1_400), 5_001 * MS).units, 1_460);
    assert_eq!(gate.counters.expired_packets, 0);
}

#[test]
fn expiry_time_doubles_until_the_program_sends() {
    let mut gate = gate(10_000);
    let mut now_ns = 0;
    let mut checks = 0;
    while now_ns < 10_000 * MS {
        gate.release(100, now_ns);
        now_ns = gate.next_wakeup().expect("in flight").max(now_ns + 1);
        gate.check(now_ns);
        checks += 1;
    }
    assert!(checks < 40, "{checks} checks in 10 s");
}

#[test]
fn packet_that_stays_pauses_releases_until_resynchronised() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0); // The program drops this one.
    let mut now_ns = 0;
    while gate.has_room(now_ns) && now_ns < 1_000 * MS {
        now_ns += MS;
        gate.release(1_400, now_ns);
        let sent = gate.sent(sealed(1_400), now_ns);
        gate.departed(sent, false, now_ns);
        gate.end_batch(now_ns);
    }
    assert!(now_ns <= 401 * MS, "{now_ns}");
    let paused_at_ns = now_ns;
    while !gate.has_room(now_ns) && now_ns < 1_000 * MS {
        now_ns += MS;
        gate.check(now_ns);
    }
    assert!(now_ns - paused_at_ns <= 4 * MS, "the path is blocked");
    assert_eq!(gate.program_bytes, 0, "resynchronised");
    assert_eq!(
        (gate.counters.expired_packets, gate.counters.pauses),
        (1, 1)
    );
}

#[test]
fn full_send_buffer_leaves_the_counts() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0);
    gate.release(600, 0);
    let second = {
        gate.sent(sealed(1_400), 0);
        gate.sent(sealed(600), 0)
    };
    gate.unsent(second, sealed(600));
    assert_eq!((gate.program_bytes, gate.kernel_bytes), (660, 1_460));
    assert_eq!(gate.sent(sealed(600), MS).units, 660);
    assert_eq!((gate.program_bytes, gate.kernel_bytes), (0, 2_120));
    assert_eq!(gate.counters.rejected_datagrams, 0);
}

#[test]
fn returned_unmatched_datagram_is_not_counted() {
    let mut gate = gate(10_000);
    for now_ns in 0..20 {
        let sent = gate.sent(148, now_ns);
        gate.unsent(sent, 148);
    }
    assert_eq!((gate.program_bytes, gate.kernel_bytes), (0, 0));
    assert_eq!(gate.limit.in_flight(), 0);
    let counters = gate.counters;
    assert_eq!(
        (counters.unmatched_datagrams, counters.unmatched_bytes),
        (0, 0)
    );
    gate.check(10 * MS);
    gate.check(20 * MS);
    assert_eq!(gate.counters.expired_packets, 0);
}

#[test]
fn returned_handshake_matches_no_packet() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0);
    gate.check(10 * MS);
    gate.check(20 * MS);
    gate.release(1_400, 20 * MS);
    for _ in 0..20 {
        let sent = gate.sent(148, 20 * MS);
        assert_eq!(sent.units, 208);
        gate.unsent(sent, 148);
    }
    assert_eq!(gate.counters.late_residuals, 0);
    gate.sent(sealed(1_400), 20 * MS);
    assert_eq!(gate.counters.unmatched_datagrams, 0);
    // The packet that expired: late, and only once.
    let late = gate.sent(sealed(1_400), 20 * MS);
    gate.unsent(late, sealed(1_400));
    assert_eq!(gate.counters.late_residuals, 0);
    gate.sent(sealed(1_400), 20 * MS);
    let counters = gate.counters;
    assert_eq!(
        (counters.late_residuals, counters.unmatched_datagrams),
        (1, 1)
    );
}

#[test]
fn stall_is_found_at_the_planned_check() {
    let mut gate = gate(2_000);
    let [first, _] = [(); 2].map(|()| {
        gate.release(1_400, 0);
        gate.sent(sealed(1_400), 0)
    });
    let at_ns = gate.next_wakeup().expect("planned");
    assert_eq!(at_ns, THRESHOLD_NS + 1);
    assert!(gate.check(at_ns), "a packet may probe the path");
    let stall = gate.stall(at_ns).expect("stalled");
    assert_eq!((stall.bytes, gate.counters.stalls), (2_920, 1));
    assert!(gate.has_room(at_ns));
    gate.release(1_400, at_ns);
    assert!(!gate.has_room(at_ns), "one in each threshold");
    assert!(gate.next_wakeup() > Some(at_ns), "no busy loop");
    gate.departed(first, false, at_ns + MS);
    assert_eq!(gate.stall(at_ns + MS), None);
}

#[test]
fn departure_of_a_moved_peer_is_stale() {
    let mut gate = gate(2_000);
    gate.release(1_400, 0);
    let sent = gate.sent(sealed(1_400), 0);
    gate.abandon_kernel();
    assert_eq!(gate.kernel_bytes, 0);
    gate.departed(sent, false, MS);
    gate.rejected(sent);
    gate.unsent(sent, sealed(1_400));
    assert_eq!((gate.kernel_bytes, gate.program_bytes), (0, 0));
    assert_eq!(gate.counters.stale_datagrams, 1);
}

#[test]
fn swapped_endpoints_abandon_both_kernels() {
    let mut gates = Gates::new(vec![gate(2_000), gate(2_000)]);
    let endpoints = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 51_820)));
    for (path, &endpoint) in endpoints.iter().enumerate() {
        gates.set_endpoint(path, endpoint);
        gates.sent(1_000, endpoint, 0, 0);
    }
    gates.set_endpoint(0, endpoints[0]);
    assert_eq!(gates.paths[0].kernel_bytes, 1_060, "it did not move");
    gates.set_endpoint(0, endpoints[1]);
    gates.set_endpoint(1, endpoints[0]);
    for (path, &endpoint) in endpoints.iter().rev().enumerate() {
        assert_eq!(gates.paths[path].kernel_bytes, 0, "path {path} moved");
        gates.sent(1_000, endpoint, 0, 0);
        assert_eq!(gates.paths[path].kernel_bytes, 1_060);
    }
}

#[test]
fn completed_bytes_never_exceed_sent_bytes() {
    let mut gate = gate(10_000);
    gate.release(1_400, 0);
    for payload_bytes in [148, sealed(1_400)] {
        let sent = gate.sent(payload_bytes, 0);
        gate.departed(sent, false, 0);
    }
    gate.end_batch(0);
    let counters = gate.counters;
    assert_eq!(
        (counters.released_bytes, counters.unmatched_bytes),
        (1_460, 208)
    );
    assert_eq!(counters.departed_bytes, 1_460 + 208);
}

#[derive(Debug, Clone)]
enum Step {
    Release(u32),
    Send(u32),
    /// Each takes the oldest datagram in the kernel.
    Reject,
    Return,
    Depart(bool),
    Move,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u32..70_000).prop_map(Step::Release),
        4 => (0_u32..70_000).prop_map(Step::Send),
        1 => Just(Step::Reject),
        1 => Just(Step::Return),
        4 => any::<bool>().prop_map(Step::Depart),
        1 => Just(Step::Move),
        3 => (0_u64..2_000).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Releases and datagrams are unrelated here: the program can do anything.
    #[test]
    fn counts_never_underflow(steps in prop::collection::vec(step(), 1..200)) {
        let mut gate = gate(20_000);
        let mut kernel = std::collections::VecDeque::new();
        let mut now_ns = 0;
        for step in steps {
            match step {
                Step::Release(bytes) => gate.release(bytes, now_ns),
                Step::Send(bytes) => {
                    kernel.push_back((gate.sent(bytes, now_ns), bytes));
                }
                Step::Reject => if let Some((sent, _)) = kernel.pop_front() {
                    gate.rejected(sent);
                },
                Step::Return => if let Some((sent, bytes)) = kernel.pop_front() {
                    gate.unsent(sent, bytes);
                },
                Step::Depart(lost) => if let Some((sent, _)) = kernel.pop_front() {
                    gate.departed(sent, lost, now_ns);
                    gate.end_batch(now_ns);
                },
                Step::Move => gate.abandon_kernel(),
                Step::Wait(ms) => {
                    now_ns += ms * MS;
                    gate.check(now_ns);
                    prop_assert!(gate.next_wakeup().is_none_or(|at_ns| at_ns > now_ns));
                }
            }
            let of_epoch = kernel.iter().filter(|it| it.0.epoch == gate.epoch);
            let kernel_bytes: u32 = of_epoch.map(|it| it.0.units).sum();
            prop_assert_eq!(gate.kernel_bytes, kernel_bytes);
            prop_assert_eq!(gate.limit.in_flight(), gate.program_bytes + gate.kernel_bytes);
        }
        // In the end, nothing stays.
        for (sent, _) in kernel {
            gate.departed(sent, false, now_ns);
        }
        gate.end_batch(now_ns);
        for _ in 0..4 {
            now_ns += 2_000 * MS;
            gate.check(now_ns);
        }
        prop_assert_eq!((gate.limit.in_flight(), gate.program_bytes), (0, 0));
    }
}
