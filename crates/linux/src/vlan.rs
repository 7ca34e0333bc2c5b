//! VLAN tags.

use crate::layers::u16_at;

/// Length of a tag.
pub(crate) const TAG_BYTES: u32 = 4;
/// EtherTypes of tags: of customers, of providers, and the one used before that.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// A provider's tag and a customer's.
const MAX_TAGS: usize = 2;

/// Returns the bytes of the VLAN tags at the start of `frame`, at most two.
pub fn tag_bytes(frame: &[u8]) -> u32 {
    tags(frame).take(MAX_TAGS).count() as u32 * TAG_BYTES
}

/// Returns the offsets of the VLAN tags at the start of `frame`.
pub(crate) fn tags(frame: &[u8]) -> impl Iterator<Item = usize> {
    let is_tag = |&at: &usize| u16_at(frame, at).is_some_and(|it| TAGS.contains(&it));
    (12..).step_by(TAG_BYTES as usize).take_while(is_tag)
}

/// Returns the bytes by which `frame` can exceed the MTU over a packet socket: the kernel permits
/// one VLAN tag of a customer.
pub(crate) fn customer_tag_bytes(frame: &[u8]) -> u32 {
    const CUSTOMER_TAG: [u8; 2] = (libc::ETH_P_8021Q as u16).to_be_bytes();
    match frame.get(12..14) {
        Some(ethertype) if ethertype == CUSTOMER_TAG => TAG_BYTES,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_two_tags_count() {
        for (tags, all, customer) in [
            (&[0x08, 0][..], 0, 0),
            (&[0x81, 0, 0, 1, 8, 0], 4, 4),
            (&[0x88, 0xa8, 0, 1, 8, 0], 4, 0),
            (&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 1, 8, 0], 8, 0),
            (&[0x81, 0, 0, 1, 0x81, 0, 0, 1, 0x81, 0, 0, 1], 8, 4),
            (&[0x91, 0, 0, 1], 4, 0),
            (&[], 0, 0),
        ] {
            let frame = [&[2; 12][..], tags].concat();
            let found = (tag_bytes(&frame), customer_tag_bytes(&frame));
            assert_eq!(found, (all, customer), "{tags:x?}");
        }
    }
}
