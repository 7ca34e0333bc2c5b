//! Frames to send, captured or generated, at the rate at which the discipline takes them.

use std::io;
use std::marker::PhantomData;

use taut_linux::{Frames, Port};
use taut_measure::meter::{Meter, Since};
use taut_path::classify::classify;
use taut_path::pool::PoolError;
use taut_path::queue::NoRoom;
use taut_path::{DropReason, Packet, PacketSink};

use super::pace::{Pace, Pacing};
use super::{Capture, Generated, Inlet, More, Source};
use crate::account::{Account, reject};
use crate::frame_limit::FrameLimit;
use crate::intake::classed;
use crate::latency::SentTimes;

/// Backlog of the discipline: two bursts.
const WAITING_PACKETS: u64 = 128;

/// The Ethernet header, and so the shortest frame.
const HEADER_BYTES: usize = 14;
/// Rejected frames between two checks of the duration and of signals.
const REJECTED_PER_TURN: u32 = 1_024;

/// The frames of a feed.
#[derive(Debug, Clone)]
pub enum Content {
    Capture(Capture),
    Generated(Generated),
}

impl Content {
    fn next(&mut self) -> Option<Result<&[u8], &'static str>> {
        match self {
            Self::Capture(capture) => capture.next(),
            Self::Generated(generated) => Some(Ok(generated.next_frame())),
        }
    }

    /// Returns the number of frames after which they repeat, except for their payload.
    fn period(&self) -> u64 {
        match self {
            Self::Capture(capture) => capture.packets() as u64,
            Self::Generated(_) => 1,
        }
    }

    /// Returns the time of the next frame after the first one, in ns.
    fn next_due_ns(&self) -> u64 {
        match self {
            Self::Capture(capture) => capture.next_due_ns(),
            Self::Generated(_) => 0,
        }
    }
}

/// The frames, their number and times.
#[derive(Debug, Clone)]
pub struct FeedSettings {
    pub content: Content,
    /// Without end if `None`.
    pub count: Option<u64>,
    pub pacing: Pacing,
    /// The discipline needs the flow and priority of packets.
    pub classify: bool,
}

/// Turns captured or generated frames into packets.
#[derive(Debug)]
pub struct Feed<P, F> {
    content: Content,
    /// Remaining frames.
    left: u64,
    limit: FrameLimit,
    classify: bool,
    pace: Pace,
    /// A packet for which the discipline had no room.
    held: Option<Packet>,
    /// Rejected frames since the last one that was accepted.
    rejected_in_row: u64,
    sends_to: PhantomData<(P, F)>,
}

impl<P: Port, F: Frames> Feed<P, F> {
    /// Creates a feed for a device with this MTU.
    pub fn new(settings: FeedSettings, mtu_bytes: u32) -> Self {
        Self {
            content: settings.content,
            left: settings.count.unwrap_or(u64::MAX),
            limit: FrameLimit::new(mtu_bytes, P::extra_bytes),
            classify: settings.classify,
            pace: Pace::new(settings.pacing),
            held: None,
            rejected_in_row: 0,
            sends_to: PhantomData,
        }
    }

    /// Returns the maximum delay of a frame after its time in the capture, in ns.
    pub fn max_late_ns(&self) -> Option<u64> {
        self.pace.max_late_ns()
    }

    fn more(&self, now_ns: u64) -> More {
        let due_ns = self.pace.due_ns(self.content.next_due_ns());
        match due_ns {
            _ if self.held.is_some() => More::WhenEmpty,
            _ if self.left == 0 => More::WhenFreed,
            due_ns if due_ns > now_ns => More::At(due_ns),
            _ => More::WhenEmpty,
        }
    }

    /// Returns the next due packet, if a frame is free for it.
    fn next(&mut self, frames: &F, account: &mut Account, now_ns: u64) -> Option<Packet> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        for _ in 0..REJECTED_PER_TURN {
            if self.more(now_ns) != More::WhenEmpty || frames.free_frames() == 0 {
                return None;
            }
            let due_ns = self.content.next_due_ns();
            let Some(content) = self.content.next() else {
                self.left = 0;
                return None;
            };
            self.left -= 1;
            account.received_packets += 1;
            let packet = content.and_then(|bytes| {
                account.received_bytes += bytes.len() as u64;
                self.pace.took(bytes.len(), due_ns, now_ns);
                let packet = packet_of(bytes, frames, &self.limit)?;
                Ok(match self.classify {
                    true => classed(packet, classify(bytes)),
                    false => packet,
                })
            });
            match packet {
                Ok(packet) => {
                    self.rejected_in_row = 0;
                    return Some(packet);
                }
                Err(reason) => self.reject(reason, account),
            }
        }
        None
    }

    /// Counts a rejected frame. Ends if all frames are, because the next ones are the same.
    fn reject(&mut self, reason: &'static str, account: &mut Account) {
        account.count_dropped(reason, 1);
        self.rejected_in_row += 1;
        if self.rejected_in_row >= self.content.period() {
            self.left = 0;
        }
    }
}

impl<P: Port, F: Frames> Source for Feed<P, F> {
    type Port = P;
    type Frames = F;
    type Probe = (Meter<Since>, SentTimes);

    /// Takes nothing while the link is down: the backlog is kept for it.
    fn take(&mut self, now_ns: u64, _readable: bool, inlet: &mut Inlet<Self>) -> io::Result<More> {
        self.pace.link_polled(inlet.is_open, now_ns);
        if !inlet.is_open {
            return Ok(More::WhenReady);
        }
        let (queue, ends) = (&mut inlet.queue, &mut inlet.ends);
        while queue.backlog().packets < WAITING_PACKETS {
            let Some(packet) = self.next(&ends.frames, &mut ends.account, now_ns) else {
                break;
            };
            if let Err(NoRoom(packet)) = queue.offer(packet, now_ns, ends) {
                self.held = Some(packet);
                break;
            }
        }
        Ok(match self.more(now_ns) {
            More::WhenEmpty if ends.frames.free_frames() == 0 => More::WhenFreed,
            // The last frames were rejected, and more follow.
            More::WhenEmpty if self.rejected_in_row > 0 => More::Now,
            more => more,
        })
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.limit.set_mtu(mtu_bytes);
    }

    fn stop(&mut self) {
        self.left = 0;
    }

    fn is_over(&self) -> bool {
        self.left == 0 && self.held.is_none()
    }

    fn flush(&mut self, sink: &mut impl PacketSink) {
        if let Some(packet) = self.held.take() {
            sink.dropped(packet, DropReason::Flushed);
        }
    }
}

/// Copies a frame into a free one.
fn packet_of(
    bytes: &[u8],
    frames: &impl Frames,
    limit: &FrameLimit,
) -> Result<Packet, &'static str> {
    if bytes.len() < HEADER_BYTES {
        return Err(reject::SHORTER_THAN_HEADER);
    }
    if bytes.len() > limit.max_bytes(bytes) as usize {
        return Err(match limit.is_exceeded_by_tags(bytes, bytes.len()) {
            true => reject::TOO_LONG_TAGGED,
            false => reject::LONGER_THAN_MTU,
        });
    }
    // A frame is free, so only the length can be invalid.
    let packet = frames.packet(bytes);
    packet.map_err(|_: PoolError| reject::LONGER_THAN_FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Device;
    use taut_linux::link::MacAddress;
    use taut_path::pool::FramePool;

    fn feed(size_bytes: u32, pacing: Pacing, mtu_bytes: u32) -> Feed<Device, FramePool> {
        let [from, to] = [1, 2].map(MacAddress::local);
        let settings = FeedSettings {
            content: Content::Generated(Generated::new(size_bytes, 1, from, to, 1)),
            count: None,
            pacing,
            classify: false,
        };
        Feed::new(settings, mtu_bytes)
    }

    #[test]
    fn pace_is_exact_to_the_bit() {
        let (mut pool, mut account) = (FramePool::new(4, 2048), Account::default());
        let mut feed = feed(1_500, Pacing::Rate(7_000_000), 1_500);
        let (mut now_ns, mut packets) = (1, 0_u64);
        while now_ns < 1_000_000_000 {
            while let Some(packet) = feed.next(&pool, &mut account, now_ns) {
                packets += 1;
                pool.freed(packet);
            }
            now_ns = match feed.more(now_ns) {
                More::At(at_ns) => at_ns,
                other => panic!("{other:?}"),
            };
        }
        // 7 Mbit/s are 583.3 frames of 1,500 bytes, and the first ones are sent at once: 10 ms can
        // be caught up.
        assert!((583..=590).contains(&packets), "{packets}");
    }

    #[test]
    fn rejected_frames_are_counted_by_reason() {
        let pool = FramePool::new(4, 128);
        for (size_bytes, mtu_bytes, reason) in [
            (100, 60, reject::LONGER_THAN_MTU),
            (200, 1_500, reject::LONGER_THAN_FRAME),
        ] {
            // Without end: further frames would be rejected for the same reason.
            let mut feed = feed(size_bytes, Pacing::Unpaced, mtu_bytes);
            let mut account = Account::default();
            assert!(feed.next(&pool, &mut account, 0).is_none());
            let dropped = account.dropped_packets().get(reason);
            assert_eq!((dropped, account.received_packets), (Some(&1), 1));
            assert_eq!(feed.more(0), More::WhenFreed);
        }
        assert_eq!(pool.free_frames(), 4);
    }
}
