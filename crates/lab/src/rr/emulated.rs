//! One direction over an emulated NIC: TAP, discipline, limit, ring, link, TAP.

use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use taut_linux::{Tap, WriteOutcome};
use taut_sim::nic::{EmulatedNic, NicEvent};

use taut_path::{AnyLimit, AnyQdisc, Queue};
use taut_relay::published::Published;

use super::frames::Frames;
use super::router::{Route, RouteOutcome, Watcher};
use super::tap_source::TapSource;

/// Maximum delay of the delivery of a packet that others follow. A receiving NIC also moderates its
/// interrupts, and a wake-up for each of 81,000 frames per second costs more than the frames.
const DELIVERY_SLACK_NS: u64 = 50_000;

type MeteredQueue = Queue<EmulatedNic, AnyLimit, AnyQdisc, Watcher>;

/// A queue whose link ends in another TAP.
pub struct EmulatedDirection {
    source: TapSource,
    frames: Frames,
    queue: MeteredQueue,
    /// Makes the queue visible to other programs.
    published: Published,
    to: Rc<Tap>,
    rejected_packets: u64,
}

impl EmulatedDirection {
    /// Forwards packets from `source` to `to`, through `queue`.
    pub fn new(source: TapSource, queue: MeteredQueue, published: Published, to: Rc<Tap>) -> Self {
        Self {
            frames: source.frames.clone(),
            source,
            queue,
            published,
            to,
            rejected_packets: 0,
        }
    }

    /// Replays the actions of the NIC until `now_ns`, in nominal order and at nominal times, so
    /// that lateness does not count as an idle link.
    fn advance(&mut self, now_ns: u64) -> io::Result<()> {
        while let Some((at_ns, event)) = self.queue.device_mut().advance(now_ns) {
            match event {
                NicEvent::Frame(sent) => match self.frames.write(sent.packet, &self.to)? {
                    WriteOutcome::Accepted => {}
                    WriteOutcome::Rejected(_) => self.rejected_packets += 1,
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
        self.source.fd()
    }

    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool> {
        self.advance(now_ns)?;
        let (queue, frames) = (&mut self.queue, &mut self.frames);
        let on_packet = |packet| queue.enqueue(packet, now_ns, frames);
        let more = readable && self.source.read(on_packet)?;
        self.run(now_ns);
        self.published.look(now_ns, &self.queue);
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
        let (sender, completer) = (
            self.queue.sender_counters(),
            self.queue.completer_counters(),
        );
        let mut outcome = RouteOutcome::of(self.queue.probe_mut(), completer);
        outcome.drops = sender.drops.total() + lost_packets;
        outcome.marks = sender.marked_packets;
        Ok(outcome)
    }
}
