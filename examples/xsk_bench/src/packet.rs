//! The UDP frames.

use taut_linux::link::MacAddress;

/// Length of each frame.
pub const BYTES: u32 = 1514;
/// Interval of urgent packets, in ns.
pub const URGENT_INTERVAL_NS: u64 = 20_000_000;
/// After the headers of Ethernet, IPv4 and UDP: a magic number, the packet's number, and the time
/// at which an urgent packet was created, in ns (0 for a bulk packet).
const AT: usize = 14 + 20 + 8;
const MAGIC: u64 = 0x7461_7574_5f78_736b;
/// Bytes of a frame from its start to the end of the time.
const STAMPED: usize = AT + 24;

/// The stamp of a received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub number: u64,
    pub urgent_ns: u64,
}

/// Returns a frame from the device with address 1 to that with address 2.
pub fn template() -> Vec<u8> {
    let mut frame = vec![0; BYTES as usize];
    frame[..6].copy_from_slice(&MacAddress::local(2).0);
    frame[6..12].copy_from_slice(&MacAddress::local(1).0);
    frame[12..14].copy_from_slice(&0x0800_u16.to_be_bytes());
    let ip_bytes = BYTES as u16 - 14;
    frame[14] = 0x45;
    frame[16..18].copy_from_slice(&ip_bytes.to_be_bytes());
    (frame[22], frame[23]) = (64, 17);
    frame[26..30].copy_from_slice(&[10, 0, 0, 1]);
    frame[30..34].copy_from_slice(&[10, 0, 0, 2]);
    let words = frame[14..34].chunks(2);
    let sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
        .sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&4000_u16.to_be_bytes());
    // The discard port. A UDP checksum of 0 means that there is none.
    frame[36..38].copy_from_slice(&9_u16.to_be_bytes());
    frame[38..40].copy_from_slice(&(ip_bytes - 20).to_be_bytes());
    write(
        &mut frame,
        Stamp {
            number: u64::MAX,
            urgent_ns: 0,
        },
    );
    frame
}

/// Writes the stamp into a frame.
pub fn write(frame: &mut [u8], stamp: Stamp) {
    for (index, word) in [MAGIC, stamp.number, stamp.urgent_ns]
        .into_iter()
        .enumerate()
    {
        frame[AT + 8 * index..][..8].copy_from_slice(&word.to_be_bytes());
    }
}

/// Reads the stamp of a frame; `None` if it is another frame.
pub fn read(frame: &[u8]) -> Option<Stamp> {
    let mut words = frame.get(AT..STAMPED)?.chunks(8).map(|word| {
        word.iter()
            .fold(0, |word: u64, byte| word << 8 | u64::from(*byte))
    });
    (words.next()? == MAGIC).then_some(())?;
    Some(Stamp {
        number: words.next()?,
        urgent_ns: words.next()?,
    })
}
