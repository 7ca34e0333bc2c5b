//! Conversion of received packets to frames that a device can carry.

use taut_linux::segment::{self, SegmentError, Segmenter};
use taut_linux::{ChecksumError, Frames, VirtioNetHeader, complete_checksum};
use taut_path::Packet;
use taut_path::classify::{FrameClass, classify};

use crate::account::reject;
use crate::frame_limit::FrameLimit;
use crate::source::{Inlet, Source};

/// Passes the frames of a received packet to `inlet`: segments it, or completes its checksum.
/// `limit` is the longest frame that the other interface carries.
pub(crate) fn take(
    limit: &FrameLimit,
    header: VirtioNetHeader,
    frame: &mut [u8],
    inlet: &mut Inlet<impl Source<Frames: Frames>>,
) {
    inlet.ends.account.received_packets += 1;
    inlet.ends.account.received_bytes += frame.len() as u64;
    let limit_bytes = limit
        .max_bytes(frame)
        .min(inlet.ends.frames.max_frame_bytes());
    // Why a frame or a segment of `bytes` is too long.
    let too_long = |frame: &[u8], bytes| match limit.is_exceeded_by_tags(frame, bytes) {
        true => reject::TOO_LONG_TAGGED,
        false => reject::TOO_LONG,
    };
    match Segmenter::of(header, frame) {
        Ok(segmenter) => {
            let (segments, longest_bytes) = (segmenter.segments(), segmenter.longest_bytes());
            let account = &mut inlet.ends.account;
            account.gso_packets += 1;
            account.segments += u64::from(segments);
            if longest_bytes > limit_bytes {
                account.count_dropped(too_long(frame, longest_bytes as usize), segments.into());
            } else if let Some(packet) = inlet.ends.frames.gso_packet(header, frame) {
                inlet.enqueue(classed(packet, classify(frame)));
            } else {
                segment_at_once(&segmenter, frame, inlet);
            }
        }
        Err(_) if frame.len() > limit_bytes as usize => {
            let reason = match header.is_segmented() {
                true => reject::NOT_SEGMENTED,
                false => too_long(frame, frame.len()),
            };
            inlet.ends.account.count_dropped(reason, 1);
        }
        Err(why) => {
            let finished = match why {
                SegmentError::Plain => complete_checksum(frame, header)
                    .map(drop)
                    .map_err(reject_reason),
                // Its lengths differ from those of the frame, so no header is reliable.
                SegmentError::Malformed => Err(reject::MALFORMED),
                _ => segment::finish_whole(header, frame).map_err(|_| reject::MALFORMED),
            };
            let copied = finished.and_then(|()| {
                let packet = inlet.ends.frames.packet(frame);
                packet.map_err(|_| reject::NO_FRAME)
            });
            match copied {
                Ok(packet) => {
                    inlet.enqueue(described(packet, classify(frame), &inlet.ends.frames));
                }
                Err(reason) => inlet.ends.account.count_dropped(reason, 1),
            }
        }
    }
}

fn reject_reason(error: ChecksumError) -> &'static str {
    match error {
        ChecksumError::UnknownProtocol => reject::UNKNOWN_CHECKSUM,
        ChecksumError::OutsideFrame | ChecksumError::Segmented => reject::MALFORMED,
    }
}

/// Segments a GSO packet for which the frames have no room as a whole.
fn segment_at_once(
    segmenter: &Segmenter,
    frame: &[u8],
    inlet: &mut Inlet<impl Source<Frames: Frames>>,
) {
    for index in 0..segmenter.segments() {
        let Some(slot) = inlet.ends.frames.take_for(segmenter.longest_bytes()) else {
            let left = segmenter.segments() - index;
            return inlet
                .ends
                .account
                .count_dropped(reject::NO_FRAME, left.into());
        };
        let written = inlet.ends.frames.with(&slot, |space| {
            let bytes = segmenter.write(frame, index, space)?;
            Some((bytes, classify(&space[..bytes])))
        });
        match written {
            Ok(Some((bytes, class))) => {
                let packet = Packet::new(slot, bytes as u32);
                inlet.enqueue(described(packet, class, &inlet.ends.frames));
            }
            _ => {
                let _ = inlet.ends.frames.release(slot);
                inlet.ends.account.count_dropped(reject::MALFORMED, 1);
            }
        }
    }
}

/// Returns the packet with the fields of its headers; its charge is a whole frame.
fn described(packet: Packet, class: FrameClass, pool: &impl Frames) -> Packet {
    let charge = match packet.wire_bytes() <= pool.frame_bytes() {
        true => pool.frame_bytes(),
        false => pool.max_frame_bytes(),
    };
    classed(packet.with_charge(charge), class)
}

/// Returns the packet with the fields of its headers.
pub(crate) fn classed(mut packet: Packet, class: FrameClass) -> Packet {
    packet.priority = class.priority;
    packet.flow = class.flow;
    packet.set_ecn(class.ecn);
    packet
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use taut_linux::{GsoFrames, tag_bytes};
    use taut_measure::meter::{Meter, Since};
    use taut_path::pool::FramePool;
    use taut_path::{AnyLimit, AnyQdisc, Queue};

    use super::*;
    use crate::account::Account;
    use crate::latency::SentTimes;
    use crate::packet_ends::PacketEnds;
    use crate::source::Feed;
    use crate::testing::{Device, Fault};

    /// Returns the inlet of a queue without a limit.
    fn inlet<F: Frames>(frames: F) -> Inlet<Feed<Device, F>> {
        let queue = Queue::builder_for(Device::new(Fault::Nothing))
            .qdisc(AnyQdisc::default())
            .limit(AnyLimit::off())
            .probe((Meter::new(Since(0), 0, 1), SentTimes::new(0)))
            .build(0);
        Inlet {
            queue: queue.expect("valid settings"),
            ends: PacketEnds {
                frames,
                account: Account::default(),
                latency: None,
                now_ns: 0,
                counted_frames: BTreeSet::new(),
            },
            is_open: true,
        }
    }

    /// Sends the packets in the inlet. Returns their frames.
    fn sent(inlet: &mut Inlet<Feed<Device, FramePool>>) -> Vec<Vec<u8>> {
        let _ = inlet.queue.run(0, &mut inlet.ends);
        let ring = inlet.queue.device().ring.iter();
        let bytes = ring.map(|packet| {
            let bytes = packet.wire_bytes() as usize;
            let frames = &inlet.ends.frames;
            frames.with(packet.frame(), |space| space[..bytes].to_vec())
        });
        let sent = bytes.collect::<Result<_, _>>().expect("ours");
        let completed = inlet.queue.complete(0, &mut inlet.ends);
        assert!(completed.is_ok());
        sent
    }

    /// The frames sent for a received packet.
    struct Taken {
        account: Account,
        frames: Vec<Vec<u8>>,
    }

    fn limit() -> FrameLimit {
        FrameLimit::new(1_500, |frame| tag_bytes(frame).min(4))
    }

    /// The result for one packet if frames of 1,514 bytes fit.
    fn take_in(header: VirtioNetHeader, frame: &[u8]) -> Taken {
        let mut inlet = inlet(FramePool::new(8, 1522));
        take(&limit(), header, &mut frame.to_vec(), &mut inlet);
        let frames = sent(&mut inlet);
        let account = inlet.ends.account;
        let ended = account.ended_packets() + frames.len() as u64;
        assert_eq!(account.frames(), ended);
        assert_eq!(inlet.ends.frames.free_frames(), 8);
        Taken { account, frames }
    }

    fn dropped(account: &Account) -> Vec<(&'static str, u64)> {
        let dropped = account.dropped_packets().iter();
        dropped
            .map(|(&reason, &packets)| (reason, packets))
            .collect()
    }

    /// Returns an IPv4 packet of a protocol with the payload `inside`.
    fn packet(protocol: u8, inside: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend((20 + inside.len() as u16).to_be_bytes());
        frame.extend([0, 1, 0, 0, 64, protocol, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        frame.extend(inside);
        frame
    }

    fn udp(payload: usize) -> Vec<u8> {
        let mut udp = vec![0x30, 0x39, 0, 7];
        udp.extend((8 + payload as u16).to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(vec![0x77; payload]);
        udp
    }

    fn segments_of(each: u16, start: usize) -> VirtioNetHeader {
        VirtioNetHeader {
            flags: 1,
            gso_type: 5,
            segment_payload_bytes: each,
            checksum_start: start as u16,
            checksum_offset: 6,
            ..VirtioNetHeader::default()
        }
    }

    #[test]
    fn short_tunnel_packet_is_sent_whole_or_counted() {
        for (payload, frames) in [(1000, 1), (3000, 0)] {
            let inner = packet(17, &udp(payload));
            // GRE without options, around the bytes after the inner Ethernet header.
            let outer = packet(47, &[&[0, 0, 8, 0], &inner[14..]].concat());
            let sink = take_in(segments_of(100, 14 + 20 + 4 + 20), &outer);
            assert_eq!(sink.frames.len(), frames);
            let expected = if frames == 1 {
                vec![]
            } else {
                vec![("not_cut", 1)]
            };
            assert_eq!(dropped(&sink.account), expected);
            assert_eq!(sink.account.segments, 0, "not segmented");
        }
    }

    #[test]
    fn segments_that_are_too_long_are_each_counted() {
        let sink = take_in(segments_of(2000, 34), &packet(17, &udp(5000)));
        assert_eq!(dropped(&sink.account), [("too_long", 3)]);
        let sink = take_in(segments_of(1472, 34), &packet(17, &udp(5000)));
        assert_eq!((sink.frames.len(), dropped(&sink.account)), (4, vec![]));
    }

    #[test]
    fn gso_packet_is_stored_whole() {
        let mut inlet = inlet(GsoFrames::new(8, 1522, 1));
        let mut frame = packet(17, &udp(300));
        for _ in 0..2 {
            take(&limit(), segments_of(100, 34), &mut frame, &mut inlet);
        }
        let _ = inlet.queue.run(0, &mut inlet.ends);
        let ring = inlet.queue.device().ring.iter();
        let segments: Vec<_> = ring.map(Packet::segments).collect();
        assert_eq!(segments, [3, 1, 1, 1]);
        let account = &inlet.ends.account;
        assert_eq!((account.gso_packets, account.frames()), (2, 6));
    }

    #[test]
    fn segments_without_a_frame_are_counted() {
        let mut frame = packet(17, &udp(1000));
        let mut inlet = inlet(FramePool::new(2, 1522));
        take(&limit(), segments_of(100, 34), &mut frame, &mut inlet);
        let waiting = inlet.queue.backlog().packets;
        let dropped = dropped(&inlet.ends.account);
        assert_eq!((waiting, dropped), (2, vec![("no_frame", 8)]));
    }

    #[test]
    fn malformed_and_too_long_frames_are_counted() {
        let plain = VirtioNetHeader::default();
        assert_eq!(
            dropped(&take_in(plain, &[0x88; 1515]).account),
            [("too_long", 1)]
        );
        let mut tagged = vec![0x88; 1518];
        tagged[12..14].copy_from_slice(&[0x81, 0]);
        assert_eq!(take_in(plain, &tagged).frames, [tagged.clone()]);
        tagged.splice(12..12, [0x88, 0xa8, 0, 7]);
        let dropped_tags = dropped(&take_in(plain, &tagged).account);
        assert_eq!(dropped_tags, [("too_long_tagged", 1)]);
        let outside = VirtioNetHeader {
            flags: 1,
            checksum_start: 60,
            ..plain
        };
        assert_eq!(
            dropped(&take_in(outside, &[0x88; 60]).account),
            [("malformed", 1)]
        );
        let partial = |protocol, checksum_offset| {
            let header = VirtioNetHeader {
                flags: 1,
                checksum_start: 34,
                checksum_offset,
                ..plain
            };
            take_in(header, &packet(protocol, &[0; 40]))
        };
        assert_eq!(dropped(&partial(200, 8).account), [("unknown_checksum", 1)]);
        assert_eq!(dropped(&partial(132, 8).account), []);
        let wrong = take_in(segments_of(100, 34), &packet(17, &udp(1000))[..500]);
        assert_eq!(dropped(&wrong.account), [("malformed", 1)]);
    }
}
