//! The ethtool ioctls of a device's features.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{check, device};

const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
/// The set of the features' names.
const ETH_SS_FEATURES: u32 = 4;
/// Maximum length of a name: 32 bytes.
const NAME_WORDS: usize = 8;
/// More features than any kernel has. `ETHTOOL_GSTRINGS` writes all its names without regard to the
/// given count, so the buffer must hold all of them.
const FEATURES_LIMIT: usize = 1024;

/// A feature of a device.
#[derive(Debug)]
pub(crate) struct Feature {
    pub(crate) name: String,
    pub(crate) is_active: bool,
    pub(crate) can_change: bool,
}

/// Calls SIOCETHTOOL for the device `name` with `words`, which begin with a command.
///
/// # Safety
/// `words` must have the length that the command, in its first word, reads and writes.
unsafe fn call(fd: BorrowedFd<'_>, name: &str, words: &mut [u32]) -> io::Result<libc::c_int> {
    let mut request = device::ifreq(name);
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads one `ifreq`, which `request` is; the buffer to which it refers is
    // as long as the command needs, as the caller guarantees.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })
}

/// Returns the number of features of this kernel.
fn count(fd: BorrowedFd<'_>, device: &str) -> io::Result<usize> {
    // `struct ethtool_sset_info`: command, reserved, a mask of 64 bits, a count for each bit.
    let mut words = [ETHTOOL_GSSET_INFO, 0, 0, 0, 0];
    let mask = (1u64 << ETH_SS_FEATURES).to_ne_bytes();
    words[2] = u32::from_ne_bytes([mask[0], mask[1], mask[2], mask[3]]);
    words[3] = u32::from_ne_bytes([mask[4], mask[5], mask[6], mask[7]]);
    // SAFETY: one bit is set in the mask, so one count is written, the last word.
    unsafe { call(fd, device, &mut words) }?;
    let [.., count] = words;
    match count as usize {
        count @ 1..=FEATURES_LIMIT => Ok(count),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Returns the features; the position of one is the number of its bit.
pub(crate) fn features(fd: BorrowedFd<'_>, device: &str) -> io::Result<Vec<Feature>> {
    let count = count(fd, device)?;
    // `struct ethtool_gstrings`: command, set, count, the names.
    let mut names = vec![0; 3 + FEATURES_LIMIT * NAME_WORDS];
    names[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
    // SAFETY: the kernel has `count` names, at most as many as the buffer holds.
    unsafe { call(fd, device, &mut names) }?;
    // `struct ethtool_gfeatures`: command, count of blocks, and for each block of 32 features those
    // available, requested, active, and never changed.
    let blocks = count.div_ceil(32);
    let mut states = vec![0; 2 + blocks * 4];
    states[..2].copy_from_slice(&[ETHTOOL_GFEATURES, blocks as u32]);
    // SAFETY: the kernel writes no more blocks than the count says.
    unsafe { call(fd, device, &mut states) }?;
    let feature = |at: usize| {
        let words = names[3 + at * NAME_WORDS..].iter().take(NAME_WORDS);
        let bytes = words.flat_map(|word| word.to_ne_bytes());
        let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
        let state = |word: usize| states[2 + at / 32 * 4 + word] >> (at % 32) & 1 != 0;
        Feature {
            name: String::from_utf8_lossy(&name).into_owned(),
            is_active: state(2),
            can_change: state(0) && !state(3),
        }
    };
    Ok((0..count).map(feature).collect())
}

/// Sets features: for each block of 32, the mask of the features to change, and their values.
pub(crate) fn set_features(
    fd: BorrowedFd<'_>,
    device: &str,
    blocks: &[[u32; 2]],
) -> io::Result<()> {
    // `struct ethtool_sfeatures`: command, count of blocks, the blocks.
    let mut words = vec![ETHTOOL_SFEATURES, blocks.len() as u32];
    words.extend(blocks.as_flattened());
    // SAFETY: the kernel reads as many blocks as the count says.
    unsafe { call(fd, device, &mut words) }.map(drop)
}

/// Queries whose response has a few words after the command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Query {
    /// `struct ethtool_ringparam`: 8 words.
    Ring = 0x10,
    /// Whether the device segments GSO packets; `struct ethtool_value`: 1 word.
    Tso = 0x1e,
    /// `struct ethtool_channels`: 8 words.
    Channels = 0x3c,
}

/// Executes a query, and returns the words of the response; those that it does not have are 0.
pub(crate) fn query(fd: BorrowedFd<'_>, device: &str, query: Query) -> io::Result<[u32; 8]> {
    // The longest response, with the command before it.
    let mut words = [0; 9];
    words[0] = query as u32;
    // SAFETY: no query here has a response of more than 8 words.
    unsafe { call(fd, device, &mut words) }?;
    let [_, response @ ..] = words;
    Ok(response)
}
