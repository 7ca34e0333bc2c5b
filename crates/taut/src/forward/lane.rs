//! One direction: from what one interface receives, through a queue, to the other interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_linux::af_packet::{AfPacket, AfPacketCompletions, AfPacketTx, PacketReceiver};
use taut_linux::publish::About;
use taut_linux::{NetNs, Port};
use taut_path::driver::Truth;
use taut_path::limit::Unit;
use taut_path::pool::FramePool;
use taut_path::qdisc::{AnyQdisc, Shaped};
use taut_path::queue::CompleteError;
use taut_path::{AnyLimit, Limit, Packet, Queue, Stop};

use super::board::LaneBoard;
use super::ends::{Counts, Ends, Refused};
use super::intake::{Intake, Outlet};
use super::options::PathOptions;
use crate::publish::Published;

/// Packets taken in before the other direction has its turn.
const BATCH_PACKETS: usize = 64;
/// Frames beyond those that wait and those in the ring: a batch of super-packets is cut at once.
const SPARE_FRAMES: u32 = 64 * 46;
/// What a frame may have beyond the MTU: its header and two VLAN tags.
const LINK_HEADER_BYTES: u32 = 14 + 2 * 4;
/// How long to wait after a doorbell that failed.
const RETRY_NS: u64 = 10_000_000;
/// How long link time may be caught up with behind a software shaper.
const SHAPER_BURST_NS: u64 = 1_000_000;

/// Both halves of the ring, on this thread.
type Ring = (AfPacketTx<FramePool>, AfPacketCompletions);

/// What a lane goes through.
pub struct LaneConfig<'a> {
    pub ns: &'a NetNs,
    pub from: &'a str,
    pub to: &'a str,
    pub path: &'a PathOptions,
    pub rate_bits_per_s: Option<u64>,
    /// The larger of both interfaces': one may be raised to the other's.
    pub mtu_bytes: u32,
}

/// One direction.
pub struct Lane {
    ns: NetNs,
    pub from: String,
    pub to: String,
    receiver: Option<PacketReceiver>,
    intake: Intake,
    queue: Queue<Ring>,
    ends: Ends,
    cadence_ns: u64,
    next_reap_ns: u64,
    /// When the shaper lets the next one go, or a doorbell is tried again, in ns.
    next_run_ns: Option<u64>,
    /// When something came back last, and how long the oldest frame is in the device, if too long.
    completed_ns: u64,
    stall_ns: u64,
    /// The interface that frames go to is up.
    is_open: bool,
    /// None was wanted.
    has_no_limit: bool,
    published: Published,
}

/// What a turn came to.
#[derive(Debug, Default)]
pub struct Turn {
    /// More may be waiting to be received.
    pub more: bool,
    /// A call failed: an interface may be down or gone.
    pub failed: Option<io::Error>,
}

impl Lane {
    /// Opens both ends.
    pub fn open(config: &LaneConfig<'_>, now_ns: u64) -> anyhow::Result<Self> {
        let path = config.path;
        let frames = path.waiting_packets() + path.ring + SPARE_FRAMES;
        let pool = FramePool::new(frames, config.mtu_bytes + LINK_HEADER_BYTES);
        let ring = AfPacket::open_with(config.ns, config.to, path.ring, pool.clone())?;
        let intake = Intake::new(ring.0.frame_limit_bytes());
        let inner: AnyQdisc = path.qdisc.parse()?;
        let qdisc = match config.rate_bits_per_s {
            Some(rate) => {
                let name = format!("{inner} behind a shaper");
                AnyQdisc::new(&name, Shaped::new(inner, rate, SHAPER_BURST_NS))
            }
            None => inner,
        };
        let queue = Queue::builder(ring.0, ring.1)
            .qdisc(qdisc)
            .limit(path.limit.clone())
            .build(now_ns)?;
        let mut lane = Self {
            ns: config.ns.clone(),
            from: config.from.to_owned(),
            to: config.to.to_owned(),
            receiver: None,
            intake,
            queue,
            ends: Ends::new(pool),
            cadence_ns: path.cadence.0,
            next_reap_ns: 0,
            next_run_ns: None,
            completed_ns: now_ns,
            stall_ns: 0,
            is_open: false,
            has_no_limit: path.limit == AnyLimit::off(),
            published: Published::new(&About {
                device: config.to,
                queue: 0,
                limit: &path.limit.to_string(),
                in_packets: path.limit.unit() == Unit::Packets,
                rate_bits_per_s: config.rate_bits_per_s,
            }),
        };
        lane.open_receiver()?;
        Ok(lane)
    }

    /// Listens to the interface that has the name now.
    pub fn open_receiver(&mut self) -> io::Result<()> {
        self.close_receiver();
        let receiver = PacketReceiver::open(&self.ns, &self.from)?;
        receiver.hear_all()?;
        self.receiver = Some(receiver);
        Ok(())
    }

    /// The interface that frames come from is gone.
    pub fn close_receiver(&mut self) {
        self.count_missed();
        self.receiver = None;
    }

    /// The interface that frames go to is up.
    pub fn open_link(&mut self, now_ns: u64) {
        self.is_open = true;
        // What was in it meanwhile could not come back.
        self.completed_ns = now_ns;
        self.next_run_ns = None;
    }

    /// The interface that frames go to is down or gone: those that wait would be stale when it is up
    /// again.
    pub fn close_link(&mut self, now_ns: u64) {
        self.is_open = false;
        self.queue.flush(now_ns, &mut self.ends);
    }

    /// Whether something came back since the interface that frames go to was looked at.
    pub fn is_unconfirmed(&self) -> bool {
        self.ends.is_unconfirmed()
    }

    /// That interface was looked at.
    pub fn looked(&mut self, was_broken: bool) {
        if was_broken {
            self.ends.doubt(self.in_ring_packets());
        } else {
            self.ends.confirm();
        }
    }

    /// A new ring on the interface that has the name now, and what was in the old one is in doubt.
    pub fn reopen_ring(&mut self, now_ns: u64) -> io::Result<()> {
        self.ends.doubt(self.in_ring_packets());
        self.queue.reset(now_ns);
        self.queue.device_mut().reopen()?;
        self.intake.frame_limit_bytes = self.queue.device().0.frame_limit_bytes();
        (self.completed_ns, self.stall_ns) = (now_ns, 0);
        Ok(())
    }

    /// What to wait for.
    pub fn source(&self) -> Option<BorrowedFd<'_>> {
        self.receiver.as_ref().map(AsFd::as_fd)
    }

    /// Takes in what is `readable`, and sends what may go. What is due to come back must be taken
    /// [before](Self::reap).
    pub fn turn(&mut self, now_ns: u64, readable: bool) -> Turn {
        let mut turn = Turn::default();
        if readable {
            match self.take_in(now_ns) {
                Ok(more) => turn.more = more,
                Err(error) => turn.failed = Some(error),
            }
        }
        self.published.look(now_ns, &self.queue);
        if let Err(error) = self.send(now_ns) {
            turn.failed = Some(error);
        }
        turn
    }

    /// Takes what came back, if that is due.
    pub fn reap(&mut self, now_ns: u64) -> io::Result<()> {
        if self.next_reap_ns().is_none_or(|at_ns| now_ns < at_ns) {
            return Ok(());
        }
        self.next_reap_ns = now_ns + self.cadence_ns;
        let completed = self.queue.complete(now_ns, &mut self.ends);
        let completed = completed.map_err(|error| match error {
            CompleteError::Driver(error) => error,
            other => io::Error::other(other),
        })?;
        self.stall_ns = completed.stalled.map_or(0, |stall| stall.age_ns);
        if completed.done.packets > 0 {
            self.completed_ns = now_ns;
        }
        Ok(())
    }

    fn take_in(&mut self, now_ns: u64) -> io::Result<bool> {
        let Some(receiver) = &self.receiver else {
            return Ok(false);
        };
        let mut line = Line {
            queue: &mut self.queue,
            ends: &mut self.ends,
            is_open: self.is_open,
            now_ns,
        };
        for _ in 0..BATCH_PACKETS {
            if !self.intake.receive(receiver, &mut line)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn send(&mut self, now_ns: u64) -> io::Result<()> {
        if !self.is_open || self.next_run_ns.is_some_and(|at_ns| now_ns < at_ns) {
            return Ok(());
        }
        self.next_run_ns = None;
        match self.queue.run(now_ns, &mut self.ends) {
            Stop::NotReady(at_ns) => self.next_run_ns = Some(at_ns),
            Stop::Failed(error) => {
                self.next_run_ns = Some(now_ns + RETRY_NS);
                return Err(error);
            }
            _ => {}
        }
        Ok(())
    }

    fn in_ring_packets(&self) -> u32 {
        self.queue.device().1.packets_in_ring()
    }

    /// A packet ring does not interrupt: it is looked at once in a cadence.
    fn next_reap_ns(&self) -> Option<u64> {
        let reap_ns = (self.in_ring_packets() > 0).then_some(self.next_reap_ns);
        reap_ns.into_iter().chain(self.queue.next_wakeup()).min()
    }

    /// When to come back even if nothing arrives, in ns.
    pub fn next_wakeup_ns(&self) -> Option<u64> {
        let run_ns = self.next_run_ns.filter(|_| self.is_open);
        self.next_reap_ns().into_iter().chain(run_ns).min()
    }

    /// For how long nothing has come back, in ns, though frames are in the device for at least as long
    /// and it is up.
    pub fn stands_still_ns(&self, now_ns: u64) -> u64 {
        if self.is_open {
            let silent_ns = now_ns.saturating_sub(self.completed_ns);
            silent_ns.min(self.stall_ns)
        } else {
            0
        }
    }

    /// Counts what the kernel dropped because nobody read.
    pub fn count_missed(&mut self) {
        let missed = self.receiver.as_ref().map(PacketReceiver::take_dropped);
        let missed = u64::from(missed.and_then(Result::ok).unwrap_or(0));
        self.ends.counts.received_packets += missed;
        self.ends.counts.refuse(Refused::ReceiveBufferFull, missed);
    }

    /// Drops what waits, in the end.
    pub fn flush(&mut self, now_ns: u64) {
        self.close_receiver();
        self.queue.flush(now_ns, &mut self.ends);
    }

    /// Whether frames are in the device.
    pub fn is_draining(&self) -> bool {
        self.is_open && self.in_ring_packets() > 0
    }

    /// What is in the device now is not waited for.
    pub fn give_up(&mut self) {
        self.ends.counts.in_doubt_packets += u64::from(self.in_ring_packets());
    }

    pub fn counts(&self) -> &Counts {
        &self.ends.counts
    }

    pub fn truth(&self) -> Truth {
        self.queue.device().truth()
    }

    pub fn driver(&self) -> (&'static str, &'static str) {
        (self.queue.device().driver(), self.queue.device().mode())
    }

    /// Frames that wait.
    pub fn waiting_packets(&self) -> u64 {
        self.queue.backlog().packets
    }

    /// The limit, in its units; `None` where none holds: none was wanted, or the completions mean
    /// nothing.
    pub fn limit(&self) -> Option<u32> {
        let snapshot = self.queue.snapshot();
        let holds = !self.has_no_limit && !snapshot.completions_are_false;
        holds.then_some(snapshot.limit)
    }

    /// Lets others see how it goes.
    pub fn publish(&self, board: &LaneBoard) {
        let snapshot = self.queue.snapshot();
        let counts = self.counts();
        board.limit.set(self.limit().unwrap_or(0).into());
        board.has_limit.set(self.limit().is_some().into());
        board.in_flight.set(snapshot.in_flight.into());
        board.waiting_packets.set(self.waiting_packets());
        board.sent_packets.set(counts.sent_packets);
        board.sent_bytes.set(counts.sent_bytes);
        board.dropped_packets.set(counts.all_dropped_packets());
    }
}

/// What goes on behind the intake.
struct Line<'a> {
    queue: &'a mut Queue<Ring>,
    ends: &'a mut Ends,
    is_open: bool,
    now_ns: u64,
}

impl Outlet for Line<'_> {
    fn pool(&self) -> &FramePool {
        &self.ends.pool
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.ends.counts
    }

    fn enqueue(&mut self, packet: Packet) {
        if self.is_open {
            self.queue.enqueue(packet, self.now_ns, self.ends);
        } else {
            self.ends.refused(packet, Refused::LinkDown);
        }
    }
}
