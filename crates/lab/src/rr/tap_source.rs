//! Where a direction begins: a TAP, read empty into a transmit queue.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use taut_linux::{NetNs, Tap, link};
use taut_measure::meter::Meter;
use taut_measure::trace::Tape;
use taut_path::{AnyLimit, AnyQdisc, Completions, Queue, TxRing};

use super::frames::{Arrival, Frames};
use super::router::{BATCH_PACKETS, DirectionOutcome};
use crate::control::Watch;
use taut_relay::published::Published;

/// What watches a queue of the lab: always a meter, and a tape if a trace is wanted.
pub type Watcher = (Meter<Watch>, Option<Tape>);

/// A queue of the lab, measured.
pub type MeteredQueue<D> = Queue<D, AnyLimit, AnyQdisc, Watcher>;

/// A TAP that is read at once, since it has no back-pressure and drops in silence.
pub struct TapSource {
    ns: NetNs,
    tap: Rc<Tap>,
    pub frames: Frames,
    no_frame_packets: u64,
    /// Where others see the queue that it fills.
    pub published: Published,
}

impl TapSource {
    /// Reads `tap`, a device in `ns`.
    pub fn new(ns: NetNs, tap: Rc<Tap>) -> Self {
        let frames = Frames::for_tap(&tap);
        Self {
            ns,
            tap,
            frames,
            no_frame_packets: 0,
            published: Published::default(),
        }
    }

    /// What to wait for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.tap.as_fd()
    }

    /// Puts at most [`BATCH_PACKETS`] packets into `queue`. Returns whether more may be waiting.
    pub fn read_into<D: TxRing + Completions>(
        &mut self,
        queue: &mut MeteredQueue<D>,
        now_ns: u64,
    ) -> io::Result<bool> {
        for _ in 0..BATCH_PACKETS {
            match self.frames.read(&self.tap)? {
                Arrival::Packet(packet) => queue.enqueue(packet, now_ns, &mut self.frames),
                Arrival::NoFrame => self.no_frame_packets += 1,
                Arrival::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What was measured at `queue`, which is over, and every packet lost: by the TAP, here, in the queue, and
    /// the `lost_packets` after it.
    pub fn outcome<D: TxRing + Completions>(
        &self,
        queue: &mut MeteredQueue<D>,
        lost_packets: u64,
    ) -> io::Result<DirectionOutcome> {
        let tape = queue.probe_mut().1.take();
        let (meter, _) = queue.probe();
        let by_tap = link::statistics(&self.ns, self.tap.name())?.tx_dropped;
        let counters = queue.sender_counters();
        let completer = queue.completer_counters();
        Ok(DirectionOutcome {
            in_flight_bytes: meter.in_flight_bytes(),
            waiting_packets: meter.waiting_packets(),
            limit_p50: meter.limit_p50(),
            curve: meter.curve(),
            drops: by_tap + self.no_frame_packets + counters.drops.total() + lost_packets,
            marks: counters.marked_packets,
            stalls: completer.stalls,
            longest_stall_ns: completer.longest_stall_ns,
            tape,
        })
    }
}
