//! What a host does for its senders of datagrams.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::blind::{Blind, BlindConfig};
use super::event::HostEvent;
use super::host::Host;
use super::worker::Task;
use crate::source::Refused;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// Adds a blind sender, which starts at `start_ns` and never ends. Returns its number at this
    /// host.
    pub fn send_blindly(&mut self, config: &BlindConfig, now_ns: u64, start_ns: u64) -> u32 {
        let number = self.add_blind(Blind::new(*config));
        self.event_queue
            .schedule(now_ns, start_ns, HostEvent::Blind(number));
        number
    }

    pub fn on_blind(&mut self, number: u32, now_ns: u64) {
        if !self.must_wait(0, Task::Blind(number), now_ns) {
            self.call_blind(number, now_ns);
        }
    }

    /// One call of a blind sender, or all calls of one instant if they cost nothing.
    pub fn call_blind(&mut self, number: u32, now_ns: u64) {
        let call_ns = self.core.cost.packet_ns;
        let segment = self.blind.senders[number as usize].datagram(number);
        loop {
            if !self.offer(&segment, now_ns) {
                self.refuse_blind(number, now_ns);
                break;
            }
            self.blind.senders[number as usize].report.sent_packets += 1;
            self.run(now_ns);
            if call_ns > 0 && self.core.worker.must_wait(call_ns, Task::Blind(number)) {
                break;
            }
        }
        self.watch(now_ns);
    }

    fn refuse_blind(&mut self, number: u32, now_ns: u64) {
        let sender = &mut self.blind.senders[number as usize];
        match sender.config.when_full.refused(now_ns) {
            Refused::SleepUntil(at_ns) => {
                sender.report.failed_sends += 1;
                sender.report.wakeups += 1;
                self.event_queue
                    .schedule(now_ns, at_ns, HostEvent::Blind(number));
            }
            Refused::Spin(cost_ns) => {
                sender.report.failed_sends += 1;
                self.core.worker.must_wait(cost_ns, Task::Blind(number));
            }
            Refused::Wait => {
                sender.waits = self.queue.must_wait();
                self.blind.waits |= sender.waits;
                if !sender.waits {
                    let at_ns = now_ns.saturating_add(1);
                    self.event_queue
                        .schedule(now_ns, at_ns, HostEvent::Blind(number));
                }
            }
        }
    }

    /// There is room again: wakes who waits for it.
    #[cold]
    pub fn wake_blind(&mut self, now_ns: u64) {
        self.blind.waits = false;
        let at_ns = now_ns.saturating_add(self.core.cost.reaction_ns);
        for (number, sender) in self.blind.senders.iter_mut().enumerate() {
            if std::mem::take(&mut sender.waits) {
                sender.report.wakeups += 1;
                self.event_queue
                    .schedule(now_ns, at_ns, HostEvent::Blind(number as u32));
            }
        }
    }

    /// A datagram of the other host's sender `number` arrives.
    #[cold]
    pub fn on_datagram(&mut self, number: u32) {
        let number = number as usize;
        if self.blind.datagrams.len() <= number {
            self.blind.datagrams.resize(number + 1, 0);
        }
        self.blind.datagrams[number] += 1;
    }
}
