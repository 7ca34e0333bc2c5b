//! The ethtool ioctls of a device's features.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::{check, ifreq};

const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;
/// The set of the features' names.
const ETH_SS_FEATURES: u32 = 4;
/// Maximum length of a name.
const NAME_BYTES: usize = 32;
/// More features than any kernel has. `ETHTOOL_GSTRINGS` writes all its names without regard to the
/// given count, so the buffer must hold all of them.
const FEATURES_LIMIT: usize = 1024;

/// A block of 32 features, as in `ETHTOOL_GFEATURES`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Those that can be changed.
    pub(crate) available: u32,
    /// Those that were requested.
    pub(crate) requested: u32,
    /// Those that are on.
    pub(crate) active: u32,
    /// Those that cannot be changed.
    pub(crate) never_changed: u32,
}

/// Calls SIOCETHTOOL for `device` with `words`, which begin with a command.
///
/// # Safety
/// `words` must have the length that the command, in its first word, reads and writes.
unsafe fn call(fd: BorrowedFd<'_>, device: &str, words: &mut [u32]) -> io::Result<libc::c_int> {
    let mut request = ifreq::for_device(device);
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads one `ifreq`, which `request` is; the buffer to which it refers is
    // as long as the command needs, as the caller guarantees.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) })
}

/// Returns the number of features of this kernel.
fn features(fd: BorrowedFd<'_>, device: &str) -> io::Result<usize> {
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

/// Returns the names of the features; the position of a name is the number of its bit.
pub(crate) fn feature_names(fd: BorrowedFd<'_>, device: &str) -> io::Result<Vec<String>> {
    let count = features(fd, device)?;
    // `struct ethtool_gstrings`: command, set, count, the names.
    let mut words = vec![0; 3 + FEATURES_LIMIT * NAME_BYTES / 4];
    words[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
    // SAFETY: the kernel has `count` names, at most as many as the buffer holds.
    unsafe { call(fd, device, &mut words) }?;
    let bytes: Vec<u8> = words[3..]
        .iter()
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let name = |name: &[u8]| {
        let end = name.iter().position(|&byte| byte == 0);
        String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned()
    };
    Ok(bytes.chunks(NAME_BYTES).take(count).map(name).collect())
}

/// Returns the state of the features, in blocks of 32.
pub(crate) fn get_features(fd: BorrowedFd<'_>, device: &str) -> io::Result<Vec<Block>> {
    let blocks = features(fd, device)?.div_ceil(32);
    // `struct ethtool_gfeatures`: command, count of blocks, the blocks.
    let mut words = vec![0; 2 + blocks * 4];
    words[..2].copy_from_slice(&[ETHTOOL_GFEATURES, blocks as u32]);
    // SAFETY: the kernel writes no more blocks than the count says.
    unsafe { call(fd, device, &mut words) }?;
    let block = |words: &[u32]| Block {
        available: words[0],
        requested: words[1],
        active: words[2],
        never_changed: words[3],
    };
    Ok(words[2..].chunks_exact(4).map(block).collect())
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

/// Executes a query, and returns the first `WORDS` words of the response, at most 8.
pub(crate) fn query<const WORDS: usize>(
    fd: BorrowedFd<'_>,
    device: &str,
    query: Query,
) -> io::Result<[u32; WORDS]> {
    // The longest response, with the command before it.
    let mut words = [0; 9];
    words[0] = query as u32;
    // SAFETY: no query here has a response of more than 8 words.
    unsafe { call(fd, device, &mut words) }?;
    Ok(std::array::from_fn(|at| {
        words.get(1 + at).copied().unwrap_or(0)
    }))
}
