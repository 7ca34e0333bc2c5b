//! Senders of datagrams, blind to what is lost: all that holds them back is "no buffer space".

use taut_path::Probe;
use taut_path::limit::Limit;

use super::segments::{News, Segment};
use super::worker::Task;
use super::{Event, World};
use crate::source::{Refused, WhenFull};
use crate::tcp::{Ack, SackBlocks};

/// How a blind sender sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlindConfig {
    /// Payload of each datagram, in bytes; at least 1.
    pub payload_bytes: u16,
    /// Headers of each, in bytes.
    pub header_bytes: u16,
    /// Priority of its packets, 0..=15.
    pub priority: u8,
    /// What it does that finds no room in the discipline.
    pub when_full: WhenFull,
}

/// What a blind sender did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlindReport {
    /// Datagrams that the discipline took.
    pub sent_packets: u64,
    /// Datagrams that arrived at the other host.
    pub arrived_packets: u64,
    /// Sends refused with "no buffer space".
    pub failed_sends: u64,
    /// Times that it went to sleep, or was woken because there was room.
    pub wakeups: u64,
}

#[derive(Debug)]
pub(super) struct Blind {
    config: BlindConfig,
    host: usize,
    /// It asked to be woken when there is room.
    waits: bool,
    pub report: BlindReport,
}

impl<P: Probe, L: Limit> World<P, L> {
    /// Adds a blind sender to a host, which starts at `start_ns` and never ends. Returns its number.
    pub fn send_blindly(&mut self, config: &BlindConfig, host: usize, start_ns: u64) -> u32 {
        let number = self.blind.len() as u32;
        self.blind.push(Blind {
            config: *config,
            host,
            waits: false,
            report: BlindReport::default(),
        });
        self.engine.schedule(start_ns, Event::Blind(number));
        number
    }

    /// What a blind sender did so far.
    pub fn blind_report(&self, number: u32) -> BlindReport {
        self.blind[number as usize].report
    }

    pub(super) fn on_blind(&mut self, number: u32, now_ns: u64) {
        let host = self.blind[number as usize].host;
        if !self.must_wait(host, 0, Task::Blind(number), now_ns) {
            self.call_blind(number, now_ns);
        }
    }

    /// One call of a blind sender, or all calls of one instant if they cost nothing.
    pub(super) fn call_blind(&mut self, number: u32, now_ns: u64) {
        let sender = &mut self.blind[number as usize];
        let host = &mut self.hosts[sender.host];
        let call_ns = host.cost.packet_ns;
        let segment = datagram(number, &sender.config);
        loop {
            if !host.offer(segment, now_ns) {
                self.refuse_blind(number, now_ns);
                break;
            }
            sender.report.sent_packets += 1;
            host.run(now_ns);
            if call_ns > 0 && host.worker.must_wait(call_ns, Task::Blind(number)) {
                break;
            }
        }
        let host = self.blind[number as usize].host;
        self.watch(host, now_ns);
    }

    fn refuse_blind(&mut self, number: u32, now_ns: u64) {
        let sender = &mut self.blind[number as usize];
        let host = &mut self.hosts[sender.host];
        match sender.config.when_full.refused(now_ns) {
            Refused::SleepUntil(at_ns) => {
                sender.report.failed_sends += 1;
                sender.report.wakeups += 1;
                self.engine.schedule(at_ns, Event::Blind(number));
            }
            Refused::Spin(cost_ns) => {
                sender.report.failed_sends += 1;
                host.worker.must_wait(cost_ns, Task::Blind(number));
            }
            Refused::Wait => {
                sender.waits = host.queue.must_wait();
                host.blind_waits |= sender.waits;
                if !sender.waits {
                    self.engine
                        .schedule(now_ns.saturating_add(1), Event::Blind(number));
                }
            }
        }
    }

    /// There is room again: wakes who waits for it.
    #[cold]
    pub(super) fn wake_blind(&mut self, host: usize, now_ns: u64) {
        self.hosts[host].blind_waits = false;
        let at_ns = now_ns.saturating_add(self.reaction_ns);
        for (number, sender) in self.blind.iter_mut().enumerate() {
            if sender.host == host && std::mem::take(&mut sender.waits) {
                sender.report.wakeups += 1;
                self.engine.schedule(at_ns, Event::Blind(number as u32));
            }
        }
    }
}

fn datagram(number: u32, config: &BlindConfig) -> Segment {
    let payload_bytes = config.payload_bytes.max(1);
    Segment {
        connection: number,
        start: 0,
        payload_bytes: payload_bytes.into(),
        header_bytes: config.header_bytes,
        mss_bytes: payload_bytes,
        priority: config.priority,
        ecn_capable: false,
        cwr: false,
        ack: Ack {
            cumulative: 0,
            window_bytes: 0,
            sack: SackBlocks::default(),
            ece: false,
        },
        news: News::Datagram,
    }
}
