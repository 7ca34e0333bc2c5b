//! Control messages and socket addresses as bytes, written and read without `unsafe`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// `struct cmsghdr`: a length, a level and a kind.
const LENGTH_BYTES: usize = size_of::<usize>();
const HEADER_BYTES: usize = LENGTH_BYTES + 8;

/// Returns where the next message begins after one that ends at `length`.
const fn aligned(length: usize) -> usize {
    length.next_multiple_of(LENGTH_BYTES)
}

/// Writes consecutive control messages.
pub(crate) struct Writer<'a> {
    into: &'a mut [u8],
    used: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(into: &'a mut [u8]) -> Self {
        Self { into, used: 0 }
    }

    /// Adds a message. One that does not fit is skipped; the size of the buffer excludes that.
    pub(crate) fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        let length = HEADER_BYTES + data.len();
        let end = self.used + aligned(length);
        let Some(room) = self.into.get_mut(self.used..end) else {
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

    /// Returns the bytes used.
    pub(crate) fn finish(self) -> usize {
        self.used
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

/// A socket address in the kernel's layout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    bytes: [u8; Name::BYTES],
    length: usize,
}

impl Name {
    const BYTES: usize = 28;
    /// The peer that the socket is connected to.
    pub(crate) const NONE: Self = Self {
        bytes: [0; Self::BYTES],
        length: 0,
    };

    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut bytes = [0; Self::BYTES];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let (family, length) = match address {
            SocketAddr::V4(address) => {
                bytes[4..8].copy_from_slice(&address.ip().octets());
                (libc::AF_INET, 16)
            }
            SocketAddr::V6(address) => {
                bytes[4..8].copy_from_slice(&address.flowinfo().to_ne_bytes());
                bytes[8..24].copy_from_slice(&address.ip().octets());
                bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
                (libc::AF_INET6, 28)
            }
        };
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        Self { bytes, length }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Parses a socket address of the kernel.
pub(crate) fn address(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    match i32::from(family) {
        libc::AF_INET => {
            let octets: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Some(SocketAddrV4::new(Ipv4Addr::from(octets), port).into())
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let (flow, scope) = (u32_at(bytes, 4)?, u32_at(bytes, 24)?);
            Some(SocketAddrV6::new(Ipv6Addr::from(octets), port, flow, scope).into())
        }
        _ => None,
    }
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

    #[test]
    fn addresses_round_trip() {
        for text in ["10.1.2.3:4", "[fe80::1%7]:65535", "[::ffff:10.0.0.1]:9"] {
            let there: SocketAddr = text.parse().unwrap();
            assert_eq!(address(Name::new(there).bytes()), Some(there));
        }
        assert_eq!(address(&[]), None);
    }

    proptest! {
        #[test]
        fn messages_round_trip(list in prop::collection::vec(
            (any::<i32>(), any::<i32>(), prop::collection::vec(any::<u8>(), 0..24)), 0..5))
        {
            let mut room = [0xaa; 256];
            let mut writer = Writer::new(&mut room);
            for (level, kind, data) in &list {
                writer.push(*level, *kind, data);
            }
            let used = writer.finish();
            let back: Vec<_> = messages(&room[..used])
                .map(|message| (message.level, message.kind, message.data.to_vec()))
                .collect();
            prop_assert_eq!(back, list);
        }

        #[test]
        fn nonsense_ends_the_list(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
            prop_assert!(messages(&bytes).count() <= bytes.len());
            let _ = address(&bytes);
        }
    }
}
