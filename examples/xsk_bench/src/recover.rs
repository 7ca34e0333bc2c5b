//! A sender that recovers from stalls and lost devices, and accounts for each packet.

use serde_json::{Value, json};
use taut_linux::link::{LinkMonitor, LinkState, LinkStatus};
use taut_linux::sched::monotonic_ns;
use taut_path::{Completed, Completions, QueueConfig, Stop};

use crate::limited::Limited;
use crate::packet::BYTES;
use crate::receiver::Arrivals;
use crate::world::{NEAR, World};
use crate::xsk::{Result, Shape, Xsk};

/// Age of the oldest packet that counts as a stall, in ns.
const STALL_THRESHOLD_NS: u64 = 500_000_000;
/// A stall is given up, and the queue flushed, after this many in succession.
const MAX_STALLS: u64 = 8;
/// The kernel can report a lost carrier a second after it began to drop packets.
const CARRIER_DELAY_NS: u64 = 1_100_000_000;

/// A sender and its account.
pub struct Recovering<X: Xsk> {
    limited: Limited<X>,
    shape: Shape,
    monitor: LinkMonitor,
    sent: u64,
    /// Sent or lost: the link was down, or the packet was in a ring without completions.
    uncertain: u64,
    /// Packets completed in the current and in the previous [`CARRIER_DELAY_NS`], and its end.
    recent: [u64; 2],
    recent_until_ns: u64,
    /// The bytes of all frames of closed rings.
    closed: Option<Vec<u8>>,
    pub stalls: u64,
    /// Stalls since the last completion.
    stalls_in_succession: u64,
}

impl<X: Xsk> Recovering<X> {
    pub fn open(world: &World, shape: Shape, limit: &str) -> Result<Self> {
        let config = QueueConfig {
            stall_threshold_ns: STALL_THRESHOLD_NS,
            ..QueueConfig::default()
        };
        Ok(Self {
            limited: Limited::open(shape, limit, config)?,
            shape,
            monitor: LinkMonitor::open(&world.near, NEAR)?,
            sent: 0,
            uncertain: 0,
            recent: [0; 2],
            recent_until_ns: 0,
            closed: None,
            stalls: 0,
            stalls_in_succession: 0,
        })
    }

    /// Enqueues packets up to `packets` in total, sends and completes.
    pub fn step(&mut self, packets: u64) -> Result<()> {
        let now_ns = monotonic_ns();
        self.open_again();
        while self.limited.enqueued < packets && self.limited.enqueue(0, now_ns) {}
        let Limited { queue, frames, .. } = &mut self.limited;
        if let Stop::Failed(error) = queue.run(now_ns, frames) {
            eprintln!("{}: {error}", X::NAME);
        }
        // Read again: `run` includes a system call, in which packets can leave and complete.
        let now_ns = monotonic_ns();
        let completed = queue.complete(now_ns, frames).unwrap_or_else(|error| {
            eprintln!("{}: {error}", X::NAME);
            Completed::default()
        });
        self.uncertain += u64::from(completed.stale_packets);
        let status = self.monitor.poll()?;
        self.count(u64::from(completed.counts.packets), status, now_ns);
        if completed.counts.packets > 0 {
            self.stalls_in_succession = 0;
        }
        let is_stalled = completed.stalled.is_some();
        if is_stalled {
            self.stalls += 1;
            self.stalls_in_succession += 1;
        }
        if is_stalled || status.was_down {
            self.limited.queue.reset(now_ns);
        }
        let is_released = self.limited.queue.device_mut().held() == 0;
        let is_lost = is_stalled && (is_released || self.has_given_up());
        if is_lost || status.state == LinkState::Removed {
            self.close();
        }
        if self.has_given_up() {
            let Limited { queue, frames, .. } = &mut self.limited;
            queue.flush(now_ns, frames);
        }
        Ok(())
    }

    /// Counts completed packets as sent when the carrier was not lost soon after.
    fn count(&mut self, completed: u64, status: LinkStatus, now_ns: u64) {
        if !status.was_down {
            self.recent[0] += completed;
        } else if status.state == LinkState::Removed {
            // A removed device completes what it purges, and its state is known at once.
            self.uncertain += completed;
        } else {
            self.uncertain += completed + self.recent.iter().sum::<u64>();
            self.recent = [0; 2];
        }
        if now_ns >= self.recent_until_ns {
            self.sent += self.recent[1];
            self.recent = [0, self.recent[0]];
            self.recent_until_ns = now_ns + CARRIER_DELAY_NS;
        }
    }

    pub fn has_given_up(&self) -> bool {
        self.stalls_in_succession >= MAX_STALLS
    }

    /// Closes the socket. Packets that wait keep their bytes.
    fn close(&mut self) {
        let Some(mut rings) = self.limited.queue.device_mut().close() else {
            return;
        };
        let mut bytes = Vec::with_capacity((self.shape.frames * BYTES) as usize);
        for frame in 0..self.shape.frames {
            rings.with_bytes(frame, BYTES, |frame| bytes.extend_from_slice(frame));
        }
        self.closed = Some(bytes);
    }

    fn open_again(&mut self) {
        let is_running = self.monitor.state() == LinkState::Running;
        if self.closed.is_none() || self.has_given_up() || !is_running {
            return;
        }
        let Ok(mut rings) = X::open(NEAR, self.shape) else {
            return;
        };
        let bytes = self.closed.take().unwrap_or_default();
        for (frame, bytes) in (0..).zip(bytes.chunks(BYTES as usize)) {
            rings.with_bytes(frame, BYTES, |frame| frame.copy_from_slice(bytes));
        }
        self.limited.queue.device_mut().open(rings);
    }

    pub fn enqueued(&self) -> u64 {
        self.limited.enqueued
    }

    /// Returns the packets that the device returned.
    pub fn ended(&self) -> u64 {
        self.sent + self.uncertain + self.recent.iter().sum::<u64>()
    }

    /// Returns `true` if all `packets` have ended.
    pub fn is_done(&self, packets: u64) -> bool {
        (self.limited.enqueued >= packets || self.has_given_up())
            && self.recent == [0; 2]
            && self.limited.frames.0.len() == self.shape.frames as usize
    }

    fn dropped(&self) -> u64 {
        self.limited.queue.sender_counters().drops.total()
    }

    /// Returns what is wrong with the account.
    pub fn errors(&self, arrivals: &Arrivals) -> Vec<&'static str> {
        let (sent, uncertain) = (self.sent, self.uncertain + self.in_ring());
        let arrived = arrivals.numbers.len() as u64;
        let unknown = self.limited.queue.device().unknown_completions();
        let is_missing = sent + uncertain + self.dropped() != self.limited.enqueued;
        let is_lost = arrived < sent;
        let is_added = arrived > sent + uncertain;
        let checks = [
            (is_missing, "a packet is missing"),
            (is_lost, "a packet that counts as sent did not arrive"),
            (is_added, "a packet arrived that was not sent"),
            (arrivals.duplicates > 0, "a packet arrived twice"),
            (unknown > 0, "an unknown completion"),
        ];
        let wrong = checks.into_iter().filter(|(is_wrong, _)| *is_wrong);
        wrong.map(|(_, text)| text).collect()
    }

    fn in_ring(&self) -> u64 {
        let in_ring = self.limited.queue.device().in_ring();
        in_ring.map_or(0, |it| it.packets.into())
    }

    pub fn row(&self, arrivals: &Arrivals) -> Value {
        json!({
            "packets": self.limited.enqueued,
            "sent": self.sent,
            "dropped": self.dropped(),
            "uncertain": self.uncertain + self.in_ring(),
            "arrived": arrivals.numbers.len(),
            "stalls": self.stalls,
        })
    }
}
