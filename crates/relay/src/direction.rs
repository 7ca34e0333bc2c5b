//! One direction: from a source, through a discipline and a limit, to the port of a device.

use std::collections::BTreeSet;
use std::io;

use taut_dql::Stall;
use taut_linux::Port;
use taut_path::queue::CompleteError;
use taut_path::{
    AnyLimit, AnyQdisc, Completed, Completions, LateSegmentation, Queue, QueueConfig, Stop,
};

use crate::account::Account;
use crate::latency::Latency;
use crate::packet_ends::PacketEnds;
use crate::published::Published;
use crate::run::Next;
use crate::source::{DirectionQueue, Inlet, More, Source};

/// Time to wait after a failed call, in ns.
const RETRY_NS: u64 = 1_000_000;

/// Settings of the queue of a direction.
pub struct DirectionConfig {
    pub qdisc: AnyQdisc,
    pub limit: AnyLimit,
    /// Coalescing interval of completions: the poll interval, in ns.
    pub coalesce_ns: u64,
    /// Stall threshold: the maximum age of a packet in the device, in ns. The ring is then
    /// reopened.
    pub stall_ns: u64,
    /// Rate of a shaper in front, if there is one.
    pub rate_bits_per_s: Option<u64>,
}

/// From a source to a port.
pub struct Direction<S: Source> {
    pub(crate) source: S,
    inlet: Inlet<S>,
    published: Published,
    coalesce_ns: u64,
    pub(crate) stall_ns: u64,
    next_reap_ns: u64,
    /// When the discipline has its next packet, or a failed call is retried, in ns.
    next_run_ns: Option<u64>,
    /// Time of the last returned packet, or of the last link-up, in ns.
    pub(crate) returned_ns: u64,
    /// The last completion batch was not empty.
    pub(crate) is_moving: bool,
    /// The queue took all waiting packets.
    is_idle: bool,
    more: More,
}

impl<S: Source> Direction<S> {
    /// Creates a direction whose link is down.
    ///
    /// # Errors
    /// Returns an error if the settings do not fit the ring.
    pub fn new(
        config: DirectionConfig,
        source: S,
        (port, frames): (S::Port, S::Frames),
        (probe, latency): (S::Probe, Option<Latency>),
        now_ns: u64,
    ) -> anyhow::Result<Self> {
        let published = Published::new(port.device(), &config.limit, config.rate_bits_per_s);
        let queue = Queue::builder_for(port)
            .qdisc(config.qdisc)
            .limit(config.limit)
            .probe(probe)
            .config(QueueConfig {
                stall_threshold_ns: config.stall_ns,
                // Without effect on a ring that accepts no chunks.
                late_segmentation: LateSegmentation::Auto,
                ..QueueConfig::default()
            })
            .build(now_ns)?;
        Ok(Self {
            source,
            inlet: Inlet {
                queue,
                ends: PacketEnds {
                    frames,
                    account: Account::default(),
                    latency,
                    now_ns,
                    counted_frames: BTreeSet::new(),
                },
                is_open: false,
            },
            published,
            coalesce_ns: config.coalesce_ns,
            stall_ns: config.stall_ns,
            next_reap_ns: now_ns,
            next_run_ns: None,
            returned_ns: now_ns,
            is_moving: false,
            is_idle: false,
            more: More::WhenReady,
        })
    }

    pub fn account(&self) -> &Account {
        &self.inlet.ends.account
    }

    pub fn source(&self) -> &S {
        &self.source
    }

    pub fn port(&self) -> &S::Port {
        self.inlet.queue.device()
    }

    pub(crate) fn port_mut(&mut self) -> &mut S::Port {
        self.inlet.queue.device_mut()
    }

    pub fn queue(&self) -> &DirectionQueue<S> {
        &self.inlet.queue
    }

    /// Ends the direction, and returns its queue.
    pub fn into_queue(self) -> DirectionQueue<S> {
        self.inlet.queue
    }

    pub(crate) fn latency(&mut self) -> Option<&mut Latency> {
        self.inlet.ends.latency.as_mut()
    }

    /// Returns the limit in its units; `None` if none applies: the rule is `off`, or completions
    /// are early.
    pub fn limit(&self) -> Option<u32> {
        let snapshot = self.inlet.queue.snapshot();
        let applies = !self.inlet.queue.limit().is_off() && !snapshot.early_completions;
        applies.then_some(snapshot.limit)
    }

    /// Returns the packets that the device has not returned, including stale ones.
    pub fn in_device_packets(&self) -> u64 {
        let sent = self.inlet.queue.sender_counters().sent_packets;
        sent.saturating_sub(self.account().returned_by_device())
    }

    /// Reaps completions if that is due. Returns a stall.
    pub fn reap(&mut self, now_ns: u64) -> io::Result<Option<Stall>> {
        let is_due = self.next_reap_ns().is_some_and(|at_ns| at_ns <= now_ns);
        if !is_due && !self.is_done_at_once() {
            return Ok(None);
        }
        self.next_reap_ns = now_ns + self.coalesce_ns;
        let completed = self.complete(now_ns)?;
        Ok(completed.stalled.or_else(|| self.stale_stall(now_ns)))
    }

    /// Checks for a stall after a failed call, which reported none. Pauses sending for a moment.
    pub(crate) fn failed(&mut self, now_ns: u64) -> Option<Stall> {
        self.next_run_ns = Some(now_ns + RETRY_NS);
        let stall = self.inlet.queue.check_stall(now_ns);
        stall.or_else(|| self.stale_stall(now_ns))
    }

    /// After a reset, the queue does not count packets in the device. Such packets can stall too.
    fn stale_stall(&self, now_ns: u64) -> Option<Stall> {
        let age_ns = now_ns.saturating_sub(self.returned_ns);
        let is_stalled = self.inlet.is_open
            && age_ns > self.stall_ns
            && self.inlet.queue.in_flight() == 0
            && self.in_device_packets() > 0;
        is_stalled.then_some(Stall {
            age_ns,
            since_ns: self.returned_ns,
        })
    }

    fn complete(&mut self, now_ns: u64) -> io::Result<Completed> {
        self.inlet.ends.now_ns = now_ns;
        let completed = self.inlet.queue.complete(now_ns, &mut self.inlet.ends);
        let counters = self.inlet.queue.completer_counters();
        let (packets, stale_packets) = self.inlet.ends.account.completed(counters);
        self.is_moving = packets > 0;
        if packets + stale_packets > 0 {
            self.returned_ns = now_ns;
        }
        completed.map_err(|error| match error {
            CompleteError::Driver(error) => error,
            other => io::Error::other(other),
        })
    }

    /// Records a poll of the link. If it was down, packets in the device might be purged: the queue
    /// is reset, and they are returned as stale.
    pub(crate) fn link_polled(&mut self, was_down: bool, now_ns: u64) {
        self.inlet.ends.account.link_polled(was_down);
        if was_down && self.inlet.queue.in_flight() > 0 {
            self.inlet.queue.reset(now_ns);
        }
    }

    /// Records that the link came up, or went down.
    pub fn set_open(&mut self, is_open: bool, now_ns: u64) {
        if is_open && !self.inlet.is_open {
            // Packets in the device could not be returned in the meantime.
            self.returned_ns = now_ns;
            self.next_run_ns = None;
        }
        self.inlet.is_open = is_open;
    }

    /// Reopens the ring with `open`, even if that fails. Packets of the old ring end as stale.
    pub(crate) fn reopen(
        &mut self,
        now_ns: u64,
        open: impl FnOnce(&mut S::Port, &mut S) -> io::Result<()>,
    ) -> io::Result<()> {
        // Packets that are complete by now are not stale.
        let _ = self.complete(now_ns);
        self.inlet.queue.reset(now_ns);
        let opened = open(self.inlet.queue.device_mut(), &mut self.source);
        while self
            .complete(now_ns)
            .is_ok_and(|completed| completed.more_pending)
        {}
        self.returned_ns = now_ns;
        opened
    }

    /// Records that the source is readable.
    pub fn set_readable(&mut self) {
        self.more = More::Now;
    }

    /// Receives frames, and sends as many as the limit and the ring permit.
    pub fn turn(&mut self, now_ns: u64) -> io::Result<()> {
        let readable = self.more == More::Now;
        self.inlet.ends.now_ns = now_ns;
        let taken = self.source.take(now_ns, readable, &mut self.inlet);
        self.more = *taken.as_ref().unwrap_or(&More::WhenReady);
        self.published.publish_if_due(now_ns, &self.inlet.queue);
        self.send(now_ns)?;
        taken.map(drop)
    }

    fn send(&mut self, now_ns: u64) -> io::Result<()> {
        self.is_idle = false;
        if !self.inlet.is_open || self.next_run_ns.is_some_and(|at_ns| now_ns < at_ns) {
            return Ok(());
        }
        self.next_run_ns = None;
        match self.inlet.queue.run(now_ns, &mut self.inlet.ends) {
            Stop::NotReady(at_ns) => self.next_run_ns = Some(at_ns),
            Stop::Failed(error) => return Err(error),
            Stop::Idle => self.is_idle = true,
            _ => {}
        }
        Ok(())
    }

    /// A ring has no interrupt: it is polled once per coalescing interval.
    fn next_reap_ns(&self) -> Option<u64> {
        let reap_ns = (self.in_device_packets() > 0).then_some(self.next_reap_ns);
        reap_ns
            .into_iter()
            .chain(self.inlet.queue.next_wakeup())
            .min()
    }

    /// With early completions, the next packets need not wait for an interval.
    fn is_done_at_once(&self) -> bool {
        self.is_moving && self.more == More::WhenEmpty && !self.port().completions_valid()
    }

    /// Returns `true` if no further frame can be freed: the device returned all packets, and the
    /// discipline has none. The source is over then, or the discipline lost packets.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.more == More::WhenFreed
            && self.in_device_packets() == 0
            && self.inlet.queue.backlog().packets == 0
    }

    /// Returns when to call again.
    pub fn next(&self) -> Next {
        if self.is_exhausted() {
            return Next::Now;
        }
        let is_room = self.inlet.is_open && self.is_idle || self.is_done_at_once();
        let more_ns = match self.more {
            More::Now => return Next::Now,
            More::WhenEmpty if is_room => return Next::Now,
            More::At(at_ns) => Some(at_ns),
            More::WhenEmpty | More::WhenFreed | More::WhenReady => None,
        };
        let run_ns = self.next_run_ns.into_iter().chain(more_ns);
        let run_ns = run_ns.filter(|_| self.inlet.is_open);
        let at_ns = self.next_reap_ns().into_iter().chain(run_ns).min();
        Next::At(at_ns.unwrap_or(u64::MAX))
    }

    /// Takes the frames that were received already.
    pub(crate) fn take_last(&mut self, now_ns: u64) {
        self.inlet.ends.now_ns = now_ns;
        self.source.take_last(&mut self.inlet);
    }

    /// Closes the source because its interface was removed.
    pub(crate) fn close_source(&mut self, now_ns: u64) {
        self.take_last(now_ns);
        self.count_missed();
        self.source.close();
    }

    /// Counts frames lost before they were received.
    pub(crate) fn count_missed(&mut self) {
        self.source.count_missed(&mut self.inlet.ends.account);
    }

    /// Stops receiving.
    pub(crate) fn stop(&mut self) {
        self.count_missed();
        self.source.stop();
    }

    /// Drops the backlog of the discipline.
    pub(crate) fn flush(&mut self, now_ns: u64) {
        self.source.flush(&mut self.inlet.ends);
        self.inlet.queue.flush(now_ns, &mut self.inlet.ends);
    }

    /// Drops the backlog, and does not wait for packets in the device.
    pub(crate) fn give_up(&mut self, now_ns: u64) {
        self.stop();
        self.flush(now_ns);
        let _ = self.complete(now_ns);
        let in_ring = self.port().in_ring().map(|ring| u64::from(ring.packets));
        let packets = in_ring.unwrap_or_else(|| self.in_device_packets());
        self.inlet.ends.account.give_up(packets);
    }
}
