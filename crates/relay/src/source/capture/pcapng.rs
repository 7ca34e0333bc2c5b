//! The pcapng format (draft-ietf-opsawg-pcapng).

use std::ops::Range;

use super::reader::{Order, Reader};
use super::records::{Packet, Records};
use crate::account::reject;

/// Type of a section header block, the same in both byte orders.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Numbers of options.
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const PACKET_FLAGS: u16 = 2;

/// An interface of a section.
#[derive(Debug, Clone, Copy)]
struct InterfaceBlock {
    link: u16,
    snap_bytes: u32,
    has_fcs: bool,
    resolution: u8,
    offset_s: i64,
}

impl InterfaceBlock {
    /// Returns `None` for a description that is too short.
    fn new(order: Order, body: &[u8]) -> Option<Self> {
        let (fixed, option_bytes) = body.split_at_checked(8)?;
        let mut interface = Self {
            link: order.u16(fixed, 0),
            snap_bytes: order.u32(fixed, 4),
            has_fcs: false,
            resolution: 6,
            offset_s: 0,
        };
        for (code, value) in options(order, option_bytes) {
            match (code, value) {
                (IF_TSRESOL, [resolution, ..]) => interface.resolution = *resolution,
                // Writers state bits or bytes; an FCS of Ethernet has 4 bytes.
                (IF_FCSLEN, [length, ..]) => interface.has_fcs = *length > 0,
                (IF_TSOFFSET, value) if value.len() >= 8 => {
                    interface.offset_s = order.number(&value[..8]) as i64;
                }
                _ => {}
            }
        }
        Some(interface)
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

/// Returns `true` if a file that starts with these bytes is pcapng.
pub(super) fn is_pcapng(start: &[u8]) -> bool {
    start.starts_with(&SECTION.to_be_bytes())
}

/// Reads the blocks of a file.
///
/// # Errors
/// Returns why the file was not read to its end.
pub(super) fn read(reader: &mut Reader<'_>, records: &mut Records) -> Result<(), String> {
    let bytes = reader.bytes;
    let mut section = Section {
        bytes,
        order: Order::Little,
        interfaces: Vec::new(),
    };
    while reader.begin()? {
        let head = reader.take(8, format_args!("the header of a block"))?;
        let is_section = section.order.u32(bytes, head) == SECTION;
        if is_section {
            let magic = reader.take(4, format_args!("a record of 4 bytes"))?;
            section = Section::new(bytes, magic)?;
        }
        let [kind, length] = [head, head + 4].map(|at| section.order.u32(bytes, at));
        let framing_bytes = if is_section { 16 } else { 12 };
        if length < framing_bytes || !length.is_multiple_of(4) {
            return Err(format!(
                "has a block with an invalid length of {length} bytes"
            ));
        }
        let body_bytes = length - framing_bytes;
        let part = body_bytes as usize;
        let body = reader.take(part, format_args!("a record of {body_bytes} bytes"))?;
        let end = reader.take(4, format_args!("a record of 4 bytes"))?;
        let other = section.order.u32(bytes, end);
        if other != length {
            return Err(format!(
                "has a block with two different lengths, {length} and {other} bytes"
            ));
        }
        section.take(kind, body..end, records)?;
    }
    Ok(())
}

/// A section: its byte order and interfaces. A description that is too short is `None`.
struct Section<'a> {
    /// The whole file.
    bytes: &'a [u8],
    order: Order,
    interfaces: Vec<Option<InterfaceBlock>>,
}

impl<'a> Section<'a> {
    /// Creates a section whose byte-order magic is at `magic`.
    fn new(bytes: &'a [u8], magic: usize) -> Result<Self, String> {
        let mut orders = [Order::Big, Order::Little].into_iter();
        let order = orders.find(|order| order.u32(bytes, magic) == 0x1a2b_3c4d);
        Ok(Self {
            bytes,
            order: order.ok_or("has a section without a valid byte-order magic")?,
            interfaces: Vec::new(),
        })
    }

    /// Reads a block with this body.
    fn take(&mut self, kind: u32, body: Range<usize>, records: &mut Records) -> Result<(), String> {
        let (order, bytes) = (self.order, &self.bytes[body.clone()]);
        match kind {
            SECTION => {
                let major = bytes.get(..2).map(|version| order.u16(version, 0));
                if major != Some(1) {
                    return Err("has a section of a version other than 1.x".into());
                }
            }
            INTERFACE => self.interfaces.push(InterfaceBlock::new(order, bytes)),
            SIMPLE_PACKET if bytes.len() >= 4 => records.push(self.simple_packet(body)),
            ENHANCED_PACKET | OBSOLETE_PACKET if bytes.len() >= 20 => {
                let interface = match kind {
                    ENHANCED_PACKET => order.u32(bytes, 0),
                    _ => order.u16(bytes, 0).into(),
                };
                records.push(self.packet(interface, body));
            }
            ENHANCED_PACKET | OBSOLETE_PACKET | SIMPLE_PACKET => {
                records.push(Err(reject::MALFORMED));
            }
            _ => {}
        }
        Ok(())
    }

    fn interface(&self, number: u32) -> Result<InterfaceBlock, &'static str> {
        let described = self.interfaces.get(number as usize).copied().flatten();
        described.ok_or(reject::UNKNOWN_INTERFACE)
    }

    /// Returns the packet of a block without a timestamp.
    fn simple_packet(&self, body: Range<usize>) -> Result<Packet, &'static str> {
        let interface = self.interface(0)?;
        let original = self.order.u32(self.bytes, body.start);
        let captured = match interface.snap_bytes {
            0 => original,
            snap_bytes => original.min(snap_bytes),
        };
        Ok(Packet {
            data: captured_bytes(body.start + 4..body.end, captured),
            original,
            has_fcs: interface.has_fcs,
            link: interface.link,
            time_ns: None,
        })
    }

    /// Returns the packet of a block with a timestamp and options.
    fn packet(&self, interface: u32, body: Range<usize>) -> Result<Packet, &'static str> {
        let (order, bytes) = (self.order, &self.bytes[..body.end]);
        let interface = self.interface(interface)?;
        let [high, low, captured, original] =
            [4, 8, 12, 16].map(|at| order.u32(bytes, body.start + at));
        let data = body.start + 20;
        let options_at = data + (captured as usize).next_multiple_of(4);
        let mut options = options(order, bytes.get(options_at..).unwrap_or(&[]));
        // Bits 5 to 8 have the FCS length of this packet; 0 if it is not stated.
        let flags = options.find(|(code, value)| *code == PACKET_FLAGS && value.len() >= 4);
        let stated_fcs = flags.is_some_and(|(_, value)| order.u32(value, 0) >> 5 & 0xf != 0);
        Ok(Packet {
            data: captured_bytes(data..body.end, captured),
            original,
            has_fcs: interface.has_fcs || stated_fcs,
            link: interface.link,
            time_ns: Some(interface.time_ns(u64::from(high) << 32 | u64::from(low))),
        })
    }
}

/// Returns the captured part of the rest of a block.
fn captured_bytes(rest: Range<usize>, captured: u32) -> Result<Range<usize>, &'static str> {
    match captured as usize <= rest.len() {
        true => Ok(rest.start..rest.start + captured as usize),
        false => Err(reject::MALFORMED),
    }
}
