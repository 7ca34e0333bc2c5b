//! Netlink messages: building requests and parsing responses.
//!
//! All numbers are in the host's byte order unless a caller passes bytes.

/// Every header and attribute starts at a multiple of this.
const ALIGN_BYTES: usize = 4;
/// `struct nlmsghdr`: length, type, flags, sequence, port.
pub(crate) const HEADER_BYTES: usize = 16;
/// `struct rtattr`: length, type.
const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// Flag in an attribute's type: it contains attributes.
const NESTED: u16 = 1 << 15;

/// A request whose end is acknowledged, so that its error is returned.
pub(crate) const ACKNOWLEDGED: libc::c_int = libc::NLM_F_REQUEST | libc::NLM_F_ACK;
/// A request that creates an object, or replaces an existing one.
pub(super) const SET: libc::c_int = ACKNOWLEDGED | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
/// A request for a list of objects.
pub(crate) const LIST: libc::c_int = libc::NLM_F_REQUEST | libc::NLM_F_DUMP;

const fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGN_BYTES)
}

/// A request under construction.
#[derive(Debug)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// A request of type `kind` with these flags (`NLM_F_*`), whose fixed part is `fixed`.
    pub(crate) fn new(kind: u16, flags: libc::c_int, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags as u16).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self(bytes)
    }

    /// Appends an attribute. `payload` is far shorter than the 64 KiB an attribute may have.
    pub(crate) fn attribute(mut self, kind: u16, payload: &[u8]) -> Self {
        let length = (ATTRIBUTE_HEADER_BYTES + payload.len()) as u16;
        self.pad();
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(payload);
        self
    }

    /// Appends an attribute that is a string, with its ending zero.
    pub(crate) fn text(self, kind: u16, text: &str) -> Self {
        self.attribute(kind, &[text.as_bytes(), &[0]].concat())
    }

    /// Appends an attribute with attributes inside: all that `fill` appends.
    pub(crate) fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        self.pad();
        let start = self.0.len();
        let mut message = fill(self.attribute(kind | NESTED, &[]));
        message.pad();
        let length = (message.0.len() - start) as u16;
        message.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        message
    }

    /// Appends bytes that are not an attribute: the fixed part inside a nested one.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Returns the complete message.
    pub(crate) fn finish(mut self, sequence: u32) -> Vec<u8> {
        self.pad();
        let length = self.0.len() as u32;
        self.0[0..4].copy_from_slice(&length.to_ne_bytes());
        self.0[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.0
    }

    fn pad(&mut self) {
        self.0.resize(aligned(self.0.len()), 0);
    }
}

/// A request about a link: `struct ifinfomsg` with nothing changed; the name finds the device.
pub(super) fn link(kind: u16, flags: libc::c_int, device: &str) -> Message {
    Message::new(kind, flags, &link_fixed(0, 0)).text(libc::IFLA_IFNAME, device)
}

/// As [`link`], of the device with this index.
pub(super) fn link_at(kind: u16, flags: libc::c_int, index: u32) -> Message {
    let mut fixed = link_fixed(0, 0);
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    Message::new(kind, flags, &fixed)
}

/// `struct ifinfomsg`: family, type and index 0, and the interface flags that change.
pub(super) fn link_fixed(flags: libc::c_int, change: libc::c_int) -> [u8; 16] {
    let mut fixed = [0; 16];
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&change.to_ne_bytes());
    fixed
}

/// One message of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) payload: &'a [u8],
}

/// Returns the messages of one datagram; ends at the first that does not fit in it.
pub(crate) fn messages(mut datagram: &[u8]) -> impl Iterator<Item = Response<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(datagram, 0)? as usize;
        let message = datagram.get(..length)?;
        let payload = message.get(HEADER_BYTES..)?;
        let (kind, flags) = (u16_at(message, 4)?, u16_at(message, 6)?);
        let sequence = u32_at(message, 8)?;
        datagram = datagram.get(aligned(length)..).unwrap_or(&[]);
        Some(Response {
            kind,
            flags,
            sequence,
            payload,
        })
    })
}

/// Returns the attributes in `bytes` as (type, payload); ends at the first that does not fit.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & !NESTED;
        let payload = bytes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or(&[]);
        Some((kind, payload))
    })
}

/// Returns the payload of the first attribute of this type.
pub(crate) fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    let (_, payload) = attributes(bytes).find(|&(kind, _)| kind == wanted)?;
    Some(payload)
}

pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn built_message_parses() {
        let bytes = Message::new(16, 5, &[7; 16])
            .text(3, "lo")
            .nested(18, |inside| inside.attribute(1, b"veth").raw(&[9; 3]))
            .attribute(4, &1500u32.to_ne_bytes())
            .finish(42);
        let mut all = messages(&bytes);
        let response = all.next().expect("one message");
        assert_eq!(
            (response.kind, response.flags, response.sequence),
            (16, 5, 42)
        );
        let read: Vec<_> = attributes(&response.payload[16..]).collect();
        assert_eq!(read[0], (3, b"lo\0".as_slice()));
        assert_eq!(read[1].0, 18);
        assert_eq!(attributes(read[1].1).next(), Some((1, b"veth".as_slice())));
        assert_eq!(read[2], (4, 1500u32.to_ne_bytes().as_slice()));
        assert_eq!(read.len(), 3);
        assert!(all.next().is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic_and_end(
            bytes in prop::collection::vec(any::<u8>(), 0..256),
        ) {
            // Each step consumes at least a header, or the iterator ends.
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER_BYTES);
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE_HEADER_BYTES);
        }
    }
}
