//! The pcapng format (draft-ietf-opsawg-pcapng).

use super::input::{Input, Order};
use super::records::{MAX_PACKET_BYTES, Packet, Records};
use crate::account::RejectReason;

/// Type of a section header block, the same in both byte orders.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Blocks that are read; others are skipped.
const KINDS: [u32; 5] = [
    SECTION,
    INTERFACE,
    OBSOLETE_PACKET,
    SIMPLE_PACKET,
    ENHANCED_PACKET,
];

/// Numbers of options.
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const PACKET_FLAGS: u16 = 2;

/// Bytes kept of a block: a packet of any length that is kept, and its options.
const MAX_BODY_BYTES: u64 = 2 * MAX_PACKET_BYTES;

/// An interface of a section. A description that is too short has no link type.
#[derive(Debug, Clone, Copy)]
struct InterfaceBlock {
    link: Option<u16>,
    snap_bytes: u32,
    has_fcs: bool,
    resolution: u8,
    offset_s: i64,
}

impl InterfaceBlock {
    fn new(order: Order, body: &[u8]) -> Self {
        let mut interface = Self {
            link: None,
            snap_bytes: 0,
            has_fcs: false,
            resolution: 6,
            offset_s: 0,
        };
        if body.len() < 8 {
            return interface;
        }
        interface.link = Some(order.u16(body, 0));
        interface.snap_bytes = order.u32(body, 4);
        for (code, value) in options(order, &body[8..]) {
            match (code, value) {
                (IF_TSRESOL, [resolution, ..]) => interface.resolution = *resolution,
                // Writers state bits or bytes; an FCS of Ethernet has 4 bytes.
                (IF_FCSLEN, [length, ..]) => interface.has_fcs = *length > 0,
                (IF_TSOFFSET, value) if value.len() >= 8 => {
                    interface.offset_s = order.u64(value) as i64;
                }
                _ => {}
            }
        }
        interface
    }

    /// Returns the time of a timestamp, in ns since 1970.
    fn time_ns(&self, ticks: u64) -> i128 {
        let (scaled, exponent) = (i128::from(ticks) * 1_000_000_000, self.resolution & 0x7f);
        let time_ns = match self.resolution & 0x80 {
            0 => 10_i128
                .checked_pow(exponent.into())
                .map_or(0, |unit| scaled / unit),
            _ => scaled >> exponent,
        };
        time_ns + i128::from(self.offset_s) * 1_000_000_000
    }
}

/// Returns the options that are complete; the first malformed one ends them.
fn options(order: Order, bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let head = rest.get(..4)?;
        let (code, length) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
        let value = rest.get(4..4 + length)?;
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        (code != 0).then_some((code, value))
    })
}

/// Reads the blocks from the first, whose type was read already.
///
/// # Errors
/// Returns why the file was not read to its end.
pub(super) fn read(
    magic: &[u8],
    input: &mut Input<'_>,
    records: &mut Records,
) -> Result<(), String> {
    let (mut head, mut body, mut end) = (magic.to_vec(), Vec::new(), Vec::new());
    let mut section = Section {
        order: Order::Little,
        interfaces: Vec::new(),
    };
    loop {
        if head.is_empty() {
            return Ok(());
        }
        input.read(4, &mut end)?;
        head.extend_from_slice(&end);
        if head.len() < 8 {
            return Err("ends within the header of a block".into());
        }
        let is_section = section.order.u32(&head, 0) == SECTION;
        if is_section {
            input.exact(4, 4, &mut end)?;
            section = Section::new(&end)?;
        }
        let (kind, length) = (section.order.u32(&head, 0), section.order.u32(&head, 4));
        let framing_bytes = if is_section { 16 } else { 12 };
        if length < framing_bytes || !length.is_multiple_of(4) {
            return Err(format!(
                "has a block with an invalid length of {length} bytes"
            ));
        }
        let keep = if KINDS.contains(&kind) {
            MAX_BODY_BYTES
        } else {
            0
        };
        input.exact((length - framing_bytes).into(), keep, &mut body)?;
        input.exact(4, 4, &mut end)?;
        if section.order.u32(&end, 0) != length {
            let other = section.order.u32(&end, 0);
            return Err(format!(
                "has a block with two different lengths, {length} and {other} bytes"
            ));
        }
        section.take(kind, &body, records)?;
        records.begin(input.offset());
        input.read(4, &mut head)?;
    }
}

/// A section: its byte order and interfaces.
struct Section {
    order: Order,
    interfaces: Vec<InterfaceBlock>,
}

impl Section {
    fn new(magic: &[u8]) -> Result<Self, String> {
        let mut orders = [Order::Big, Order::Little].into_iter();
        let order = orders.find(|order| order.u32(magic, 0) == 0x1a2b_3c4d);
        Ok(Self {
            order: order.ok_or("has a section without a valid byte-order magic")?,
            interfaces: Vec::new(),
        })
    }

    fn take(&mut self, kind: u32, body: &[u8], records: &mut Records) -> Result<(), String> {
        let order = self.order;
        match kind {
            SECTION => {
                let major = body.get(..2).map(|version| order.u16(version, 0));
                if major != Some(1) {
                    return Err("has a section of a version other than 1.x".into());
                }
            }
            INTERFACE => self.interfaces.push(InterfaceBlock::new(order, body)),
            SIMPLE_PACKET if body.len() >= 4 => self.simple_packet(body, records),
            ENHANCED_PACKET | OBSOLETE_PACKET if body.len() >= 20 => {
                let interface = match kind {
                    ENHANCED_PACKET => order.u32(body, 0),
                    _ => order.u16(body, 0).into(),
                };
                self.packet(interface, body, records);
            }
            ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                records.reject(RejectReason::Malformed, None);
            }
            _ => {}
        }
        Ok(())
    }

    /// The packet of a block without a timestamp.
    fn simple_packet(&self, body: &[u8], records: &mut Records) {
        let interface = self.interfaces.first();
        let Some(interface) = interface.filter(|interface| interface.link.is_some()) else {
            return records.reject(RejectReason::UnknownInterface, None);
        };
        let (original, data) = (self.order.u32(body, 0), &body[4..]);
        let captured = match interface.snap_bytes {
            0 => original,
            snap_bytes => original.min(snap_bytes),
        };
        let Some(data) = captured_bytes(data, captured) else {
            return records.reject(RejectReason::Malformed, None);
        };
        records.push(&Packet {
            data,
            original,
            has_fcs: interface.has_fcs,
            link: interface.link,
            time_ns: None,
        });
    }

    /// The packet of a block with a timestamp and options.
    fn packet(&self, interface: u32, body: &[u8], records: &mut Records) {
        let order = self.order;
        let interface = self.interfaces.get(interface as usize);
        let Some(interface) = interface.filter(|interface| interface.link.is_some()) else {
            return records.reject(RejectReason::UnknownInterface, None);
        };
        let [high, low, captured, original] = [4, 8, 12, 16].map(|at| order.u32(body, at));
        let ticks = u64::from(high) << 32 | u64::from(low);
        let time_ns = Some(interface.time_ns(ticks));
        let Some(data) = captured_bytes(&body[20..], captured) else {
            return records.reject(RejectReason::Malformed, time_ns);
        };
        let options_at = 20 + (captured as usize).next_multiple_of(4);
        let mut options = options(order, body.get(options_at..).unwrap_or(&[]));
        // Bits 5 to 8 have the FCS length of this packet; 0 if it is not stated.
        let flags = options.find(|(code, value)| *code == PACKET_FLAGS && value.len() >= 4);
        let stated_fcs = flags.is_some_and(|(_, value)| order.u32(value, 0) >> 5 & 0xf != 0);
        records.push(&Packet {
            data,
            original,
            has_fcs: interface.has_fcs || stated_fcs,
            link: interface.link,
            time_ns,
        });
    }
}

/// Returns the bytes of a packet; `None` if the block is shorter. A packet too long to be kept has
/// its beginning.
fn captured_bytes(data: &[u8], captured: u32) -> Option<&[u8]> {
    if u64::from(captured) > MAX_PACKET_BYTES && data.len() as u64 >= MAX_PACKET_BYTES {
        return Some(data);
    }
    data.get(..captured as usize)
}
