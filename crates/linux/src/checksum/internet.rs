//! The Internet checksum (RFC 1071).

/// Returns the sum of the big-endian 16-bit words, with an odd last byte padded with zero. Carries
/// are added.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    // In native byte order, four bytes at a time. The sum of the swapped words is the swapped sum,
    // and 2^32 is 1 modulo 2^16 - 1, as is 2^16 (RFC 1071, section 2). No overflow: a frame is
    // shorter than 2^32 words.
    let (words, rest) = bytes.as_chunks::<4>();
    let words = words
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)));
    let whole: u64 = words.sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let sum = fold(whole + u64::from(u32::from_ne_bytes(last)));
    u64::from(u16::from_be_bytes(sum.to_ne_bytes()))
}

/// Adds the carries until there are none.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
