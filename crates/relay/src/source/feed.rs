//! Frames to send, captured or generated, at the rate at which the discipline takes them.

use std::io;

use taut_linux::{Frames, tag_bytes};
use taut_path::classify::classify;
use taut_path::pool::PoolError;
use taut_path::queue::NoRoom;
use taut_path::{DropReason, Packet, PacketSink};

use super::capture::NextFrame;
use super::{Capture, Generated, More, Source};
use crate::account::{Account, RejectReason};
use crate::inlet::Inlet;

/// Backlog of the discipline: two bursts.
const WAITING_PACKETS: u64 = 128;

/// The Ethernet header, and so the shortest frame.
const HEADER_BYTES: usize = 14;
/// Maximum lag behind the rate of a sender that could not run, in ns; a longer lag is skipped.
const BEHIND_NS: u64 = 10_000_000;

/// The frames of a feed.
#[derive(Debug, Clone)]
pub enum Content {
    Capture(Capture),
    Generated(Generated),
}

impl Content {
    fn next(&mut self) -> NextFrame<'_> {
        match self {
            Self::Capture(capture) => capture.next(),
            Self::Generated(generated) => NextFrame::Bytes(generated.next_frame()),
        }
    }
}

/// Number and rate of the frames.
#[derive(Debug, Clone, Copy, Default)]
pub struct FeedSettings {
    /// Without end if `None`.
    pub count: Option<u64>,
    /// As fast as the device sends if `None`.
    pub rate_bits_per_s: Option<u64>,
    /// The discipline needs the flow and priority of packets.
    pub classify: bool,
}

/// Turns captured or generated frames into packets.
#[derive(Debug)]
pub struct Feed {
    content: Content,
    /// Remaining frames.
    left: u64,
    max_bytes: u32,
    /// Returns the bytes by which a frame can exceed the maximum because of its tags.
    extra_bytes: fn(&[u8]) -> u32,
    classify: bool,
    pace: Option<Pace>,
    /// A packet for which the discipline had no room.
    held: Option<Packet>,
}

impl Feed {
    /// Creates a feed for a device with this MTU, which a frame can exceed by `extra_bytes`.
    pub fn new(
        content: Content,
        settings: FeedSettings,
        mtu_bytes: u32,
        extra_bytes: fn(&[u8]) -> u32,
    ) -> Self {
        Self {
            content,
            left: settings.count.unwrap_or(u64::MAX),
            max_bytes: max_bytes(mtu_bytes),
            extra_bytes,
            classify: settings.classify,
            pace: settings.rate_bits_per_s.map(Pace::new),
            held: None,
        }
    }

    fn more(&self, now_ns: u64) -> More {
        match &self.pace {
            _ if self.held.is_some() => More::WhenEmpty,
            _ if self.left == 0 => More::Never,
            Some(pace) if pace.due_ns > now_ns => More::At(pace.due_ns),
            _ => More::WhenEmpty,
        }
    }

    /// Returns the next due packet, if a frame is free for it.
    fn next<F: Frames>(
        &mut self,
        frames: &F,
        account: &mut Account,
        now_ns: u64,
    ) -> Option<Packet> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        while self.more(now_ns) == More::WhenEmpty && frames.free_frames() > 0 {
            let bytes = match self.content.next() {
                NextFrame::End => {
                    self.left = 0;
                    return None;
                }
                NextFrame::Cut => None,
                NextFrame::Bytes(bytes) => Some(bytes),
            };
            self.left -= 1;
            account.received_packets += 1;
            let Some(bytes) = bytes else {
                account.refuse(RejectReason::TruncatedInCapture, 1);
                continue;
            };
            account.received_bytes += bytes.len() as u64;
            if let Some(pace) = &mut self.pace {
                pace.took(bytes.len(), now_ns);
            }
            let limits = (self.max_bytes, (self.extra_bytes)(bytes));
            match packet_of(bytes, frames, limits) {
                Ok(packet) if self.classify => return Some(classified(packet, bytes)),
                Ok(packet) => return Some(packet),
                Err(reason) => account.refuse(reason, 1),
            }
        }
        None
    }
}

impl<F: Frames> Source<F> for Feed {
    /// Takes nothing while the link is down: the backlog is kept for it.
    fn take<I: Inlet<Frames = F>>(
        &mut self,
        now_ns: u64,
        _readable: bool,
        inlet: &mut I,
    ) -> io::Result<More> {
        if !inlet.is_open() {
            return Ok(More::WhenReady);
        }
        while inlet.waiting_packets() < WAITING_PACKETS {
            let (frames, account) = inlet.parts();
            let Some(packet) = self.next(frames, account, now_ns) else {
                break;
            };
            if let Err(NoRoom(packet)) = inlet.offer(packet) {
                self.held = Some(packet);
                break;
            }
        }
        Ok(match self.more(now_ns) {
            More::WhenEmpty if inlet.parts().0.free_frames() == 0 => More::WhenReady,
            more => more,
        })
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.max_bytes = max_bytes(mtu_bytes);
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

/// Returns the maximum frame length without a VLAN tag.
fn max_bytes(mtu_bytes: u32) -> u32 {
    mtu_bytes.saturating_add(HEADER_BYTES as u32)
}

/// Copies a frame into a free one. Its VLAN tags can exceed `max_bytes` by `extra_bytes`.
fn packet_of(
    bytes: &[u8],
    frames: &impl Frames,
    (max_bytes, extra_bytes): (u32, u32),
) -> Result<Packet, RejectReason> {
    if bytes.len() < HEADER_BYTES {
        return Err(RejectReason::ShorterThanHeader);
    }
    if bytes.len() > (max_bytes + extra_bytes) as usize {
        let is_tagged = bytes.len() <= (max_bytes + tag_bytes(bytes)) as usize;
        return Err(match is_tagged {
            true => RejectReason::TooLongTagged,
            false => RejectReason::LongerThanMtu,
        });
    }
    // A frame is free, so only the length can be invalid.
    let packet = frames.packet(bytes);
    packet.map_err(|_: PoolError| RejectReason::LongerThanFrame)
}

fn classified(mut packet: Packet, bytes: &[u8]) -> Packet {
    let class = classify(bytes);
    packet.priority = class.priority;
    packet.flow = class.flow;
    packet.set_ecn(class.ecn);
    packet
}

/// Paces frames at a bit rate.
#[derive(Debug)]
struct Pace {
    rate_bits_per_s: u64,
    due_ns: u64,
    /// The remainder of a nanosecond, in units of 1 / rate.
    rest: u64,
}

impl Pace {
    fn new(rate_bits_per_s: u64) -> Self {
        Self {
            rate_bits_per_s: rate_bits_per_s.max(1),
            due_ns: 0,
            rest: 0,
        }
    }

    fn took(&mut self, bytes: usize, now_ns: u64) {
        let scaled = bytes as u128 * 8 * 1_000_000_000 + u128::from(self.rest);
        let rate = u128::from(self.rate_bits_per_s);
        self.rest = (scaled % rate) as u64;
        let took_ns = u64::try_from(scaled / rate).unwrap_or(u64::MAX);
        let from_ns = self.due_ns.max(now_ns.saturating_sub(BEHIND_NS));
        self.due_ns = from_ns.saturating_add(took_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_linux::link::MacAddress;
    use taut_path::pool::FramePool;

    fn feed(size_bytes: u32, settings: FeedSettings, mtu_bytes: u32) -> Feed {
        let [from, to] = [1, 2].map(MacAddress::local);
        let generated = Generated::new(size_bytes, 1, from, to, 1);
        Feed::new(Content::Generated(generated), settings, mtu_bytes, |_| 0)
    }

    #[test]
    fn pace_is_exact_to_the_bit() {
        let (mut pool, mut account) = (FramePool::new(4, 2048), Account::default());
        let settings = FeedSettings {
            rate_bits_per_s: Some(7_000_000),
            ..FeedSettings::default()
        };
        let mut feed = feed(1_500, settings, 1_500);
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
        for (size_bytes, count, mtu_bytes, reason) in [
            (100, 3, 60, RejectReason::LongerThanMtu),
            (200, 2, 1_500, RejectReason::LongerThanFrame),
        ] {
            let settings = FeedSettings {
                count: Some(count),
                ..FeedSettings::default()
            };
            let (mut feed, mut account) =
                (feed(size_bytes, settings, mtu_bytes), Account::default());
            assert!(feed.next(&pool, &mut account, 0).is_none());
            let dropped = account.dropped_packets().get(reason.name());
            assert_eq!((dropped, account.received_packets), (Some(&count), count));
            assert_eq!(feed.more(0), More::Never);
        }
        assert_eq!(pool.free_frames(), 4);
    }
}
