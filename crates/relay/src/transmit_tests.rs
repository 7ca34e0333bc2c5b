//! The engine over a device with injected faults. Needs a link that is up: the loopback of its own
//! namespace.

use taut_linux::link::MacAddress;
use taut_path::pool::FramePool;
use taut_path::qdisc::{Backlog, Fifo};
use taut_path::{AnyLimit, AnyQdisc, Packet, PacketSink, Qdisc};

use super::*;
use crate::source::{Content, Generated, Pacing};
use crate::testing::{Device, Fault};

/// Returns the outcome for a thousand packets; `None` if no namespace can be created.
fn sent(fault: Fault) -> Option<Outcome> {
    sent_with(fault, false)
}

fn sent_with(fault: Fault, has_outage: bool) -> Option<Outcome> {
    let outcome = sent_through(AnyQdisc::default(), fault, has_outage)?;
    assert_eq!(outcome.account.received_packets, 1_000);
    Some(outcome)
}

fn sent_through(qdisc: AnyQdisc, fault: Fault, has_outage: bool) -> Option<Outcome> {
    if let Err(missing) = taut_linux::privilege() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{missing}");
        return None;
    }
    let ns = NetNs::new().expect("namespace");
    let monitor = LinkMonitor::open(&ns, "lo").expect("loopback");
    let [from, to] = [1, 2].map(MacAddress::local);
    let settings = Settings {
        feed: FeedSettings {
            content: Content::Generated(Generated::new(100, 1, from, to, 1)),
            count: Some(1_000),
            pacing: Pacing::Unpaced,
            classify: false,
        },
        queue: DirectionConfig {
            qdisc,
            limit: AnyLimit::packets(16),
            coalesce_ns: 50_000,
            stall_ns: 100_000_000,
            rate_bits_per_s: None,
        },
        duration_ns: None,
        warm_up_ns: 0,
    };
    let frames = FramePool::new(512, 256);
    let mut device = Device::new(fault);
    device.outage = has_outage.then(|| ns.clone());
    let outcome = send(device, frames.clone(), monitor, settings, &mut ()).expect("fits");
    if outcome.account.unknown_completions() == 0 {
        assert_eq!(
            u64::from(frames.free_frames()) + outcome.account.unaccounted_packets(),
            u64::from(frames.frames()),
            "every frame came back, except those that the discipline lost"
        );
    }
    Some(outcome)
}

#[test]
fn a_good_device_completes_everything() {
    let Some(outcome) = sent(Fault::Nothing) else {
        return;
    };
    assert_eq!(
        (
            outcome.account.completed_packets(),
            outcome.account.uncertain_packets()
        ),
        (1_000, 0)
    );
    assert_eq!(
        (outcome.account.unaccounted_packets(), outcome.failed),
        (0, None)
    );
}

#[test]
fn lost_completions_are_uncertain_after_reopening() {
    let Some(outcome) = sent(Fault::Loses(100)) else {
        return;
    };
    assert!(outcome.account.uncertain_packets() >= 1, "{outcome:?}");
    assert!(outcome.account.completed_packets() > 900, "{outcome:?}");
    assert_eq!(outcome.account.unaccounted_packets(), 0, "{outcome:?}");
}

#[test]
fn outage_ends_series_of_failed_reopens() {
    let Some(outcome) = sent_with(Fault::Loses(10), true) else {
        return;
    };
    assert_eq!(outcome.failed, None, "{outcome:?}");
    assert_eq!(outcome.account.unaccounted_packets(), 0, "{outcome:?}");
}

#[test]
fn packet_completed_twice_is_unaccounted() {
    let Some(outcome) = sent(Fault::Doubles(100)) else {
        return;
    };
    assert_eq!(outcome.account.unknown_completions(), 10, "{outcome:?}");
    assert_eq!(outcome.account.unaccounted_packets(), 10, "{outcome:?}");
}

#[test]
fn failing_doorbell_loses_nothing() {
    let Some(outcome) = sent(Fault::Fails(7)) else {
        return;
    };
    assert_eq!(outcome.account.completed_packets(), 1_000, "{outcome:?}");
}

/// Loses every `n`th packet: it is neither sent nor dropped.
struct Losing {
    inner: Fifo,
    n: u64,
    packets: u64,
}

impl Qdisc for Losing {
    fn enqueue(&mut self, packet: Packet, now_ns: u64, sink: &mut dyn PacketSink) {
        self.packets += 1;
        match self.packets.is_multiple_of(self.n) {
            true => drop(packet),
            false => self.inner.enqueue(packet, now_ns, sink),
        }
    }

    fn dequeue(&mut self, now_ns: u64, sink: &mut dyn PacketSink) -> Option<Packet> {
        self.inner.dequeue(now_ns, sink)
    }

    fn drain(&mut self, on_packet: &mut dyn FnMut(Packet)) {
        self.inner.drain(on_packet);
    }

    fn accepts(&self, packet: &Packet) -> bool {
        self.inner.accepts(packet)
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

fn sent_losing(n: u64) -> Option<Outcome> {
    let losing = Losing {
        inner: Fifo::new(1_000),
        n,
        packets: 0,
    };
    sent_through(AnyQdisc::new("losing", losing), Fault::Nothing, false)
}

#[test]
fn packets_lost_by_the_discipline_are_unaccounted() {
    let Some(outcome) = sent_losing(100) else {
        return;
    };
    assert_eq!(outcome.account.received_packets, 1_000, "{outcome:?}");
    assert_eq!(outcome.account.completed_packets(), 990, "{outcome:?}");
    assert_eq!(outcome.account.unaccounted_packets(), 10, "{outcome:?}");
}

#[test]
fn run_ends_when_all_frames_are_lost() {
    let Some(outcome) = sent_losing(1) else {
        return;
    };
    assert_eq!(outcome.account.received_packets, 512, "{outcome:?}");
    assert_eq!(outcome.account.unaccounted_packets(), 512, "{outcome:?}");
}
