//! One direction: from what one interface receives, through a queue, to the other interface.

use std::io;
use std::os::fd::BorrowedFd;

use taut_linux::Port;
use taut_linux::publish::About;
use taut_path::driver::Truth;
use taut_path::limit::Unit;
use taut_path::qdisc::{AnyQdisc, Shaped};
use taut_path::queue::CompleteError;
use taut_path::{AnyLimit, Completed, Completions, Limit, Packet, Queue, Stop};

use super::board::LaneBoard;
use super::ends::{Counts, Ends, Refused};
use super::intake::{Intake, Outlet};
use super::interface::{Interface, Source};
use super::options::PathOptions;
use crate::publish::Published;

/// Packets taken in before the other direction has its turn.
const BATCH_PACKETS: u32 = 64;
/// Batches taken in before a receiver is given up: more than its kernel holds of small frames.
const LAST_BATCHES: u32 = 256;
/// Frames beyond those that wait and those in the ring: a batch of super-packets is cut at once.
pub const SPARE_FRAMES: u32 = BATCH_PACKETS * 46;
/// How long to wait after a doorbell that failed.
const RETRY_NS: u64 = 10_000_000;
/// How long link time may be caught up with behind a software shaper.
const SHAPER_BURST_NS: u64 = 1_000_000;

/// What a lane goes through.
pub struct LaneConfig<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub path: &'a PathOptions,
    pub rate_bits_per_s: Option<u64>,
}

/// One direction: from the source of one interface to the port of the other.
pub struct Lane<I: Interface> {
    pub from: String,
    pub to: String,
    source: I::Source,
    intake: Intake,
    queue: Queue<I::Port>,
    ends: Ends<I::Frames>,
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

/// Whether the device is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    SameDevice,
    AnotherDevice,
}

impl<I: Interface> Lane<I> {
    /// From `source` to `port`, which sends what is in `frames`.
    pub fn new(
        config: &LaneConfig<'_>,
        source: I::Source,
        (port, frames): (I::Port, I::Frames),
        now_ns: u64,
    ) -> anyhow::Result<Self> {
        let path = config.path;
        let intake = Intake {
            frame_limit_bytes: port.frame_limit_bytes(),
        };
        let inner: AnyQdisc = path.qdisc.parse()?;
        let qdisc = match config.rate_bits_per_s {
            Some(rate) => {
                let name = format!("{inner} behind a shaper");
                AnyQdisc::new(&name, Shaped::new(inner, rate, SHAPER_BURST_NS))
            }
            None => inner,
        };
        let queue = Queue::builder_for(port)
            .qdisc(qdisc)
            .limit(path.limit.clone())
            .split(path.split)
            .build(now_ns)?;
        Ok(Self {
            from: config.from.to_owned(),
            to: config.to.to_owned(),
            source,
            intake,
            queue,
            ends: Ends::new(frames),
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
        })
    }

    /// The interface that frames come from is gone.
    pub fn close_source(&mut self, now_ns: u64) {
        self.take_in_last(now_ns);
        self.count_missed();
        self.source.close();
    }

    /// Takes in what has come in already, for it is lost with the receiver.
    fn take_in_last(&mut self, now_ns: u64) {
        for _ in 0..LAST_BATCHES {
            // A receiver tells once that its device is gone, before what it still has.
            if matches!(self.take_in(now_ns), Ok(false)) {
                break;
            }
        }
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

    /// Makes a new ring on an interface, that frames go `to` on one lane and come `from` on the other.
    /// What was in the old one is in doubt.
    pub fn reopen(to: &mut Self, from: &mut Self, renewal: Renewal, now_ns: u64) -> io::Result<()> {
        from.take_in_last(now_ns);
        to.ends.doubt(to.in_ring_packets());
        to.queue.reset(now_ns);
        let (port, source) = (to.queue.device_mut(), &mut from.source);
        let renewed = match renewal {
            Renewal::SameDevice => I::renew(port, source),
            Renewal::AnotherDevice => I::replace(port, source),
        };
        // What the old ring gave up comes back now: on an idle lane nobody would ask for it again.
        let _late = to.take_back(now_ns)?;
        renewed?;
        to.intake.frame_limit_bytes = to.queue.device().frame_limit_bytes();
        (to.completed_ns, to.stall_ns) = (now_ns, 0);
        Ok(())
    }

    /// What people should know of where frames come from.
    pub fn remark(&self) -> Option<String> {
        self.source.remark()
    }

    /// What to wait for.
    pub fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.fd()
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
        let completed = self.take_back(now_ns)?;
        self.stall_ns = completed.stalled.map_or(0, |stall| stall.age_ns);
        if completed.counts.packets > 0 {
            self.completed_ns = now_ns;
        }
        Ok(())
    }

    fn take_back(&mut self, now_ns: u64) -> io::Result<Completed> {
        let completed = self.queue.complete(now_ns, &mut self.ends);
        completed.map_err(|error| match error {
            CompleteError::Driver(error) => error,
            other => io::Error::other(other),
        })
    }

    fn take_in(&mut self, now_ns: u64) -> io::Result<bool> {
        let intake = &self.intake;
        let mut line = Line::<I> {
            queue: &mut self.queue,
            ends: &mut self.ends,
            is_open: self.is_open,
            now_ns,
        };
        self.source.receive(BATCH_PACKETS, &mut |received| {
            intake.take(received, &mut line)
        })
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
        self.queue.device().in_ring().map_or(0, |it| it.packets)
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
        let missed = self.source.take_missed();
        self.ends.counts.received_packets += missed;
        self.ends.counts.refuse(Refused::ReceiveBufferFull, missed);
    }

    /// Drops what waits, in the end.
    pub fn flush(&mut self, now_ns: u64) {
        self.count_missed();
        self.source.close();
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
        let holds = !self.has_no_limit && !snapshot.early_completions;
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
struct Line<'a, I: Interface> {
    queue: &'a mut Queue<I::Port>,
    ends: &'a mut Ends<I::Frames>,
    is_open: bool,
    now_ns: u64,
}

impl<I: Interface> Outlet for Line<'_, I> {
    type Frames = I::Frames;

    fn pool(&self) -> &I::Frames {
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
