//! One direction over an AF_PACKET ring, and the plain way back.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use taut_linux::af_packet::{AfPacketCompletions, AfPacketTx, PacketReceiver};
use taut_linux::{Tap, Written};
use taut_path::Stop;

use super::frames::Frames;
use super::router::{BATCH_PACKETS, Direction, DirectionOutcome};
use super::tap_source::{MeteredQueue, TapSource};

/// The two halves of the ring, on this thread.
pub type Ring = (AfPacketTx<Frames>, AfPacketCompletions);

/// From a TAP through a queue of ours into a ring of the kernel's.
pub struct RingDirection {
    source: TapSource,
    queue: MeteredQueue<Ring>,
    /// A packet ring does not interrupt: it is looked at once in so many ns.
    cadence_ns: u64,
    next_reap_ns: u64,
}

impl RingDirection {
    /// Carries what `source` says through `queue`, and reaps once each `cadence_ns`.
    pub fn new(source: TapSource, queue: MeteredQueue<Ring>, cadence_ns: u64) -> Self {
        Self {
            source,
            queue,
            cadence_ns,
            next_reap_ns: 0,
        }
    }

    fn reap(&mut self, now_ns: u64) -> io::Result<()> {
        if self.next_wakeup_ns().is_none_or(|at_ns| now_ns < at_ns) {
            return Ok(());
        }
        self.next_reap_ns = now_ns + self.cadence_ns;
        let reaped = self.queue.complete(now_ns, &mut self.source.frames);
        reaped.map(|_| ()).map_err(io::Error::other)
    }
}

impl Direction for RingDirection {
    fn source(&self) -> BorrowedFd<'_> {
        self.source.fd()
    }

    fn service(&mut self, now_ns: u64, readable: bool) -> io::Result<bool> {
        self.reap(now_ns)?;
        let more = readable && self.source.read_into(&mut self.queue, now_ns)?;
        self.source.published.look(now_ns, &self.queue);
        match self.queue.run(now_ns, &mut self.source.frames) {
            Stop::Failed(error) => Err(error),
            _ => Ok(more),
        }
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        let (_, completions) = self.queue.device();
        let reap_ns = (completions.packets_in_ring() > 0).then_some(self.next_reap_ns);
        reap_ns.into_iter().chain(self.queue.next_wakeup()).min()
    }

    fn into_outcome(mut self: Box<Self>) -> io::Result<DirectionOutcome> {
        let malformed_packets = self.queue.device().1.malformed_packets();
        self.source.outcome(&mut self.queue, malformed_packets)
    }
}

/// From a device of the kernel's to a TAP, at once.
pub struct ReceiveDirection {
    from: PacketReceiver,
    to: Rc<Tap>,
    buffer: Vec<u8>,
    refused_packets: u64,
}

impl ReceiveDirection {
    /// Carries what `from` receives to `to`.
    pub fn new(from: PacketReceiver, to: Rc<Tap>) -> Self {
        let buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
        Self {
            from,
            to,
            buffer,
            refused_packets: 0,
        }
    }
}

impl Direction for ReceiveDirection {
    fn source(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }

    fn service(&mut self, _now_ns: u64, readable: bool) -> io::Result<bool> {
        if !readable {
            return Ok(false);
        }
        for _ in 0..BATCH_PACKETS {
            let Some(bytes) = self.from.read(&mut self.buffer)? else {
                return Ok(false);
            };
            match self.to.write(&self.buffer[..bytes])? {
                Written::Taken => {}
                Written::Refused(_) => self.refused_packets += 1,
            }
        }
        Ok(true)
    }

    fn next_wakeup_ns(&self) -> Option<u64> {
        None
    }

    fn into_outcome(self: Box<Self>) -> io::Result<DirectionOutcome> {
        Ok(DirectionOutcome {
            drops: self.refused_packets,
            ..DirectionOutcome::default()
        })
    }
}
