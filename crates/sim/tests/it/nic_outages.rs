//! A simulated NIC with link-down, stalls and removal: every packet ends once.

use crate::outages::{DeviceState, Outages};
use proptest::prelude::*;
use taut_path::pool::FramePool;
use taut_path::tunables::{Setting, Tunable};
use taut_path::{AnyLimit, Queue};
use taut_sim::nic::{
    DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig, NicEvent,
};

const FRAMES: u32 = 300;
const STEP_NS: u64 = 100_000;

type Device = Outages<EmulatedNic>;

struct Sender {
    queue: Queue<Device>,
    pool: FramePool,
    now_ns: u64,
    sent: u64,
    late: u64,
    longest_stall_ns: u64,
    wire_frames: u64,
}

impl Sender {
    fn new(limit: &str) -> Self {
        let nic = EmulatedNic::new(NicConfig {
            rate_bits_per_s: 100_000_000,
            framing: Framing::ETHERNET,
            slots: 64,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(STEP_NS),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: 1,
        })
        .expect("the settings are valid");
        let mut queue = Queue::builder_for(Outages::new(nic))
            .limit(limit.parse::<AnyLimit>().expect("a limit"))
            .build(0)
            .expect("builds");
        queue
            .set(Setting {
                tunable: Tunable::StallThresholdMs,
                value: 5,
            })
            .expect("allowed");
        Self {
            queue,
            pool: FramePool::new(FRAMES, 64),
            now_ns: 0,
            sent: 0,
            late: 0,
            longest_stall_ns: 0,
            wire_frames: 0,
        }
    }

    /// Sends for a tenth of a millisecond with saturation.
    fn step(&mut self) {
        self.now_ns += STEP_NS;
        let now_ns = self.now_ns;
        while self.queue.backlog().packets < 100
            && let Ok(packet) = self.pool.packet(&[0; 60])
        {
            self.queue.enqueue(packet, now_ns, &mut self.pool);
            self.sent += 1;
        }
        self.turn();
    }

    /// Processes the due events of device and queue.
    fn turn(&mut self) {
        let now_ns = self.now_ns;
        let _ = self.queue.run(now_ns, &mut self.pool);
        while let Some((_, event)) = self.queue.device_mut().driver_mut().advance(now_ns) {
            self.wire_frames += u64::from(matches!(event, NicEvent::Frame(_)));
        }
        if let Ok(completed) = self.queue.complete(now_ns, &mut self.pool) {
            self.late += u64::from(completed.stale_packets);
            if let Some(stalled) = completed.stalled {
                self.longest_stall_ns = self.longest_stall_ns.max(stalled.age_ns);
                self.begin_again();
            }
        }
    }

    /// Resets queue and device after a stall, as a program would.
    fn begin_again(&mut self) {
        self.queue.reset(self.now_ns);
        for packet in self.queue.device_mut().flush() {
            self.late += 1;
            self.pool.release(packet.into_frame()).expect("is ours");
        }
    }

    fn set(&mut self, condition: DeviceState) {
        self.queue.device_mut().set_state(condition, self.now_ns);
    }

    /// Recovers and drains the device. Every sent packet must have ended once.
    fn assert_conserved(&mut self) {
        self.set(DeviceState::Normal);
        for _ in 0..10_000 {
            if self.queue.in_flight() == 0 && self.queue.backlog().packets == 0 {
                break;
            }
            self.now_ns += STEP_NS;
            self.turn();
        }
        let counters = self.queue.completer_counters();
        assert_eq!(counters.completed_packets + self.late, self.sent);
        assert_eq!(
            (self.pool.free_frames(), counters.unknown_completions),
            (FRAMES, 0)
        );
        let device = self.queue.device().counts();
        assert!(device.finished + device.purged <= self.sent);
        assert!(device.finished <= self.wire_frames);
    }
}

#[test]
fn link_down_loses_only_the_ring() {
    let mut sender = Sender::new("dql");
    for _ in 0..100 {
        sender.step();
    }
    let in_flight = u64::from(sender.queue.in_flight()) / 60;
    sender.set(DeviceState::LinkDown);
    for _ in 0..100 {
        sender.step();
    }
    let counts = sender.queue.device().counts();
    assert!(
        (1..=in_flight).contains(&counts.purged),
        "{counts:?} of {in_flight}"
    );
    sender.assert_conserved();
    assert_eq!(sender.queue.device().counts().purged, counts.purged);
}

#[test]
fn stall_is_detected_within_twice_the_threshold() {
    let mut sender = Sender::new("taut");
    for _ in 0..100 {
        sender.step();
    }
    sender.set(DeviceState::Stalled);
    for _ in 0..100 {
        sender.step();
    }
    let age_ns = sender.longest_stall_ns;
    assert!((5_000_000..=10_000_000).contains(&age_ns), "{age_ns}");
    sender.assert_conserved();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_packet_ends_once_for_any_faults(
        limit in prop_oneof![Just("off"), Just("dql"), Just("taut"), Just("4k")],
        conditions in prop::collection::vec(
            (
                prop_oneof![
                    3 => Just(DeviceState::Normal),
                    1 => Just(DeviceState::Stalled),
                    1 => Just(DeviceState::LinkDown),
                    1 => Just(DeviceState::Removed),
                ],
                1_u32..80,
            ),
            1..12,
        ),
    ) {
        let mut sender = Sender::new(limit);
        for (condition, steps) in conditions {
            sender.set(condition);
            for _ in 0..steps {
                sender.step();
            }
        }
        sender.assert_conserved();
    }
}
