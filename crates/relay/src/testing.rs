//! A device with injected faults, for tests.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use taut_linux::{NetNs, Port, link};
use taut_path::driver::CompletionStatus;
use taut_path::{Completions, Frame, Packet, TxRing};

/// No buffer space, on Linux.
const ENOBUFS: i32 = 105;

/// An injected fault of the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    Nothing,
    /// Loses every n-th completion until it is reopened.
    Loses(u64),
    /// Duplicates every n-th completion.
    Doubles(u64),
    /// Every n-th doorbell fails.
    Fails(u64),
}

/// A device that completes packets at the next reap.
pub struct Device {
    fault: Fault,
    pub ring: VecDeque<Packet>,
    lost: Vec<Packet>,
    turns: u64,
    reopened: u32,
    /// Fails the first two attempts to reopen. The link is down for longer than the link timeout
    /// between them.
    pub outage: Option<NetNs>,
}

impl Device {
    const SLOTS: u32 = 64;

    pub fn new(fault: Fault) -> Self {
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
    type Error = io::Error;

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
            Fault::Fails(of) if self.is_turn(of) => Err(io::Error::from_raw_os_error(ENOBUFS)),
            _ => Ok(()),
        }
    }
}

impl Completions for Device {
    type Error = io::Error;

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

    fn reopen(&mut self) -> io::Result<()> {
        self.reopened += 1;
        if let Some(ns) = self.outage.clone().filter(|_| self.reopened <= 2) {
            if self.reopened == 1 {
                link::set_down(&ns, "lo")?;
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(700));
                    link::set_up(&ns, "lo")
                });
            }
            return Err(io::Error::from_raw_os_error(ENOBUFS));
        }
        self.ring.extend(self.lost.drain(..));
        self.fault = Fault::Nothing;
        Ok(())
    }
}
