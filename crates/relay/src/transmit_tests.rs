//! The engine over a device with injected faults. Needs a link that is up: the loopback of its own
//! namespace.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use taut_path::pool::FramePool;
use taut_path::{AnyLimit, AnyQdisc, Frame, LateSegmentation, Packet, TxRing};

use super::*;
use crate::source::{Content, Generated, Pacing};
use taut_linux::link::MacAddress;
use taut_path::driver::CompletionStatus;

/// No buffer space, on Linux.
const ENOBUFS: i32 = 105;

/// An injected fault of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Nothing,
    /// Loses every n-th completion until it is reopened.
    Loses(u64),
    /// Duplicates every n-th completion.
    Doubles(u64),
    /// Every n-th doorbell fails.
    Fails(u64),
}

/// A device that completes packets at the next reap.
struct Device {
    fault: Fault,
    ring: VecDeque<Packet>,
    lost: Vec<Packet>,
    turns: u64,
    reopened: u32,
    /// Fails the first two attempts to reopen. The link is down for longer than the link timeout
    /// between them.
    outage: Option<NetNs>,
}

impl Device {
    const SLOTS: u32 = 64;

    fn new(fault: Fault) -> Self {
        Self {
            fault,
            ring: VecDeque::new(),
            lost: Vec::new(),
            turns: 0,
            reopened: 0,
            outage: None,
        }
    }

    fn is_turn(&mut self, of: u64) -> bool {
        self.turns += 1;
        self.turns.is_multiple_of(of)
    }

    fn free(&self) -> u32 {
        Self::SLOTS - (self.ring.len() + self.lost.len()).min(64) as u32
    }
}

impl TxRing for Device {
    type Error = std::io::Error;

    fn capacity_slots(&self) -> u32 {
        Self::SLOTS
    }

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
        self.ring.push_back(packet);
        Ok(())
    }

    fn kick(&mut self, _now_ns: u64) -> Result<(), Self::Error> {
        let fault = self.fault;
        match fault {
            Fault::Fails(of) if self.is_turn(of) => Err(std::io::Error::from_raw_os_error(ENOBUFS)),
            _ => Ok(()),
        }
    }
}

impl taut_path::Completions for Device {
    type Error = std::io::Error;

    fn slots_free(&self) -> u32 {
        self.free()
    }

    fn reap(
        &mut self,
        _now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(Packet),
    ) -> Result<bool, Self::Error> {
        for _ in 0..budget_packets {
            let Some(packet) = self.ring.pop_front() else {
                break;
            };
            let fault = self.fault;
            match fault {
                Fault::Loses(of) if self.is_turn(of) => self.lost.push(packet),
                Fault::Doubles(of) if self.is_turn(of) => {
                    let forged =
                        Packet::new(Frame::new(packet.frame().index()), packet.wire_bytes());
                    freed(packet);
                    freed(forged);
                }
                _ => freed(packet),
            }
        }
        Ok(false)
    }
}

impl Port for Device {
    fn device(&self) -> &str {
        "lo"
    }

    fn driver(&self) -> &'static str {
        "mock"
    }

    fn mode(&self) -> &'static str {
        "test"
    }

    fn completion_status(&self) -> CompletionStatus {
        CompletionStatus::Valid
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn extra_bytes(_frame: &[u8]) -> u32 {
        0
    }

    fn set_device(&mut self, _name: &str) {}

    fn reopen(&mut self) -> std::io::Result<()> {
        self.reopened += 1;
        if let Some(ns) = self.outage.clone().filter(|_| self.reopened <= 2) {
            if self.reopened == 1 {
                link::set_down(&ns, "lo")?;
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(700));
                    link::set_up(&ns, "lo")
                });
            }
            return Err(std::io::Error::from_raw_os_error(ENOBUFS));
        }
        self.ring.extend(self.lost.drain(..));
        self.fault = Fault::Nothing;
        Ok(())
    }
}

/// Returns the outcome for a thousand packets; `None` if no namespace can be created.
fn sent(fault: Fault) -> Option<Outcome> {
    sent_with(fault, false)
}

fn sent_with(fault: Fault, has_outage: bool) -> Option<Outcome> {
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
            qdisc: AnyQdisc::default(),
            limit: AnyLimit::packets(16),
            split: LateSegmentation::Auto,
            coalesce_ns: 50_000,
            stall_ns: 100_000_000,
            rate_bits_per_s: None,
        },
        duration_ns: None,
        warm_up_ns: 0,
    };
    let frames = FramePool::new(512, 256);
    let device = Device {
        outage: has_outage.then(|| ns.clone()),
        ..Device::new(fault)
    };
    let outcome = send(device, frames.clone(), monitor, settings, &mut ()).expect("fits");
    assert_eq!(outcome.account.received_packets, 1_000);
    if outcome.account.unknown_completions() == 0 {
        assert_eq!(
            frames.free_frames(),
            frames.frames(),
            "every frame came back"
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
