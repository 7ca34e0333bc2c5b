//! Detecting a partial checksum without a virtio-net header.

use crate::checksum::{ChecksumKind, fold, sum};
use crate::layers::{Layer, has_gre_checksum, layers};

/// Completes the checksum in `frame` if a sender on the same machine left it partial. Returns
/// `true` if it did. For frames that arrive without a [header](crate::VirtioNetHeader), as over
/// [AF_XDP](crate::af_xdp).
///
/// Such a sender leaves the sum of the pseudo header in the field of TCP and UDP, and 0 in the
/// field of SCTP and GRE, which identifies a partial checksum. VLAN tags, PPPoE and MPLS labels can
/// precede the packet, and it can be inside IP, GRE, VXLAN, GENEVE, GTP-U or another encapsulation
/// of IP in UDP. A checksum of such a tunnel must be correct afterwards: the sender computes it
/// for the complete packet.
///
/// A frame with correct checksums is never changed, because completing it results in the same
/// value. A frame damaged on its way is treated as partial with a probability of 1 in 65,536, and
/// its damage is then undetectable. Other tunnels and encrypted ones are not changed, and neither
/// are fragments, whose checksum is never partial.
pub fn complete_partial_checksum(frame: &mut [u8]) -> bool {
    let Some((depth, layer, kind)) = find_partial(frame) else {
        return false;
    };
    let range = layer.transport_at..layer.end_at;
    let field = kind.field();
    let segment = &mut frame[range.clone()];
    let mut before = [0; 4];
    let before = &mut before[..field.len()];
    before.copy_from_slice(&segment[field.clone()]);
    kind.complete(segment);
    let is_changed = !is_same_number(before, &segment[field.clone()]);
    let is_consistent = || {
        layers(frame)
            .take(depth)
            .all(|outer| has_valid_checksum(frame, &outer))
    };
    if is_changed && is_consistent() {
        return true;
    }
    frame[range][field].copy_from_slice(before);
    false
}

/// Returns the packet with a partial checksum, and the number of packets around it.
fn find_partial(frame: &[u8]) -> Option<(usize, Layer, ChecksumKind)> {
    layers(frame).enumerate().find_map(|(depth, layer)| {
        let kind = ChecksumKind::of(layer.protocol)?;
        let segment = &frame[layer.transport_at..layer.end_at];
        let field = segment.get(kind.field())?;
        let is_partial = match kind {
            ChecksumKind::Sctp => field == [0; 4],
            ChecksumKind::Gre => has_gre_checksum(segment) && field == [0; 2],
            // 0 means that UDP has no checksum. No pseudo header has this sum.
            ChecksumKind::Tcp | ChecksumKind::Udp => {
                field == fold(pseudo(frame, &layer)).to_be_bytes()
            }
        };
        is_partial.then_some((depth, layer, kind))
    })
}

/// Returns `true` if the header of a tunnel has no checksum, or a correct one.
fn has_valid_checksum(frame: &[u8], layer: &Layer) -> bool {
    let segment = &frame[layer.transport_at..layer.end_at];
    let covered = match ChecksumKind::of(layer.protocol) {
        Some(ChecksumKind::Udp) if segment.get(6..8) != Some(&[0; 2]) => pseudo(frame, layer),
        Some(ChecksumKind::Gre) if has_gre_checksum(segment) => 0,
        _ => return true,
    };
    fold(covered + sum(segment)) == u16::MAX
}

/// Returns the sum of the pseudo header.
fn pseudo(frame: &[u8], layer: &Layer) -> u64 {
    let transport_bytes = layer.end_at - layer.transport_at;
    sum(layer.addresses(frame)) + u64::from(layer.protocol) + transport_bytes as u64
}

/// 0 and all ones are the same number in the Internet checksum.
fn is_same_number(before: &[u8], after: &[u8]) -> bool {
    let is_zero = |field: &[u8]| [&[0; 2][..], &[0xff; 2]].contains(&field);
    before == after || is_zero(before) && is_zero(after)
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{VirtioNetHeader, complete_checksum};

    /// Returns a frame of TCP or UDP with `tags` and a partial checksum, and the offset of its
    /// transport header.
    pub(in super::super) fn partial_frame(
        is_v6: bool,
        is_tcp: bool,
        tags: &[u8],
        payload: &[u8],
    ) -> (Vec<u8>, usize) {
        let (number, at, header) = if is_tcp { (6, 16, 20) } else { (17, 6, 8) };
        let mut segment = vec![0; header];
        segment[..4].copy_from_slice(&[0x30, 0x39, 0, 7]);
        if is_tcp {
            segment[12] = 5 << 4;
        } else {
            segment[4..6].copy_from_slice(&((8 + payload.len()) as u16).to_be_bytes());
        }
        segment.extend(payload);
        let length = segment.len() as u16;
        let mut packet = if is_v6 {
            let mut packet = vec![0x60, 0, 0, 0];
            packet.extend(length.to_be_bytes());
            packet.extend([number, 64]);
            packet.extend((0..32).map(|at| at * 7));
            packet
        } else {
            let mut packet = vec![0x45, 0];
            packet.extend((20 + length).to_be_bytes());
            packet.extend([0, 1, 0x40, 0, 64, number, 0, 0, 10, 5, 0, 1, 10, 5, 0, 2]);
            packet
        };
        let addresses = if is_v6 { &packet[8..] } else { &packet[12..] };
        let pseudo = fold(sum(addresses) + u64::from(number) + u64::from(length));
        segment[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
        packet.extend(segment);
        let mut frame = vec![2; 12];
        frame.extend(tags);
        frame.extend(if is_v6 { [0x86, 0xdd] } else { [0x08, 0x00] });
        let start = frame.len() + packet.len() - usize::from(length);
        frame.extend(packet);
        (frame, start)
    }

    /// The result of completing it with a virtio-net header.
    pub(in super::super) fn complete(frame: &[u8], start: usize, is_tcp: bool) -> Vec<u8> {
        let header = VirtioNetHeader {
            flags: 1,
            checksum_start: start as u16,
            checksum_offset: if is_tcp { 16 } else { 6 },
            ..VirtioNetHeader::default()
        };
        let mut frame = frame.to_vec();
        assert_eq!(complete_checksum(&mut frame, header), Ok(true));
        frame
    }

    proptest! {
        #[test]
        fn partial_checksum_is_completed_once(
            is_v6 in any::<bool>(),
            is_tcp in any::<bool>(),
            tags in prop::sample::select(vec![
                vec![], vec![0x81, 0, 0, 7], vec![0x88, 0xa8, 0, 7, 0x81, 0, 0, 9],
            ]),
            payload in prop::collection::vec(any::<u8>(), 0..60),
            padding in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let (frame, start) = partial_frame(is_v6, is_tcp, &tags, &payload);
            let expected = [complete(&frame, start, is_tcp), padding.clone()].concat();
            let mut partial = [frame, padding].concat();
            prop_assert!(complete_partial_checksum(&mut partial) || partial == expected);
            prop_assert_eq!(&partial, &expected);
            prop_assert!(!complete_partial_checksum(&mut partial));
            prop_assert_eq!(partial, expected);
        }

        /// Completing a correct frame never changes it.
        #[test]
        fn correct_frame_that_looks_partial_is_unchanged(
            is_tcp in any::<bool>(),
            mut payload in prop::collection::vec(any::<u8>(), 2..60),
        ) {
            // Choose two bytes of the payload so that everything except the pseudo header and the
            // field sums to 0.
            payload.truncate(payload.len() & !1);
            payload[..2].fill(0);
            let (partial, start) = partial_frame(false, is_tcp, &[], &payload);
            let at = if is_tcp { 16 } else { 6 };
            let pseudo = u16::from_be_bytes([partial[start + at], partial[start + at + 1]]);
            let header = if is_tcp { 20 } else { 8 };
            let rest = fold(sum(&partial[start..]) + u64::from(pseudo));
            payload[..2].copy_from_slice(&(!rest).to_be_bytes());
            let (mut correct, start) = partial_frame(false, is_tcp, &[], &payload);
            prop_assert_eq!(correct.len(), start + header + payload.len());
            let all = fold(sum(&correct[start..]) + u64::from(pseudo));
            prop_assert_eq!(all, u16::MAX, "a receiver finds it right");
            let before = correct.clone();
            prop_assert!(!complete_partial_checksum(&mut correct));
            prop_assert_eq!(correct, before);
        }

        #[test]
        fn only_ip_packets_are_changed(
            mut frame in prop::collection::vec(any::<u8>(), 0..80),
            kind in prop::sample::select(vec![[8, 0], [0x86, 0xdd], [0x81, 0], [0x88, 0xb5]]),
        ) {
            if let Some(ethertype) = frame.get_mut(12..14) {
                ethertype.copy_from_slice(&kind);
            }
            let before = frame.clone();
            if !complete_partial_checksum(&mut frame) {
                prop_assert_eq!(frame, before);
            }
        }
    }

    #[test]
    fn fragments_tunnels_and_udp_without_a_checksum_stay() {
        let (frame, start) = partial_frame(false, false, &[], &[1; 40]);
        let stays = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame.clone();
            change(&mut frame);
            let before = frame.clone();
            !complete_partial_checksum(&mut frame) && frame == before
        };
        assert!(!stays(&|_| {}), "partial");
        assert!(stays(&|frame| frame[start + 6..start + 8].fill(0)));
        assert!(stays(&|frame| frame[20] = 0x20), "more fragments follow");
        assert!(stays(&|frame| frame[21] = 1), "a later fragment");
        assert!(stays(&|frame| frame[23] = 47), "GRE");
        assert!(stays(&|frame| frame.truncate(start + 7)));
        assert!(stays(&|frame| frame[17] += 1), "longer than it is");
    }
}
