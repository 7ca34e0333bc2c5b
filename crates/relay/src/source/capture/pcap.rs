//! The pcap format (draft-ietf-opsawg-pcap).

use super::reader::{Order, Reader};
use super::records::{Packet, Records};

/// The link type has an FCS length, in the bits below.
const HAS_FCS_LENGTH: u32 = 0x0400_0000;
const FCS_LENGTH: u32 = 0xf000_0000;

/// Byte order, nanoseconds of a tick, and bytes of a record's header.
pub(super) type Format = (Order, i128, usize);

/// Returns the format of a file that starts with these bytes; `None` if it is not pcap.
pub(super) fn format(start: &[u8]) -> Option<Format> {
    Some(match start.get(..4)? {
        [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1_000, 16),
        [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1_000, 16),
        [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1, 16),
        [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1, 16),
        // A Linux variant of 1998 with an interface and a protocol in each header.
        [0xa1, 0xb2, 0xcd, 0x34] => (Order::Big, 1_000, 24),
        [0x34, 0xcd, 0xb2, 0xa1] => (Order::Little, 1_000, 24),
        _ => return None,
    })
}

/// Reads a file of this format.
///
/// # Errors
/// Returns why the file was not read to its end.
pub(super) fn read(
    (order, tick_ns, header_bytes): Format,
    reader: &mut Reader<'_>,
    records: &mut Records,
) -> Result<(), String> {
    let bytes = reader.bytes;
    reader.take(24, format_args!("the header of a capture"))?;
    let [major, minor] = [4, 6].map(|at| order.u16(bytes, at));
    if major != 2 {
        return Err(format!(
            "is pcap of version {major}.{minor}; 2.x is supported"
        ));
    }
    let network = order.u32(bytes, 20);
    let has_fcs = network & HAS_FCS_LENGTH != 0 && network & FCS_LENGTH != 0;
    while reader.begin()? {
        let head = reader.take(header_bytes, format_args!("the header of a record"))?;
        let [seconds, ticks, mut captured, mut original] =
            [0, 4, 8, 12].map(|at| order.u32(bytes, head + at));
        // Writers of versions before 2.4 exchanged both lengths.
        if minor < 3 || minor == 3 && captured > original {
            (captured, original) = (original, captured);
        }
        let start = reader.take(
            captured as usize,
            format_args!("a record of {captured} bytes"),
        )?;
        records.push(Ok(Packet {
            data: Ok(start..reader.at),
            original,
            has_fcs,
            link: network as u16,
            time_ns: Some(i128::from(seconds) * 1_000_000_000 + i128::from(ticks) * tick_ns),
        }));
    }
    Ok(())
}
