//! The pcap format (draft-ietf-opsawg-pcap).

use super::input::{Input, Order};
use super::records::{MAX_PACKET_BYTES, Packet, Records};

/// Magic numbers: nanoseconds of a tick, and bytes of a record's header.
const FORMATS: [(u32, i128, u64); 3] = [
    (0xa1b2_c3d4, 1_000, 16),
    (0xa1b2_3c4d, 1, 16),
    // A Linux variant of 1998 with an interface and a protocol in each header.
    (0xa1b2_cd34, 1_000, 24),
];
/// The link type has an FCS length, in the bits below.
const HAS_FCS_LENGTH: u32 = 0x0400_0000;
const FCS_LENGTH: u32 = 0xf000_0000;

/// Returns `true` if a file that starts with these bytes is pcap.
pub(super) fn is_pcap(magic: &[u8]) -> bool {
    format(magic).is_some()
}

fn format(magic: &[u8]) -> Option<(Order, i128, u64)> {
    let mut orders = [Order::Big, Order::Little].into_iter();
    orders.find_map(|order| {
        let mut formats = FORMATS.into_iter();
        let found = formats.find(|&(number, ..)| number == order.u32(magic, 0));
        found.map(|(_, tick_ns, header_bytes)| (order, tick_ns, header_bytes))
    })
}

/// Reads the records after the magic number.
///
/// # Errors
/// Returns why the file was not read to its end.
pub(super) fn read(
    magic: &[u8],
    input: &mut Input<'_>,
    records: &mut Records,
) -> Result<(), String> {
    let Some((order, tick_ns, header_bytes)) = format(magic) else {
        return Err("is not pcap".into());
    };
    let (mut head, mut data) = (Vec::new(), Vec::new());
    input.read(20, &mut head)?;
    if head.len() < 20 {
        return Err("ends within the header of a capture".into());
    }
    let version = [0, 2].map(|at| order.u16(&head, at));
    if version[0] != 2 {
        let [major, minor] = version;
        return Err(format!(
            "is pcap of version {major}.{minor}; 2.x is supported"
        ));
    }
    let network = order.u32(&head, 16);
    let link = network as u16;
    let has_fcs = network & HAS_FCS_LENGTH != 0 && network & FCS_LENGTH != 0;
    loop {
        records.begin(input.offset());
        input.read(header_bytes, &mut head)?;
        if head.is_empty() {
            return Ok(());
        }
        if (head.len() as u64) < header_bytes {
            return Err("ends within the header of a record".into());
        }
        let [seconds, ticks, mut captured, mut original] =
            [0, 4, 8, 12].map(|at| order.u32(&head, at));
        // Writers of versions before 2.4 exchanged both lengths.
        if version[1] < 3 || version[1] == 3 && captured > original {
            (captured, original) = (original, captured);
        }
        input.exact(captured.into(), MAX_PACKET_BYTES, &mut data)?;
        records.push(&Packet {
            data: &data,
            original,
            has_fcs,
            link: Some(link),
            time_ns: Some(i128::from(seconds) * 1_000_000_000 + i128::from(ticks) * tick_ns),
        });
    }
}
