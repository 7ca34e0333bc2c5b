//! Actions of a bench's sender.

use taut_path::{Packet, Probe};

use super::run::{BenchTestbed, QUEUE, SingleQueueBench};
use super::{TrafficSource, WhenFull, object};
use crate::NEVER_NS;
use crate::queue::QueueFault;
use crate::testbed::EventResult;

impl<T: Probe> SingleQueueBench<'_, T> {
    /// Sends the ready packets, and starts to prepare further ones.
    pub(super) fn send(&mut self, bed: &mut BenchTestbed) -> EventResult {
        if self.config.cost.packet_ns > 0 || !self.is_saturating() {
            self.run_queue(bed)?;
            self.make_next(bed);
            return Ok(());
        }
        loop {
            while self.has_backlog_room() {
                self.enqueue(bed);
            }
            if !self.run_queue(bed)? {
                return Ok(());
            }
        }
    }

    /// Runs the queue. Returns `true` if the whole backlog was sent.
    fn run_queue(&mut self, bed: &mut BenchTestbed) -> Result<bool, QueueFault> {
        let stop = self.queue.run(bed.now_ns, &mut bed.sink);
        QueueFault::of_run(stop, QUEUE, bed.now_ns)
    }

    fn has_backlog_room(&self) -> bool {
        self.queue.backlog().packets < self.backlog_packets
    }

    fn enqueue(&mut self, bed: &mut BenchTestbed) {
        let packet = self.next_packet();
        self.queue.enqueue(packet, bed.now_ns, &mut bed.sink);
    }

    fn next_packet(&mut self) -> Packet {
        let sizes = &self.config.object_bytes;
        let bytes = sizes[self.frames as usize % sizes.len()];
        self.frames = self.frames.wrapping_add(1);
        object(self.frames, bytes)
    }

    /// Returns `true` if the sender always has something to send.
    fn is_saturating(&self) -> bool {
        self.config.source == TrafficSource::Saturating
    }

    /// Starts to prepare the next packet if one is requested, the discipline has room, and the core
    /// prepares no other.
    fn make_next(&mut self, bed: &mut BenchTestbed) {
        let requested = self.feed.requested > 0 || self.is_saturating();
        if !requested || self.feed.made_ns != NEVER_NS {
            return;
        }
        if !self.has_backlog_room() {
            self.feed.asleep = true;
            return;
        }
        let mut cost_ns = self.config.cost.packet_ns;
        if std::mem::take(&mut self.feed.asleep) {
            self.feed.wakeups += 1;
            cost_ns = cost_ns.saturating_add(self.config.cost.wakeup_ns);
        }
        self.feed.made_ns = bed.core.work(bed.now_ns, cost_ns);
    }

    pub(super) fn on_made(&mut self, bed: &mut BenchTestbed) -> EventResult {
        self.feed.made_ns = NEVER_NS;
        self.feed.requested = self.feed.requested.saturating_sub(1);
        self.enqueue(bed);
        self.send(bed)
    }

    pub(super) fn on_sender(&mut self, bed: &mut BenchTestbed) -> EventResult {
        self.feed.next_ns = self.feed.next_burst_ns(self.config.source, bed.now_ns);
        match self.config.source {
            TrafficSource::Saturating => self.send(bed),
            TrafficSource::Bursts { packets, .. } if self.config.cost.packet_ns > 0 => {
                self.feed.requested += u64::from(packets);
                self.make_next(bed);
                Ok(())
            }
            TrafficSource::Bursts { packets, .. } => {
                for _ in 0..packets {
                    self.enqueue(bed);
                }
                self.send(bed)
            }
            TrafficSource::Blind(when_full) => self.on_blind(bed, when_full),
        }
    }

    /// Makes one call of a blind sender, or all calls of one instant if they cost nothing.
    fn on_blind(&mut self, bed: &mut BenchTestbed, when_full: WhenFull) -> EventResult {
        let call_ns = self.config.cost.packet_ns;
        loop {
            let packet = self.next_packet();
            if let Err(rejected) = self.queue.offer(packet, bed.now_ns, &mut bed.sink) {
                let _ = rejected.0.into_frame();
                self.on_rejected(bed, when_full);
                return Ok(());
            }
            self.run_queue(bed)?;
            if call_ns > 0 {
                self.feed.next_ns = bed.core.work(bed.now_ns, call_ns);
                return Ok(());
            }
        }
    }

    fn on_rejected(&mut self, bed: &mut BenchTestbed, when_full: WhenFull) {
        self.feed.next_ns = match when_full {
            WhenFull::Sleep { sleep_ns, tick_ns } => {
                self.feed.failed_sends += 1;
                self.feed.wakeups += 1;
                let at_ns = bed.now_ns.saturating_add(sleep_ns.max(1));
                match tick_ns {
                    0 => at_ns,
                    // Strictly later, because the sleep can begin anywhere in a tick.
                    tick_ns => (at_ns / tick_ns).saturating_add(1).saturating_mul(tick_ns),
                }
            }
            WhenFull::Spin(retry_ns) => {
                self.feed.failed_sends += 1;
                bed.core.work(bed.now_ns, retry_ns.max(1))
            }
            // A sender that requests a wake-up has no failed send.
            WhenFull::Wait if self.queue.must_wait() => NEVER_NS,
            WhenFull::Wait => bed.now_ns.saturating_add(1),
        };
    }
}
