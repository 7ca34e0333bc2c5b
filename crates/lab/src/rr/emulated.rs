//! One direction over an emulated NIC: TAP, discipline, limit, ring, link, TAP.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use taut_linux::{Tap, WriteOutcome};
use taut_sim::nic::{EmulatedNic, NicEvent};

use taut_path::{AnyLimit, AnyQdisc, Queue};
use taut_relay::published::Published;

use super::router::{Route, RouteOutcome, Watcher};
use super::tap::{Frames, TapSource};

/// Maximum delay of the delivery of a packet that others follow. A receiving NIC also moderates its
/// interrupts, and a wake-up for each of 81,000 frames per second costs more than the frames.
const DELIVERY_SLACK_NS: u64 = 50_000;

type MeteredQueue = Queue<EmulatedNic, AnyLimit, AnyQdisc, Watcher>;

/// A queue whose link ends in another TAP.
pub struct EmulatedDirection {
    pub source: TapSource,
    pub frames: Frames,
    pub queue: MeteredQueue,
    /// Makes the queue visible to other programs.
    pub published: Published,
    pub to: Rc<Tap>,
    pub rejected_packets: u64,
}

impl EmulatedDirection {
    /// Replays the actions of the NIC until `now_ns`, in nominal order and at nominal times, so
    /// that lateness does not count as an idle link.
    fn advance(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some((at_ns, event)) = self.queue.device_mut().advance(now_ns) {
            match event {
                NicEvent::Frame(sent) => match self.frames.write(sent.packet, &self.to)? {
                    WriteOutcome::Accepted => {}
                    WriteOutcome::Rejected => self.rejected_packets += 1,
                },
                NicEvent::Interrupt(_) => self.complete(at_ns)?,
            }
        }
        if self
            .queue
            .next_wakeup()
            .is_some_and(|at_ns| at_ns <= now_ns)
        {
            self.complete(now_ns)?;
        }
        Ok(())
    }

    fn complete(&mut self, at_ns: u64) -> io::Result<()> {
        let completed = self
            .queue
            .complete(at_ns, &mut self.frames)
            .map_err(io::Error::other)?;
        if completed.schedule {
            self.run(at_ns);
        }
        Ok(())
    }

    /// The doorbell of the emulated NIC cannot fail, and every other stop is waited for.
    fn run(&mut self, now_ns: u64) {
        let _ = self.queue.run(now_ns, &mut self.frames);
    }
}

impl Route for EmulatedDirection {
    fn fd(&self) -> BorrowedFd<'_> {
        self.source.tap.as_fd()
    }

    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool> {
        self.advance(now_ns)?;
        let (queue, frames) = (&mut self.queue, &mut self.frames);
        let on_packet = |packet| queue.enqueue(packet, now_ns, frames);
        let more = readable && self.source.read(on_packet)?;
        self.run(now_ns);
        self.published.publish_if_due(now_ns, &self.queue);
        Ok(more)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        let nic = self.queue.device();
        // Interrupts refill the ring, so they are on time, as is the last packet of a burst.
        let last_of_burst = nic.packets_to_send() <= 1;
        let slack_ns = if last_of_burst { 0 } else { DELIVERY_SLACK_NS };
        let delivery_ns = nic.next_event_ns().map(|at_ns| at_ns + slack_ns);
        let wakeups_ns = [
            delivery_ns,
            nic.next_interrupt_ns(),
            self.queue.next_wakeup(),
        ];
        wakeups_ns.into_iter().flatten().min()
    }

    fn into_outcome(mut self: Box<Self>) -> io::Result<RouteOutcome> {
        let lost_packets = self.source.lost_packets()? + self.rejected_packets;
        let sender = self.queue.sender_counters();
        Ok(RouteOutcome {
            drops: sender.drops.total() + lost_packets,
            marks: sender.marked_packets,
            ..RouteOutcome::of(&mut self.queue)
        })
    }
}
