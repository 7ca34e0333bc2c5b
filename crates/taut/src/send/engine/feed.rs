//! From the source into the discipline, no more than it takes at once.

use taut_linux::Frames;
use taut_path::classify::classify;
use taut_path::pool::PoolError;
use taut_path::queue::NoRoom;
use taut_path::{Packet, PacketSink};

use super::super::source::{Next, Source};

/// Packets that wait in the discipline: two bursts.
pub const WAITING_PACKETS: u64 = 128;

/// The Ethernet header, the least that is a frame.
const HEADER_BYTES: usize = 14;
/// How far a sender that was kept from running may be behind its rate, in ns; the rest is not made up for.
const BEHIND_NS: u64 = 10_000_000;

/// Takes frames from the source and makes packets of them.
pub struct Feed {
    source: Source,
    /// Frames that may still be taken.
    left: u64,
    longest_bytes: u32,
    classify: bool,
    pace: Option<Pace>,
    /// Made, and refused by the discipline.
    held: Option<Packet>,
    /// Frames taken.
    pub submitted_packets: u64,
    pub refused: Refused,
}

/// Frames that never became packets, for each reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    pub longer_than_mtu: u64,
    pub longer_than_frame: u64,
    pub shorter_than_header: u64,
    pub cut_in_capture: u64,
}

impl Refused {
    pub const fn by_reason(&self) -> [(&'static str, u64); 4] {
        [
            ("longer_than_mtu", self.longer_than_mtu),
            ("longer_than_frame", self.longer_than_frame),
            ("shorter_than_header", self.shorter_than_header),
            ("cut_in_capture", self.cut_in_capture),
        ]
    }
}

/// What the feed has next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// As soon as there is room.
    Now,
    /// At this time, in ns.
    At(u64),
    /// Nothing any more.
    Never,
}

impl Feed {
    pub fn new(
        source: Source,
        count: Option<u64>,
        rate_bits_per_s: Option<u64>,
        classify: bool,
        mtu_bytes: u32,
    ) -> Self {
        let mut feed = Self {
            source,
            left: count.unwrap_or(u64::MAX),
            longest_bytes: 0,
            classify,
            pace: rate_bits_per_s.map(Pace::new),
            held: None,
            submitted_packets: 0,
            refused: Refused::default(),
        };
        feed.set_mtu(mtu_bytes);
        feed
    }

    /// Frames may be so long from now on, without the Ethernet header and a VLAN tag.
    pub fn set_mtu(&mut self, mtu_bytes: u32) {
        self.longest_bytes = mtu_bytes.saturating_add(HEADER_BYTES as u32);
    }

    /// Takes no more frames.
    pub fn stop(&mut self) {
        self.left = 0;
    }

    pub fn more(&self, now_ns: u64) -> More {
        match &self.pace {
            _ if self.held.is_some() => More::Now,
            _ if self.left == 0 => More::Never,
            Some(pace) if pace.due_ns > now_ns => More::At(pace.due_ns),
            _ => More::Now,
        }
    }

    /// Frames that never became packets.
    pub fn refused_packets(&self) -> u64 {
        self.refused
            .by_reason()
            .iter()
            .map(|(_, packets)| packets)
            .sum()
    }

    /// Whether everything was taken, and nothing is in hand.
    pub fn is_empty(&self) -> bool {
        self.left == 0 && self.held.is_none()
    }

    /// Gives up what is in hand.
    pub fn take_held(&mut self) -> Option<Packet> {
        self.held.take()
    }

    /// The next packet that is due, if there is a frame for it.
    pub fn next<F: Frames>(&mut self, frames: &F, now_ns: u64) -> Option<Packet> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        while self.more(now_ns) == More::Now && frames.free_frames() > 0 {
            let bytes = match self.source.next() {
                Next::End => {
                    self.left = 0;
                    return None;
                }
                Next::Cut => {
                    self.left -= 1;
                    self.submitted_packets += 1;
                    self.refused.cut_in_capture += 1;
                    continue;
                }
                Next::Frame(bytes) => bytes,
            };
            self.left -= 1;
            self.submitted_packets += 1;
            if let Some(pace) = &mut self.pace {
                pace.took(bytes.len(), now_ns);
            }
            if bytes.len() < HEADER_BYTES {
                self.refused.shorter_than_header += 1;
                continue;
            }
            if bytes.len() > (self.longest_bytes + tag_bytes(bytes)) as usize {
                self.refused.longer_than_mtu += 1;
                continue;
            }
            match frames.packet(bytes) {
                Ok(packet) if self.classify => return Some(classified(packet, bytes)),
                Ok(packet) => return Some(packet),
                // One frame was free, so this is what is left.
                Err(PoolError::TooLong { .. } | _) => self.refused.longer_than_frame += 1,
            }
        }
        None
    }

    /// The discipline had no room for it.
    pub fn hold(&mut self, NoRoom(packet): NoRoom) {
        self.held = Some(packet);
    }

    /// Drops what is in hand.
    pub fn flush(&mut self, sink: &mut impl PacketSink) {
        if let Some(packet) = self.take_held() {
            sink.dropped(packet, taut_path::DropReason::Flushed);
        }
        self.stop();
    }
}

fn classified(mut packet: Packet, bytes: &[u8]) -> Packet {
    let class = classify(bytes);
    packet.priority = class.priority;
    packet.flow = class.flow;
    packet.set_ecn(class.ecn);
    packet
}

/// What a frame may have beyond the MTU: one tag of a VLAN.
fn tag_bytes(frame: &[u8]) -> u32 {
    match frame.get(12..14) {
        Some([0x81, 0x00]) => 4,
        _ => 0,
    }
}

/// Spaces frames so that their bits are of a rate.
#[derive(Debug)]
struct Pace {
    rate_bits_per_s: u64,
    due_ns: u64,
    /// What is left of a nanosecond, in units of 1 / rate.
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
    use crate::send::source::Generated;
    use taut_linux::link::MacAddress;
    use taut_path::pool::FramePool;

    fn generated(size_bytes: u32) -> Source {
        let [from, to] = [1, 2].map(MacAddress::local);
        Source::Generated(Generated::new(size_bytes, 1, from, to, 1))
    }

    #[test]
    fn a_rate_is_kept_to_the_bit() {
        let mut pool = FramePool::new(4, 2048);
        let mut feed = Feed::new(generated(1_500), None, Some(7_000_000), false, 1_500);
        let (mut now_ns, mut packets) = (1, 0_u64);
        while now_ns < 1_000_000_000 {
            while let Some(packet) = feed.next(&pool, now_ns) {
                packets += 1;
                pool.freed(packet);
            }
            now_ns = match feed.more(now_ns) {
                More::At(at_ns) => at_ns,
                other => panic!("{other:?}"),
            };
        }
        // 7 Mbit/s are 583.3 frames of 1,500 bytes, and the first ones go at once: 10 ms may be made up.
        assert!((583..=590).contains(&packets), "{packets}");
    }

    #[test]
    fn what_cannot_be_sent_is_counted_with_its_reason() {
        let pool = FramePool::new(4, 128);
        let mut feed = Feed::new(generated(100), Some(3), None, false, 60);
        assert!(feed.next(&pool, 0).is_none());
        assert_eq!(
            (feed.refused.longer_than_mtu, feed.submitted_packets),
            (3, 3)
        );
        assert_eq!(feed.more(0), More::Never);
        let mut feed = Feed::new(generated(200), Some(2), None, false, 1_500);
        assert!(feed.next(&pool, 0).is_none());
        assert_eq!(feed.refused.longer_than_frame, 2);
        assert_eq!(pool.free_frames(), 4);
    }
}
