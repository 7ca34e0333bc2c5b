//! Control messages as bytes, written and read without `unsafe`.

use std::net::IpAddr;

use crate::sys::message::Control;

/// `struct cmsghdr`: a length, a level and a kind.
const LENGTH_BYTES: usize = size_of::<usize>();
const HEADER_BYTES: usize = LENGTH_BYTES + 8;

/// Returns where the next message begins after one that ends at `length`.
const fn aligned(length: usize) -> usize {
    length.next_multiple_of(LENGTH_BYTES)
}

impl Control {
    /// Adds a message. One that does not fit is skipped; the size of the buffer excludes that.
    pub(crate) fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        let length = HEADER_BYTES + data.len();
        let end = self.used + aligned(length);
        let Some(room) = self.buffer.get_mut(self.used..end) else {
            debug_assert!(false, "control messages of {end} bytes");
            return;
        };
        room.fill(0);
        room[..LENGTH_BYTES].copy_from_slice(&length.to_ne_bytes());
        room[LENGTH_BYTES..LENGTH_BYTES + 4].copy_from_slice(&level.to_ne_bytes());
        room[LENGTH_BYTES + 4..HEADER_BYTES].copy_from_slice(&kind.to_ne_bytes());
        room[HEADER_BYTES..length].copy_from_slice(data);
        self.used = end;
    }
}

/// One control message.
pub(crate) struct Message<'a> {
    pub(crate) level: libc::c_int,
    pub(crate) kind: libc::c_int,
    pub(crate) data: &'a [u8],
}

/// Returns the control messages in `bytes`, up to the first malformed one.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(bytes.get(..LENGTH_BYTES)?.try_into().ok()?);
        let level = i32_at(bytes, LENGTH_BYTES)?;
        let kind = i32_at(bytes, LENGTH_BYTES + 4)?;
        let data = bytes.get(HEADER_BYTES..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or(&[]);
        Some(Message { level, kind, data })
    })
}

pub(crate) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(i32::from_ne_bytes(bytes.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    i32_at(bytes, at).map(|value| value as u32)
}

/// Returns `true` if a datagram to `address`, through a socket of either family, is IPv4 on the
/// wire.
pub(crate) fn is_ipv4(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => address.to_ipv4_mapped().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_round_trip(list in prop::collection::vec(
            (any::<i32>(), any::<i32>(), prop::collection::vec(any::<u8>(), 0..24)), 0..5))
        {
            let mut control = Control::EMPTY;
            control.buffer.fill(0xaa);
            for (level, kind, data) in &list {
                control.push(*level, *kind, data);
            }
            let back: Vec<_> = messages(control.bytes())
                .map(|message| (message.level, message.kind, message.data.to_vec()))
                .collect();
            prop_assert_eq!(back, list);
        }

        #[test]
        fn nonsense_ends_the_list(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
            prop_assert!(messages(&bytes).count() <= bytes.len());
        }
    }
}
